"""Which ref is the target, and which settings are in force on it.

The settings lie on the branch that they name as target, so one is found by the other:
main and master are asked first, then what HEAD is at, then every other branch. Where
the settings of a branch and of the one that they name disagree, neither counts: an old
branch must not bring back a target that was given up.
"""

from collections.abc import Iterator, Mapping

from gitagent.core.layout import CONFIG, HEADS
from gitagent.core.settings import Settings
from gitagent.errors import ConfigError, GitError, UserError
from gitagent.files import settings as settings_file
from gitagent.git.objects import Objects

_HISTORY = 500  # commits searched for settings that parse
_FIRST = ("refs/heads/main", "refs/heads/master")


def find_target(objects: Objects, refs: Mapping[str, str]) -> str | None:
    """Return the full name of the target ref, or None if no branch names one."""
    for ref in _branches(objects, refs):
        named = _named_target(objects, refs[ref])
        if named is None or named not in refs:
            continue
        if named == ref or _named_target(objects, refs[named]) in {named, None}:
            return named
    return None


def require_target(objects: Objects, refs: Mapping[str, str]) -> str:
    """Return the target ref. Raises UserError when the repository has none."""
    target = find_target(objects, refs)
    if target is not None:
        return target
    for ref in _branches(objects, refs):
        named = (_named_target(objects, refs[ref]) or "").removeprefix(HEADS)
        if named:
            raise UserError(
                f"{CONFIG} on {ref.removeprefix(HEADS)} names the target {named}, and"
                " there is no such branch",
                f"make it: git branch {named}, or correct `target`",
            )
    raise UserError(f"no branch here has {CONFIG}", "run: gitagent init")


def _branches(objects: Objects, refs: Mapping[str, str]) -> Iterator[str]:
    head = objects.ref("HEAD")
    on_head = [ref for ref in refs if ref.startswith(HEADS) and refs[ref] == head]
    rest = sorted(ref for ref in refs if ref.startswith(HEADS))
    yield from dict.fromkeys([*(r for r in _FIRST if r in refs), *on_head, *rest])


def _named_target(objects: Objects, commit: str) -> str | None:
    """Return what the settings of a commit name as target, unchecked otherwise."""
    entry = objects.path(commit, CONFIG)
    if entry is None:
        return None
    name = settings_file.peek_target(objects.blob(entry.oid))
    return name if name.startswith("refs/") else HEADS + name


class SettingsInForce:
    """The settings of the target; remembers what it has parsed, by blob."""

    def __init__(self) -> None:
        self._parsed: dict[str, Settings | str] = {}

    def at(
        self, objects: Objects, commit: str
    ) -> tuple[Settings | None, str | None, str | None]:
        """Return (settings, their blob, problem) for a commit of the target.

        When the commit's own settings are missing or do not parse, ``problem`` says
        why, and the settings are the newest on its first-parent history that did.
        """
        entry = objects.path(commit, CONFIG)
        problem = f"{CONFIG} is missing; run gitagent init"
        if entry is not None:
            parsed = self._parse(objects, entry.oid)
            if isinstance(parsed, Settings):
                return parsed, entry.oid, None
            problem = parsed
        for blob in _older(objects, commit):
            parsed = self._parse(objects, blob)
            if isinstance(parsed, Settings):
                return parsed, blob, problem
        return None, None, problem

    def require(self, objects: Objects, commit: str) -> Settings:
        """Return the settings for a commit of the target.

        Raises:
            UserError: neither it nor a commit before it has any that parse.
        """
        settings, _, problem = self.at(objects, commit)
        if settings is None:
            raise UserError(problem or "the target has no settings")
        return settings

    def of(self, objects: Objects, blob: str) -> Settings | None:
        """Return the settings that a blob holds, None if they cannot be had."""
        try:
            parsed = self._parse(objects, blob)
        except GitError:
            return None
        return parsed if isinstance(parsed, Settings) else None

    def _parse(self, objects: Objects, blob: str) -> Settings | str:
        if blob not in self._parsed:
            try:
                self._parsed[blob] = settings_file.parse(objects.blob(blob))
            except ConfigError as error:
                self._parsed[blob] = error.line()
        return self._parsed[blob]


def _older(objects: Objects, commit: str) -> Iterator[str]:
    """Yield the settings' blobs along the first parents, each once, newest first."""
    seen: set[str] = set()
    for _ in range(_HISTORY):
        parents = objects.commit(commit).parents
        if not parents:
            return
        commit = parents[0]
        entry = objects.path(commit, CONFIG)
        if entry is not None and entry.oid not in seen:
            seen.add(entry.oid)
            yield entry.oid
