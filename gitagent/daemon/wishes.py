"""What the options of a push ask for: ``git push -o divergence=… -o wait``.

A push that asks for something unknown is refused whole: what was meant might be what
matters. The text of an option is a stranger's, and made harmless here.
"""

from dataclasses import dataclass

from gitagent.core.ident import ref_problem
from gitagent.errors import ConfigError
from gitagent.files import clean, duration
from gitagent.files.fields import nearest

OPTIONS = {
    "divergence": 'TEXT, what was done other than asked, or "None"',
    "topic": "NAME, the same for each version of one change",
    "task": "ID, the open task that this work is for",
    "request-id": "ID, for the same submission however often it is pushed",
    "wait": "to stay until the outcome, or wait=SECONDS",
}

_TOPIC = 100  # characters


@dataclass(frozen=True, slots=True)
class Wishes:
    """What a push asks for beside its refs."""

    divergence: str | None = None
    topic: str | None = None
    task: str | None = None
    request_id: str | None = None
    wait: bool = False
    patience: int | None = None  # seconds to wait at most; None: until the outcome


def read_options(options: tuple[str, ...]) -> Wishes:
    """Return what push options ask for.

    Raises:
        ConfigError: an option is unknown, has no usable value, or contradicts another.
    """
    found: dict[str, str] = {}
    for option in options:
        key, equals, value = option.partition("=")
        value = clean.visible(value).strip()
        if key not in OPTIONS:
            raise _unknown(key)
        if key == "wait":
            value = value if equals else "-"
        if not value:
            raise ConfigError(f"the {_words(key)} is empty", _usage(key))
        if found.setdefault(key, value) != value:
            raise ConfigError(f"the push option {key} is given twice, and differs")
    wait = found.get("wait")
    return Wishes(
        divergence=found.get("divergence"),
        topic=_topic(found.get("topic")),
        task=found.get("task"),
        request_id=found.get("request-id"),
        wait=wait is not None,
        patience=None if wait in {None, "-"} else _seconds(wait or ""),
    )


def _words(key: str) -> str:
    return "time to wait" if key == "wait" else key.replace("-", " ")


def _usage(key: str) -> str:
    join = " " if key == "wait" else "="
    return f"-o {key}{join}{OPTIONS[key]}"


def _unknown(key: str) -> ConfigError:
    near = nearest(key, OPTIONS)
    known = ", ".join(OPTIONS)
    mend = f"did you mean {near}? " if near else ""
    return ConfigError(
        f'there is no push option "{clean.sentence(key, 40)}"',
        f"{mend}Known are {known}.",
    )


def _topic(topic: str | None) -> str | None:
    if topic is None:
        return None
    if len(topic) > _TOPIC:
        raise ConfigError(f"a topic has at most {_TOPIC} characters")
    if problem := ref_problem(f"refs/for/{topic}"):
        raise ConfigError(f'the topic "{clean.sentence(topic, 60)}" cannot be', problem)
    return topic


def _seconds(text: str) -> int:
    try:
        whole = text.isascii() and text.isdecimal() and len(text) <= 12
        return duration.seconds(int(text) if whole else text)
    except ValueError as error:
        problem, _, mend = str(error).partition("; ")
        raise ConfigError(f"wait={clean.sentence(text, 20)}: {problem}", mend) from None
