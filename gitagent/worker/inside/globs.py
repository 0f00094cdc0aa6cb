"""Globs as models write them: ``**``, ``{a,b}``, and names at any depth."""

import re

from gitagent.worker.inside.doing import Slip

_LONG = 4096  # characters of a pattern, as many as a path has
_TOKEN = re.compile(r"(?<![^/])\*\*/|\*\*|\*|\[.[^]]*\]|.", re.DOTALL)
_FIRST = {"**/": "(?:.*?/)??", "**": ".*?", "": ""}  # as little as can be
_LAST = {"**/": "(?:.*/)?", "**": ".*", "": ""}


def anywhere(pattern: str) -> str:
    """Return a glob from the folder on; a name alone is one at any depth. Raises Slip.

    For Git, which has no braces.
    """
    pattern = pattern.removeprefix("./").removeprefix("/")
    if not pattern:
        raise Slip("the pattern is empty.")
    if len(pattern) > _LONG:
        raise Slip(f"the pattern has more than {_LONG} characters.")
    return pattern if "/" in pattern else f"**/{pattern}"


def translate(pattern: str) -> str:
    """Return the regular expression of a glob. Raises Slip.

    No star but the last takes more once what follows it is found: to match takes a
    time that the stars do not multiply, and nothing can end it.
    """
    return f"(?s:{'|'.join(map(_translated, braces(anywhere(pattern))))})"


def braces(pattern: str, most: int = 50) -> list[str]:
    """Return the globs without braces that mean the same. Raises Slip."""
    done, left = [], [pattern]
    while left:
        each = left.pop(0)
        found = re.search(r"\{([^{}]*)\}", each)
        if found is None:
            done.append(each)
        else:
            inner = found[1].split(",")
            left += [each[: found.start()] + one + each[found.end() :] for one in inner]
        if len(done) + len(left) > most:
            raise Slip("the pattern has too many braces.")
    return done


def _translated(pattern: str) -> str:
    parts: list[tuple[str, list[str]]] = [("", [])]
    for each in _TOKEN.findall(pattern):
        if each.startswith("**"):
            parts.append((each, []))
        else:
            parts[-1][1].append(each)
    gap, tokens = parts.pop()
    firsts = (f"(?>{_FIRST[before]}{_part(inner)})" for before, inner in parts)
    return "".join(firsts) + _LAST[gap] + _part(tokens, last=True)


def _part(tokens: list[str], *, last: bool = False) -> str:
    """Return what stands between two gaps of any depth."""
    pieces: list[list[str]] = [[]]
    for each in tokens:
        if each == "*":
            pieces.append([])
        else:
            pieces[-1].append(each)
    out = "".join(map(_one, pieces[0]))
    for number, piece in enumerate(pieces[1:], 2):
        fixed = "".join(map(_one, piece))
        ends = last and number == len(pieces) and "/" not in piece
        out += f"[^/]*{fixed}" if ends else f"(?>[^/]*?{fixed})"
    return out


def _one(each: str) -> str:
    if len(each) == 1:
        return "[^/]" if each == "?" else re.escape(each)
    inner = each[1:-1].replace("\\", "\\\\").replace("[", "\\[")
    return f"(?!/)[{'^' + inner[1:] if inner[0] in '!^' else inner}]"
