"""The simple commands of a shell text, where its text alone tells them for certain.

What is run only when the shell has looked (substitutions, functions, here-documents,
``case``) is not guessed at: then the whole text is not understood. `shell` is the
generous reader, which finds what a command may name.

Source: POSIX.1-2024, Shell Command Language, 2.2 to 2.10.
"""

import re
import shlex
from dataclasses import dataclass, field, replace

_TOKEN = re.compile(
    r"""
    (?P<space>[ \t]+|\\\n)
  | (?P<comment>\#[^\n]*)
  | (?P<redirect>(?:\d+(?=[<>])|&(?=>))?(?:>>|>\||>&|<&|<>|>|<))
  | (?P<op>&&|\|\||\|&|;;|[;&|()\n])
  | (?P<word>(?:[^\s;&|()<>'"\\`]|\\[^\n]|'[^']*'|"(?:[^"\\`]|\\.)*")+)
    """,
    re.VERBOSE | re.DOTALL,
)
_QUOTED = re.compile(r"'[^']*'|\\.", re.DOTALL)
_BARE = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_EXPANDED = re.compile(r"[*?\[{~]")

_UNTOLD = re.compile(r"\$[('\"]|`|<<|[<>]\(|\(\(")
_UNTOLD_WORDS = frozenset({"[[", "case", "coproc", "function", "select", "eval"})
_BEFORE = frozenset(
    {"!", "{", "do", "elif", "else", "if", "then", "time", "until", "while"}
)
_BRANCHES = _BEFORE - {"!", "{", "time"}
_ALONE = frozenset({"}", "done", "fi"})
_ASSIGNED = re.compile(r"[A-Za-z_]\w*\+?=")
_FD = re.compile(r"\d+-?|-")


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a command."""

    text: str  # without its quotes
    plain: bool  # whether the program gets exactly that


@dataclass(frozen=True, slots=True)
class Simple:
    """One simple command, or a parenthesis in ``after`` alone."""

    words: tuple[Word, ...] = ()  # without assignments before it
    writes: tuple[Word, ...] = ()  # files that its output is sent to
    after: str = ""  # the operator that ends it
    sure: bool = True  # whether it runs, if what is before it in a sequence goes well


@dataclass(slots=True)
class _Reader:
    """Collects the words of one simple command after the other."""

    found: list[Simple] = field(default_factory=list)
    words: list[Word] = field(default_factory=list)
    writes: list[Word] = field(default_factory=list)
    redirect: str = ""

    def take(self, kind: str | None, text: str) -> bool:
        """Take a token; False: it is not understood."""
        if kind == "word":
            self._word(text)
        elif kind == "redirect":
            understood = not self.redirect
            self.redirect = text
            return understood
        elif kind == "op":
            if self.redirect or (text == "(" and self.words):
                return False
            self.end(text)
        return True

    def end(self, operator: str) -> None:
        """End the command."""
        self.found.append(Simple(tuple(self.words), tuple(self.writes), operator))
        self.words, self.writes = [], []

    def _word(self, text: str) -> None:
        copies = self.redirect.endswith("&") and _FD.fullmatch(text)
        if not self.redirect:
            self.words.append(_read(text))
        elif ">" in self.redirect and not copies:
            self.writes.append(_read(text))
        self.redirect = ""


def parse(text: str) -> tuple[Simple, ...] | None:
    """Return the simple commands of a shell text in order; None: not understood."""
    if _UNTOLD.search(text):
        return None
    reader = _Reader()
    place = 0
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None or not reader.take(match.lastgroup, match[0]):
            return None
        place = match.end()
    if reader.redirect:
        return None
    reader.end("")
    return _commands(reader.found)


def _commands(found: list[Simple]) -> tuple[Simple, ...] | None:
    """Return the commands without what the grammar puts before them."""
    commands = []
    branches = False
    before = ""
    for each in found:
        words = each.words
        while words and (words[0].text in _BEFORE or _ASSIGNED.match(words[0].text)):
            branches = branches or words[0].text in _BRANCHES
            words = words[1:]
        first = words[0].text if words else ""
        if first in _UNTOLD_WORDS:
            return None
        if first == "for" or first in _ALONE:
            words = ()
        sure = not branches and before not in {"||", "|", "|&"}
        if words or each.writes or each.after in {"(", ")"}:
            commands.append(replace(each, words=words, sure=sure))
        before = each.after
    return tuple(commands)


def _read(token: str) -> Word:
    parts = shlex.split(token)
    rest = _QUOTED.sub("", token)
    plain = "$" not in rest and not _EXPANDED.search(_BARE.sub("", rest))
    return Word(parts[0] if parts else "", plain)
