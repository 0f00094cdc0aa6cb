"""Why there is no answer of a model, from what came in place of one."""

import json

from gitagent.core import failure
from gitagent.core.failure import Failure
from gitagent.model.provider import Ask, NoTurn, Wrong

# What an event that is not of the API makes of the code that reads it.
MALFORMED = (
    *(ValueError, KeyError, TypeError, AttributeError, IndexError),
    *(RecursionError, OverflowError),
)

_SENTENCE = 600  # characters of a provider's own words
_TOOLLESS = (  # Ollama; OpenRouter; vLLM, twice; llama.cpp
    "does not support tools",
    "support tool use",
    "tool choice requires",
    "tool-call-parser",
    "tools param requires",
)


def lacking(ask: Ask, model: str, *, tools: bool) -> NoTurn | None:
    """Return why a request that offers tools is not sent to a model that takes none.

    Without them it would only talk of the work, and look as if it had done it.
    """
    return None if tools or not ask.tools else _toolless(model, "")


def refused(
    ask: Ask, model: str, status: int, error: object, partial: str = ""
) -> NoTurn:
    """Return what an error means, of the gateway or of the provider behind it.

    ``status`` is 200 for an event of a stream; ``error`` is the body, parsed if it is
    JSON.
    """
    body = error if isinstance(error, str) else json.dumps(error, default=str)
    what = failure.said(body.encode("utf-8", "replace"))
    names = what.names | {_detail(error)}
    sentence = " ".join(what.message.split())[:_SENTENCE]
    if "budget" in names:
        return NoTurn(Wrong.BUDGET, sentence, partial)
    # The gateway names it where the error is its own; the provider's is passed on.
    found = next((each for each in Failure if each in names), None)
    known = found or failure.classify(status, what)
    if known is Failure.OVERFLOW:
        return NoTurn(Wrong.OVERFLOW, sentence or "The context is too long.", partial)
    if ask.tools and any(each in sentence.lower() for each in _TOOLLESS):
        return _toolless(model, f" Its provider says: {sentence}")
    if found is None and "gitagent" not in names:
        said = f"The provider of {model} answered {known}"
        said += f" ({status})" if status != 200 else ""
        sentence = f"{said}: {sentence.rstrip('.')}." if sentence else f"{said}."
    wrong = Wrong.CUT if known is Failure.CUT else Wrong.OTHER
    return NoTurn(wrong, sentence, partial, known)


def broken(error: BaseException, partial: str) -> NoTurn:
    """Return what an error of the connection, or of what came over it, means."""
    text = " ".join(str(error).split())[:200].rstrip(".") or type(error).__name__
    sentence = f"The answer of the model did not come whole: {text}."
    wrong = Wrong.OTHER if isinstance(error, MALFORMED) else Wrong.CUT
    return NoTurn(wrong, sentence, partial)


def _toolless(model: str, because: str) -> NoTurn:
    sentence = (
        f"The model {model} takes no tools, and without them nothing can be done; "
        "let the agent's definition name one that takes them."
    )
    return NoTurn(Wrong.TOOLS, sentence + because)


def _detail(error: object) -> str:
    """Return the code of an error in Anthropic's form, "" if it has none."""
    for name in ("error", "details", "error_code"):
        error = error.get(name) if isinstance(error, dict) else None
    return error if isinstance(error, str) else ""
