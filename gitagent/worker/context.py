"""What an agent is told beside its task: the repository's own words, and its skills.

AGENTS.md, CLAUDE.md and skills are those of the target's commit, never those that an
earlier attempt may have left. What a program reads by itself it is not given twice.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath

from gitagent.core.agent import Agent
from gitagent.core.layout import SKILLS
from gitagent.core.task import Attempt, Instruction, Refusal
from gitagent.errors import UserError
from gitagent.files import clean, skillfile
from gitagent.files.skillfile import Skill
from gitagent.files.text import FILE_LIMIT
from gitagent.git.objects import BLOB, EXECUTABLE, LINK, TREE, Entry, Objects
from gitagent.git.tree import folder, walk
from gitagent.worker.order import Order

AGENTS_MD = "AGENTS.md"
CLAUDE_MD = "CLAUDE.md"
LIMIT = 32 * 1024  # bytes of a file that is put into the prompt; Codex has the same

_TOP = (AGENTS_MD, CLAUDE_MD, f".claude/{CLAUDE_MD}")
_CLAUDES = _TOP[1:]
_SKILLS = 50
_NESTED = 20
_FOREIGN = "node_modules"  # what is below is for those who work on that
_IMPORT = re.compile(r"(?<![\w`])@(?:\./)?AGENTS\.md\b")

# What each program reads by itself; see `_reads`.
_READS = {
    "claude": (*_CLAUDES, SKILLS[1]),
    "codex": (AGENTS_MD,),
    "opencode": (AGENTS_MD, SKILLS[1]),
}


@dataclass(frozen=True, slots=True)
class Piece:
    """A text for the prompt."""

    name: str  # of its file
    producer: str
    text: str


@dataclass(frozen=True, slots=True)
class Context:
    """What there is beside a task."""

    texts: tuple[Piece, ...] = ()
    named: tuple[str, ...] = ()  # files to read instead: too long, or of a folder
    skills: tuple[Skill, ...] = ()  # that the program does not find by itself
    instructions: tuple[Instruction, ...] = ()  # all that there is, read or given
    notes: tuple[str, ...] = ()  # what was left out and why, a sentence each


NOTHING = Context()


@dataclass(frozen=True, slots=True)
class _File:
    path: str
    blob: str
    size: int
    text: str  # "": too long


def context(order: Order, objects: Objects) -> Context:
    """Read what the agent of an order is told; its definition is stored if need be."""
    definition = _definition(order.agent, objects)
    if order.agent.backend == "shell":
        return Context(instructions=definition)
    tree = objects.commit(order.target).tree
    notes: list[str] = []
    files = _files(objects, tree, notes)
    nested = _nested(objects, tree)
    skills = _skills(objects, tree, notes)
    reads = _reads(order.agent, files)
    texts, long = _given(files, reads)
    return Context(
        texts=texts,
        named=(*long, *(path for path, _ in nested)),
        skills=tuple(each for each in skills if not each.path.startswith(reads)),
        instructions=(
            *definition,
            *(Instruction(each.path, each.blob) for each in files),
            *(Instruction(path, blob) for path, blob in nested),
            *(Instruction(each.path, each.blob) for each in skills),
        ),
        notes=tuple(notes),
    )


def changed(before: Attempt | None, now: Iterable[Instruction]) -> tuple[str, ...]:
    """Return in words what became of the instructions since an attempt.

    Nothing if the attempt did not get as far as being given any.
    """
    if before is None or not before.instructions:
        return ()
    old = {each.path: each.blob for each in before.instructions}
    new = {each.path: each.blob for each in now}
    return (
        *(f"{path} changed" for path in new if old.get(path, new[path]) != new[path]),
        *(f"{path} is new" for path in new if path not in old),
        *(f"{path} is gone" for path in old if path not in new),
    )


def _definition(agent: Agent, objects: Objects) -> tuple[Instruction, ...]:
    if not agent.path:
        return ()
    blob = objects.write_blob(agent.source.encode()) if agent.source else agent.blob
    return (Instruction(agent.path, blob),)


def _files(objects: Objects, tree: str, notes: list[str]) -> list[_File]:
    found = []
    for path in _TOP:
        entry = _entry(objects, tree, path, notes)
        if entry is None:
            continue
        size = objects.size(entry.oid)
        text = ""
        if size <= LIMIT:
            text = objects.blob(entry.oid).decode("utf-8-sig", "replace").strip()
            if not text:
                continue
        found.append(_File(path, entry.oid, size, clean.visible(text)))
    return found


def _entry(
    objects: Objects, tree: str, path: str, notes: list[str], *, followed: bool = False
) -> Entry | None:
    """Return the file at a path; a link is followed once, to another one of these."""
    entry = objects.path(tree, path)
    if entry is None or entry.mode in {BLOB, EXECUTABLE}:
        return entry
    if entry.mode == LINK and not followed and objects.size(entry.oid) < FILE_LIMIT:
        to = objects.blob(entry.oid).decode(errors="replace")
        for other in _TOP:
            if other != path and _same(PurePosixPath(path).parent / to, other):
                return _entry(objects, tree, other, notes, followed=True)
    what = "a link that leads elsewhere" if entry.mode == LINK else "no file"
    notes.append(f"{path} is not read: it is {what}.")
    return None


def _same(path: PurePosixPath, other: str) -> bool:
    parts: list[str] = []
    for part in path.parts:
        if part == ".." and parts:
            parts.pop()
        else:
            parts.append(part)
    return "/".join(parts) == other


def _nested(objects: Objects, tree: str) -> list[tuple[str, str]]:
    """Return path and blob of those that folders have, the topmost ones first."""
    try:
        found = [
            (path, entry.oid)
            for path, entry in walk(objects, tree)
            if path.rpartition("/")[2] in {AGENTS_MD, CLAUDE_MD}
            and path not in _TOP
            and entry.mode in {BLOB, EXECUTABLE}
            and _FOREIGN not in path.split("/")
        ]
    except UserError:
        return []
    return sorted(found, key=lambda each: (each[0].count("/"), each[0]))[:_NESTED]


def _skills(objects: Objects, tree: str, notes: list[str]) -> list[Skill]:
    found: dict[str, Skill] = {}
    for top in SKILLS:
        for entry in folder(objects, tree, top):
            path = f"{top}{entry.name}/{skillfile.NAME}"
            inner = None
            if entry.mode == TREE:
                inner = objects.path(entry.oid, skillfile.NAME)
            if inner is None:
                continue
            skill = _skill(objects, entry.name, path, inner)
            if isinstance(skill, Refusal):
                notes.append(f"A skill is left out: {skill.reason}.")
            elif skill.name in found:
                first = found[skill.name].path
                notes.append(f"A skill is left out: {path} is called as {first} is.")
            else:
                found[skill.name] = skill
    skills = list(found.values())
    if len(skills) > _SKILLS:
        notes.append(f"{len(skills) - _SKILLS} skills are left out: {_SKILLS} fit.")
    return skills[:_SKILLS]


def _skill(objects: Objects, name: str, path: str, entry: Entry) -> Skill | Refusal:
    if entry.mode not in {BLOB, EXECUTABLE}:
        return Refusal(path, f"{clean.line(path)}: it is no file; put one there")
    if objects.size(entry.oid) > FILE_LIMIT:
        return Refusal(path, f"{clean.line(path)}: it is too long; shorten it")
    return skillfile.parse(name, objects.blob(entry.oid), path, entry.oid)


def _reads(agent: Agent, files: Iterable[_File]) -> tuple[str, ...]:
    """Return the files and folders that the program of an agent reads by itself."""
    program = agent.backend
    if program == "acp" and agent.argv:
        program = PurePosixPath(agent.argv[0]).name
    reads = _READS.get(program, ())
    there = {each.path: each.text for each in files}
    if program == "opencode" and AGENTS_MD not in there:
        return (*reads, CLAUDE_MD)
    if program == "claude" and any(
        _IMPORT.search(there.get(path, "")) for path in _CLAUDES
    ):
        return (*reads, AGENTS_MD)
    return reads


def _given(
    files: list[_File], reads: tuple[str, ...]
) -> tuple[tuple[Piece, ...], tuple[str, ...]]:
    """Return what is put into the prompt, and what is only named."""
    blobs = {each.path: each.blob for each in files}
    seen = {each.blob for each in files if each.path in reads}
    texts: list[Piece] = []
    long: list[str] = []
    for each in files:
        import_alone = _IMPORT.fullmatch(each.text) and AGENTS_MD in blobs
        if each.path in reads or each.blob in seen or import_alone:
            continue
        seen.add(each.blob)
        if each.size > LIMIT:
            long.append(f"{each.path} ({each.size // 1024} KiB)")
        else:
            producer = f"{each.path}@{each.blob[:8]}"
            texts.append(Piece(each.path, producer, each.text))
    return tuple(texts), tuple(long)
