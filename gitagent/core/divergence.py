"""What a worker did other than its task says, told from the diff.

Only what the task makes plain counts: a file that an ``accept`` command names judges
the result, and tests are there to stay. What the task's own text asks to be written is
no mismatch. What ``paths`` and ``forbidden`` rule out is refused by ``policy``,
whatever the statement says.
"""

import re
from collections.abc import Iterable, Iterator

from gitagent.core.candidate import Change, PathChange
from gitagent.core.glob import named
from gitagent.core.shell import steps
from gitagent.core.task import TaskFile
from gitagent.core.testmarks import is_test, stem, subject
from gitagent.core.weakening import deleted_tests

# In a sentence, what follows such a word is to be written, up to one of the others.
_WRITE = re.compile(
    "add|adapt|adjust|append|change|clean|convert|create|delete|drop|edit|extend"
    "|improve|insert|merge|modify|move|port|refactor|remove|rename|reorgani[sz]e"
    "|replace|rewrite|simplify|split|translate|update|write",
    re.IGNORECASE,
)
_MEND = re.compile("correct|fix|mend|repair", re.IGNORECASE)  # often not the test
_MEND_REACH = 4  # words: "fix the flaky test tests/x.py"
_OTHER = re.compile(
    "against|by|makes?|pass(?:es|ing)?|run|so|that|until|while", re.IGNORECASE
)
_LEAVE = re.compile(
    r"\b(?:(?:do|does|must|should|may|can) ?(?:not|n[^\w\s]t)|mustn[^\w\s]t|never"
    r"|without|leave|keep|except|unchanged|untouched|off[ -]limits)\b",
    re.IGNORECASE,
)
_SENTENCE = re.compile(
    r"\n[ \t]{0,40}\n|\n[ \t]{0,40}(?=[-*+#]|\d{1,3}\.)|(?<=[.!?;])\s"
)
_AROUND = "`'\"()[]{}<>,;:!?*"


def mismatches(
    task: TaskFile, changes: Iterable[PathChange], statement: str
) -> tuple[str, ...]:
    """Return the mismatches that ``statement`` does not name, in sentences.

    ``changes`` are those of the product. A statement names a path by writing it, or a
    folder that it lies in, as a word; one at the top with its slash, as ``tests/``.
    """
    changes = tuple(changes)
    words = frozenset((*_words(statement), *_asked(task)))
    found = (
        ("It edits what the task's `accept` runs", _edited(task.accept, changes)),
        ("It deletes tests", _deleted(changes)),
    )
    return tuple(
        f"{what}, and its divergence statement does not name {named(silent)}."
        for what, paths in found
        if (silent := tuple(path for path in paths if not _covers(words, path)))
    )


def _deleted(changes: tuple[PathChange, ...]) -> tuple[str, ...]:
    """Return the tests that are gone while what they are about is not."""
    gone = (c.path for c in changes if c.change is Change.DELETED)
    subjects = {stem(path) for path in gone if not is_test(path)}
    return tuple(p for p in deleted_tests(changes) if subject(p) not in subjects)


def _edited(
    commands: tuple[str, ...], changes: tuple[PathChange, ...]
) -> tuple[str, ...]:
    """Return the files that commands name and that differ from what was there."""
    judges = {path for command in commands for path in _arguments(command)}
    return tuple(
        c.path for c in changes if c.path in judges and c.change is not Change.ADDED
    )


def _arguments(command: str) -> Iterator[str]:
    """Yield the paths that the words of a shell command may be, from the top.

    ``tests/test_x.py::test_y`` is the file, and so is ``--file=tests/test_x.py``.
    """
    for step in steps(command):
        for word in step.words:
            yield step.path(word.partition("::")[0])
            yield step.path(word.partition("=")[2])


def _asked(task: TaskFile) -> Iterator[str]:
    """Yield the words that name what the task asks to be written."""
    for script in task.scripts:
        yield from _words(script)
    for sentence in (task.title, *_SENTENCE.split(task.text)):
        if _LEAVE.search(sentence):
            continue
        reach = 0
        for word in _words(sentence):
            if _WRITE.fullmatch(word):
                reach = len(sentence)
            elif _MEND.fullmatch(word):
                reach = max(reach, _MEND_REACH + 1)
            elif _OTHER.fullmatch(word):
                reach = 0
            elif reach:
                yield word
            reach = max(0, reach - 1)


def _words(text: str) -> Iterator[str]:
    for word in re.split(r"[\s`]+", text):
        bare = word.strip(_AROUND).rstrip(".").strip(_AROUND).removeprefix("./")
        if bare:
            yield bare


def _covers(words: frozenset[str], path: str) -> bool:
    """Whether one of the words is the path, or a folder that it lies in.

    A folder at the top needs its slash: "tests" and "src" are words of English too.
    """
    names = path.split("/")
    folders = ("/".join(names[:end]) for end in range(1, len(names)))
    return path in words or any(
        f"{folder}/" in words or ("/" in folder and folder in words)
        for folder in folders
    )
