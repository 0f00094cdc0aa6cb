"""What follows from an object id and takes long to find, kept between two commands.

A cache of the two answers of `gitagent status` that cost more than all the rest: what
the target's settings say about landing, and which commits got past the lander. Without
it, or with an unusable one, both are found anew.
"""

import json
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from gitagent import __version__
from gitagent.core.layout import CONFIG
from gitagent.core.submission import Submission
from gitagent.errors import GitError, UserError
from gitagent.git.objects import Objects
from gitagent.git.repository import Repository
from gitagent.host.place import state_dir

_FIRST = ("refs/heads/main", "refs/heads/master")  # as in daemon.target
_PARTS = ("target", "settings", "audit")


def target(
    repo: Repository, objects: Objects, refs: Mapping[str, str]
) -> tuple[str, str]:
    """Return the target ref and its commit; ``refs`` are the branches.

    Raises:
        UserError: no branch says that it is one.
    """
    # Only a branch that is asked first of all can be remembered as the one.
    first = next((ref for ref in _FIRST if ref in refs), "")
    known = _recall(repo, "target")
    if first and known.get("ref") == first:
        entry = objects.path(refs[first], CONFIG)
        if entry is not None and entry.oid == known.get("blob"):
            return first, refs[first]
    from gitagent.daemon.target import require_target  # noqa: PLC0415 - see `paused`

    found = require_target(objects, refs)
    entry = objects.path(refs[found], CONFIG)
    if entry is not None:
        _remember(repo, "target", {"ref": found, "blob": entry.oid})
    return found, refs[found]


def paused(
    repo: Repository, objects: Objects, ref: str, commit: str
) -> tuple[str | None, str, str]:
    """Return what the settings of the target's commit say about ways in and out.

    That is why nothing can land, or None; the remote that is pushed to, or ""; and
    what is done about direct moves of the target, one of `settings.Guard`.
    """
    entry = objects.path(commit, CONFIG)
    blob = entry.oid if entry else ""
    known = _recall(repo, "settings")
    if blob and known.get("blob") == blob:
        text, remote = known.get("paused"), known.get("push")
        return (
            text if isinstance(text, str) else None,
            remote if isinstance(remote, str) else "",
            str(known.get("guard")),
        )
    # Loading the reader of settings takes longer than all the rest of a command.
    from gitagent.core.pause import pause  # noqa: PLC0415
    from gitagent.core.snapshot import Snapshot, Target  # noqa: PLC0415
    from gitagent.daemon.target import SettingsInForce  # noqa: PLC0415

    settings, config, problem = SettingsInForce().at(objects, commit)
    there = Target(ref, commit, config=config, problem=problem)
    text = pause(Snapshot(target=there, settings=settings))
    remote = settings.lander.push if settings is not None else ""
    guard = str(settings.lander.guard) if settings is not None else ""
    if blob:
        facts = {"blob": blob, "paused": text, "push": remote, "guard": guard}
        _remember(repo, "settings", facts)
    return text, remote, guard


def direct(
    repo: Repository,
    objects: Objects,
    commit: str,
    submissions: Mapping[str, Submission],
) -> tuple[str, ...]:
    """Return the commits on the target that got past the lander, newest first."""
    known = _recall(repo, "audit")
    if known.get("tip") == commit and not known.get("found"):
        return ()
    from gitagent.lander.audit import Audit, Memory  # noqa: PLC0415 - rarely needed

    audit = Audit(repo)
    with suppress(KeyError, TypeError, ValueError, GitError):
        audit.resume(
            objects,
            Memory(
                known["tip"],
                known["begun"],
                tuple((oid, last) for oid, last in known["found"]),
            ),
        )
    if audit.memory is not None:
        found = audit.direct(objects, commit, _Lazily(objects, submissions))
    else:
        # Over a whole history libgit2 makes up for the time that it takes to load.
        with repo.objects() as whole:
            found = audit.direct(whole, commit, _Lazily(whole, submissions))
    if audit.memory is not None:
        _remember(repo, "audit", asdict(audit.memory))
    return found


def rewound(
    repo: Repository, commit: str, submissions: Iterable[Submission]
) -> dict[str, str]:
    """Return the landings among these that the target lacks: submission by commit."""
    from gitagent.lander import audit  # noqa: PLC0415 - as in `direct`

    return audit.rewound(repo, commit, submissions)


class _Lazily(dict[str, Submission]):
    """Submissions by id, read when they are asked for."""

    def __init__(self, objects: Objects, known: Mapping[str, Submission]) -> None:
        super().__init__(known)
        self._objects = objects

    def get(self, key: str, default: Any = None) -> Any:  # noqa: ANN401 - as dict's
        from gitagent.lander.submit import find  # noqa: PLC0415 - rarely needed

        if key not in self:
            with suppress(UserError, GitError):
                found = find(self._objects, key)
                if found is not None:
                    self[key] = found
        return super().get(key, default)


def _file(repo: Repository) -> Path:
    return state_dir(repo.common_dir) / "overview.json"


def _recall(repo: Repository, part: str) -> dict[str, Any]:
    try:
        values = json.loads(_file(repo).read_bytes())
        found = values[part] if values["release"] == __version__ else {}
    except (OSError, ValueError, KeyError, TypeError):
        return {}
    return found if isinstance(found, dict) else {}


def _remember(repo: Repository, part: str, value: dict[str, Any]) -> None:
    values = {each: _recall(repo, each) for each in _PARTS} | {part: value}
    path = _file(repo)
    new = path.with_name(f"{path.name}.{os.getpid()}")
    with suppress(OSError):  # a repository of somebody else can still be looked at
        path.parent.mkdir(exist_ok=True)
        new.write_text(json.dumps({"release": __version__, **values}), "utf-8")
        new.replace(path)
