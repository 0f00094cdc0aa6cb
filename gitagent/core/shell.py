"""What a shell command names, as far as it can be told without running it."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass

_END = re.compile(r"[&|;()]+")


@dataclass(frozen=True, slots=True)
class Step:
    """One simple command, and the folder that it runs in, from the top."""

    words: tuple[str, ...]
    folder: str  # empty: the top

    def path(self, word: str) -> str:
        """Return the path from the top that a word is, if it is one."""
        return joined(self.folder, word)


def steps(command: str) -> Iterator[Step]:
    """Yield the simple commands of a shell command; a ``cd`` holds for what follows."""
    folder = ""
    for words in _split(command):
        if len(words) == 2 and words[0] == "cd":
            folder = joined(folder, words[1])
        elif words:
            yield Step(tuple(words), folder)


def joined(folder: str, word: str) -> str:
    """Return a path from the top, without ``.`` and ``..``."""
    names: list[str] = []
    for name in f"{folder}/{word}".split("/"):
        if name == "..":
            names = names[:-1]
        elif name not in {"", "."}:
            names.append(name)
    return "/".join(names)


def _split(command: str) -> Iterator[list[str]]:
    lexer = shlex.shlex(
        command.replace("\n", " ; "), posix=True, punctuation_chars=True
    )
    lexer.whitespace_split = True
    lexer.commenters = ""
    words: list[str] = []
    try:
        for word in lexer:
            if _END.fullmatch(word):
                yield words
                words = []
            else:
                words.append(word)
    except ValueError:  # a quotation without its end
        words += command.split()
    yield words
