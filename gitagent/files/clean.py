r"""What other people's bytes look like before anybody sees or commits them.

One sanitiser for everything that is printed or committed: a character that moves the
cursor, hides text, reorders it or ends a line unseen becomes its escape (``\x1b``).
"""

import re

from gitagent.core.unseen import UNSEEN

# Line feed and tab stay.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 and C1 controls
    "\ud800-\udfff"  # lone surrogates: no UTF-8 can hold them
    f"{UNSEEN}]"
)

# ECMA-48: CSI sequences; strings (OSC, DCS, SOS, PM, APC) up to BEL or ST; the rest.
# A string that is never ended is not one: it would swallow all that follows.
_ANSI = re.compile(
    "\x1b\\[[0-?]*[ -/]*[@-~]"
    "|\x1b[]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\\\)"
    "|\x1b[ -/]*[0-OQ-WYZ\\\\`-~]"
)

_STYLE = re.compile("\x1b\\[([0-9;]*)m")
# To the end of the line: nothing is there where nothing moves the cursor.
_ERASE = re.compile("\x1b\\[0?K")
# Off, bold, italic, underlined, and the colours that show on any ground. Others, such
# as concealed, black or a ground of its own, can hide text.
_HARMLESS = frozenset(map(str, (0, 1, 3, 4, 22, 23, 24, *range(31, 37), 39)))
_HARMLESS |= frozenset(map(str, range(91, 97)))
_COLOUR_OF = frozenset({"38", "48", "58"})  # what follows is no code of its own
_OFF = "\x1b[0m"

_MARKDOWN = re.compile(r"[\\`\[\]<>]")
_BACKTICKS = re.compile(r"`+")


def visible(text: str) -> str:
    r"""Return ``text`` with characters that control, move or are not seen as escapes.

    Keeps ``\n`` and ``\t``; ``\r\n`` is ``\n``. Visible text stays as it is, and the
    result always encodes as UTF-8.
    """
    return _HIDDEN.sub(_escape, text.replace("\r\n", "\n"))


def line(text: str) -> str:
    r"""Return ``text`` visible and on one line, its line feeds and tabs as escapes."""
    return visible(text).replace("\n", "\\n").replace("\t", "\\t")


def sentence(text: str, limit: int = 200) -> str:
    """Return ``text`` visible, white space collapsed, at most ``limit`` characters."""
    words = " ".join(visible(text).split())
    return words if len(words) <= limit else words[: limit - 1].rstrip() + "…"


def plain(data: bytes) -> str:
    """Return the output of a program as text for people.

    UTF-8 with replacement; colours and other terminal sequences are dropped; a
    carriage return ends a line, so that nothing is overwritten; the rest is visible.
    """
    text = data.decode("utf-8", "replace")
    text = _ANSI.sub("", text)
    return visible(text.replace("\r\n", "\n").replace("\r", "\n"))


def shown(data: bytes, *, colours: bool = False) -> str:
    """Return the output of a program for people who look at it.

    As `plain`, but whatever would move the cursor or hide something is visible.
    Colours are dropped too, or with ``colours`` kept as far as they can hide nothing;
    then no line leaves one on.
    """
    text = data.decode("utf-8", "replace")
    text = _ERASE.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    parts = _STYLE.split(text)  # text and the codes of a style in turn
    if not colours:
        return visible("".join(parts[::2]))
    made = [visible(parts[0])]
    on: list[str] = []  # the codes in force, each once: it stays short
    for codes, piece in zip(parts[1::2], parts[2::2], strict=True):
        for code in _harmless(codes):
            on = [] if code == "0" else [*(each for each in on if each != code), code]
        style = f"\x1b[{';'.join(on)}m" if on else ""
        end = _OFF if on else ""
        lines = visible(piece).split("\n")
        made.append("\n".join(style + line + end if line else "" for line in lines))
    return "".join(made)


def _harmless(codes: str) -> list[str]:
    given = [code.lstrip("0") or "0" for code in codes.split(";")]
    if not _COLOUR_OF.isdisjoint(given):
        return []
    return [code for code in given if code in _HARMLESS]


def tail(text: str, lines: int = 40, chars: int = 4000) -> str:
    """Return the end of ``text``: at most so many lines and characters of it.

    What was left out is said in a first line of its own; blank ends are dropped.
    """
    text = text.strip("\n")
    kept = "\n".join(text.split("\n")[-lines:])[-chars:]
    left = len(text) - len(kept)
    return f"[{left} characters left out]\n{kept}" if left else kept


def markdown(text: str) -> str:
    """Return ``text`` as one line of Markdown that holds no link, code or HTML."""
    return _MARKDOWN.sub(r"\\\g<0>", sentence(text))


def code(text: str) -> str:
    """Return ``text`` as one inline code span, whatever backticks it holds."""
    shown = line(text) or " "
    ticks = "`" * (_longest(shown) + 1)
    pad = " " if shown.startswith("`") or shown.endswith("`") else ""
    return f"{ticks}{pad}{shown}{pad}{ticks}"


def fenced(text: str, info: str = "text") -> str:
    """Return ``text`` visible in a code fence longer than any run of backticks."""
    shown = visible(text).strip("\n")
    ticks = "`" * max(3, _longest(shown) + 1)
    return f"{ticks}{info}\n{shown}\n{ticks}"


def _longest(text: str) -> int:
    return max((len(run) for run in _BACKTICKS.findall(text)), default=0)


def _escape(match: re.Match[str]) -> str:
    number = ord(match[0])
    if number > 0xFFFF:
        return f"\\U{number:08x}"
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}"
