"""Search, recall and brief over 10,000 items and landings, against plain `git grep`.

The repository is made by one fast-import: half of the ten thousand are items, half are
landing notes, beside some source files and Markdown. Each figure stands beside what
`git grep` takes for the same words in the same tree, in turn with it.
"""

import itertools
import os
import random
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench import measure
from gitagent.core.memory import From, Item, Kind, Source
from gitagent.core.remembering import Filed, Ruling
from gitagent.core.settings import Memory
from gitagent.files import memoryfile
from gitagent.git.objects import Objects
from gitagent.git.repository import Repository, discover
from gitagent.git.rulings import append
from gitagent.git.tree import put
from gitagent.host import clock
from gitagent.memory.brief import brief
from gitagent.memory.index import Index
from gitagent.memory.landed import Past
from gitagent.memory.recall import recall
from gitagent.memory.shelf import Shelves

ITEMS = 5000
LANDINGS = 5000
DOCUMENTS = 200
SOURCES = 50
ROUNDS = 15
T = TypeVar("T")

_WHEN = 1_767_603_600
_SYLLABLES = tuple(
    "ba ce di fo gu ka le mi no pu ra se ti vo xu za bri cla dro fle".split()  # noqa: SIM905
)


@dataclass(frozen=True, slots=True)
class Made:
    """The repository and what it holds."""

    repo: Repository
    commit: str
    landed: str  # the commit with one landing more


def vocabulary(chance: random.Random) -> tuple[list[str], list[float]]:
    """Return words and how frequent they are: as Zipf has it, a tenth are names."""
    words = ["".join(chance.choices(_SYLLABLES, k=2 + n % 3)) for n in range(6000)]
    for n in range(0, len(words), 10):
        words[n] = f"{words[n]}_{words[n - 1]}"
    return words, [1 / (n + 10) for n in range(len(words))]


_VOCABULARY = vocabulary(random.Random(5))  # noqa: S311 - the same each time


def text(chance: random.Random, count: int) -> str:
    """Return words as people use them."""
    words, weights = _VOCABULARY
    return " ".join(chance.choices(words, weights, k=count))


def files(
    chance: random.Random, first: str, lines: list[str]
) -> Iterator[tuple[str, bytes]]:
    """Yield paths and contents; the items quote ``lines`` of the commit ``first``."""
    for number in range(ITEMS):
        at = number % len(lines)
        name = f"src/module_{at % SOURCES}.py"
        item = Item(
            f"item-{number:04}",
            (Kind.FACT, Kind.LESSON)[number % 2],
            text(chance, 12)[:160].strip(),
            clock.stamp(),
            sources=(Source(From.LINES, first, name, 1 + at, 1 + at, lines[at]),),
            body=text(chance, 60),
        )
        yield memoryfile.path_of(item.slug), memoryfile.dump(item)
    for number in range(LANDINGS):
        yield note(chance, number)
    for number in range(DOCUMENTS):
        body = "\n\n".join(
            f"## {text(chance, 4)}\n\n{text(chance, 90)}" for _ in range(6)
        )
        yield f"docs/page-{number}.md", f"# {text(chance, 3)}\n\n{body}\n".encode()


def note(chance: random.Random, number: int) -> tuple[str, bytes]:
    """Return the path and the content of a landing note."""
    submission = f"s-{number:012x}"
    month = 1 + number % 12
    head = (
        f'submission = "{submission}"\ntask = "task-{number}"\n'
        f'landed = "2026-{month:02}-05T10:00:00Z"\nauthor = "Bench <b@example.org>"'
    )
    said = (
        f"# {text(chance, 7)}\n\n```\n{text(chance, 50)}\n```\n\n## What changed\n\n"
        f"1 path: 1 modified.\n\n- modified `src/module_{number % SOURCES}.py`\n\n"
        "## Divergence\n\nThe submitter stated none.\n\n"
        "## Checks\n\n- tests: passed in 3.0 s\n"
    )
    path = f".agent/landings/2026/{month:02}/{submission}.md"
    return path, f"+++\n{head}\n+++\n\n{said}".encode()


def make(folder: Path) -> Made:
    """Make the repository."""
    chance = random.Random(6)  # noqa: S311 - the same each time
    measure.run(["git", "init", "-q", str(folder)], Path.cwd())
    lines = [text(chance, 8) for _ in range(SOURCES)]
    source = "\n".join(lines).encode() + b"\n"
    first = imported(
        folder, "", [(f"src/module_{n}.py", source) for n in range(SOURCES)]
    )
    every = list(files(chance, first, lines))
    commit = imported(folder, first, every)
    repo = discover(folder)
    with repo.objects() as objects:
        filed = tuple(
            Filed(Path(path).stem, entry) for path, entry in blobs(objects, commit)
        )
        ruling = Ruling(
            clock.stamp(), "Bench <b@example.org>", commit=commit, files=filed
        )
        append(repo, objects, ruling)
        path, data = note(chance, LANDINGS)
        tree = put(objects, objects.commit(commit).tree, path, objects.write_blob(data))
        who = objects.commit(commit).author
        said = f"Land it\n\nGitagent-Submission: {Path(path).stem}\n"
        landed = objects.write_commit(tree, [commit], said, who, who)
    return Made(repo, commit, landed)


def blobs(objects: Objects, commit: str) -> Iterator[tuple[str, str]]:
    """Yield name and blob of each item."""
    entry = objects.path(commit, ".agent/memory")
    if entry is not None:
        for each in objects.tree(entry.oid):
            yield each.name, each.oid


def imported(folder: Path, parent: str, what: list[tuple[str, bytes]]) -> str:
    """Commit files on main by git fast-import; return the commit."""
    parts = [
        b"commit refs/heads/main\n",
        b"committer Bench <b@example.org> %d +0000\n" % _WHEN,
        b"data 5\nFiles\n",
        b"from %s\n" % parent.encode() if parent else b"",
    ]
    for path, data in what:
        parts.append(b"M 100644 inline %s\ndata %d\n" % (path.encode(), len(data)))
        parts += [data, b"\n"]
    subprocess.run(
        ["git", "fast-import", "--quiet"], cwd=folder, input=b"".join(parts), check=True
    )
    return measure.git(folder, "rev-parse", "refs/heads/main")


def grep(made: Made, said: str) -> object:
    """Look for words as a person would."""
    argv = ["git", "grep", "-I", "-i", "-c", "-w"]
    for word in said.split()[:24]:
        argv += ["-e", word]
    argv += [made.commit, "--", ".agent", "*.md"]
    return subprocess.run(
        argv, cwd=made.repo.common_dir.parent, capture_output=True, check=False
    )


def compare(
    name: str,
    ours: Callable[[str], object],
    plain: Callable[[str], object],
    said: Callable[[], str],
    limit: float,
) -> None:
    """Measure both in turn, each round with other words, and print them."""
    ours(said())
    plain(said())
    pairs = []
    for _ in range(ROUNDS):
        words = said()
        mine = measure.seconds(lambda words=words: ours(words))  # type: ignore[misc]
        pairs.append((mine, measure.seconds(lambda words=words: plain(words))))  # type: ignore[misc]
    mines, theirs = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    print(f"{name}:")
    print(f"  gitagent  {measure.milliseconds(mines)}")
    print(f"  git grep  {measure.milliseconds(theirs)}")
    middle = statistics.median(mines)
    measure.verdict("median", middle * 1000, limit, "ms")
    print(f"  {middle / statistics.median(theirs):.3f} times git grep")


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory(prefix="gitagent-bench-") as name:
        os.environ["XDG_CACHE_HOME"] = f"{name}/cache"
        made = make(Path(name) / "repo")
        print(f"{ITEMS} items, {LANDINGS} landings, {DOCUMENTS} documents:")
        _measure(made)


def _measure(made: Made) -> None:
    chance = random.Random(7)  # noqa: S311 - the same each time
    shelves, index, past = Shelves(made.repo), Index(made.repo), Past()
    memory = Memory(limit=ITEMS)
    with made.repo.objects() as objects:
        shelf, took = _timed(lambda: shelves.at(objects, made.commit))
        print(f"  reading all items for the first time: {took:.2f} s")
        if len(shelf.told()) != ITEMS:
            sys.exit(f"{len(shelf.told())} items are told: {shelf.refused[:1]}")
        _, took = _timed(lambda: index.follow(objects, made.commit, shelf))
        print(f"  the first index: {took:.2f} s")

        def short() -> str:
            return text(chance, 5)

        def long() -> str:
            return "\n".join(text(chance, 15) for _ in range(12))

        def plain(said: str) -> object:
            return grep(made, said)

        compare("search for five words", index.search, plain, short, 30)
        compare(
            "recall for a task of 180 words",
            lambda said: recall(index, shelf, said, (), memory),
            plain,
            long,
            30,
        )
        landings = past.landings(objects, made.landed)
        compare(
            "brief",
            lambda _: brief(shelf, landings, (), memory, now=clock.now()),
            plain,
            short,
            50,
        )
        # From the commit before a landing to the one with it, and back, in turn.
        commits = itertools.cycle([made.landed, made.commit])

        def update(_: str) -> None:
            commit = next(commits)
            with made.repo.objects() as anew:
                index.follow(anew, commit, shelves.at(anew, commit))

        compare("index after one landing, and its shelf", update, plain, short, 100)


def _timed(work: Callable[[], T]) -> tuple[T, float]:
    found: list[T] = []
    took = measure.seconds(lambda: found.append(work()))
    return found[0], took


if __name__ == "__main__":
    main()
