"""Globs as models write them: ``**``, ``{a,b}``, and names at any depth."""

import re

from gitagent.worker.inside.doing import Slip

_ONE = {"*": "[^/]*", "?": "[^/]", "{": "(?:", "}": ")"}


def anywhere(pattern: str) -> str:
    """Return a glob from the folder on; a name alone is one at any depth. Raises Slip.

    For Git, which has no braces.
    """
    pattern = pattern.removeprefix("./").removeprefix("/")
    if not pattern:
        raise Slip("the pattern is empty.")
    return pattern if "/" in pattern else f"**/{pattern}"


def translate(pattern: str) -> str:
    """Return the regular expression of a glob. Raises Slip."""
    pattern = anywhere(pattern)
    out, depth, at = "", 0, 0
    while at < len(pattern):
        char = pattern[at]
        if pattern.startswith("**/", at) and (at == 0 or pattern[at - 1] == "/"):
            out, at = out + "(?:.*/)?", at + 3
            continue
        if pattern.startswith("**", at):
            out, at = out + ".*", at + 2
            continue
        end = pattern.find("]", at + 2) if char == "[" else -1
        if end > 0:
            inner = pattern[at + 1 : end].replace("\\", "\\\\").replace("[", "\\[")
            out += f"[{'^' + inner[1:] if inner[0] in '!^' else inner}]"
            at = end + 1
            continue
        if char == "}" and not depth:
            out += "\\}"
        elif char == "," and depth:
            out += "|"
        else:
            out += _ONE.get(char) or re.escape(char)
        depth += (char == "{") - (char == "}" and depth > 0)
        at += 1
    return f"(?s:{out}{')' * depth})"


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
