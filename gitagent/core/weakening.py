"""Signs that a submission weakens the tests that are to judge it.

A test goes for good reasons too. So each sign is named in the landing note, and for a
worker's result a person has to agree. What only moves is no sign: a test that went to
another file took its name and its assertions along.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final

from gitagent.core import testmarks
from gitagent.core.candidate import Change, PathChange
from gitagent.core.testmarks import (
    Marks,
    as_good,
    is_configuration,
    is_prose,
    is_test,
)

_LIKELY: Final = 20  # files that are looked at for a test that went


def weakened(
    changes: Iterable[PathChange], load: Callable[[str], str]
) -> Iterator[tuple[str, str]]:
    """Yield (path, what happened to it); ``load`` gives the text of a blob."""
    changes = tuple(changes)
    gone = frozenset(deleted_tests(changes))
    pairs = [_pair(change, load) for change in changes if _matters(change, gone)]
    tests = _Tests([pair for pair in pairs if is_test(pair.change.path)])
    for pair in pairs:
        path = pair.change.path
        said: list[str] = []
        if is_test(path):
            said += _judges_less(pair, tests, deleted=path in gone)
        if is_configuration(path):
            said += _runs_less(pair)
        if is_test(path) or is_configuration(path):
            said += _lasts_longer(pair, everywhere=is_configuration(path))
        if said:
            yield path, ", ".join(said)


def deleted_tests(changes: Iterable[PathChange]) -> tuple[str, ...]:
    """Return the tests that are gone and that no new test is a copy of."""
    changes = tuple(changes)
    new: dict[str, list[str]] = {}
    for change in changes:
        if change.change is Change.ADDED:
            new.setdefault(change.new_blob, []).append(change.path)
    return tuple(
        c.path
        for c in changes
        if c.change is Change.DELETED
        and is_test(c.path)
        and not is_prose(c.path)
        and not _copied(c.path, new.get(c.old_blob, []))
    )


def _copied(path: str, copies: list[str]) -> bool:
    """Whether one of the copies is as good; it stands for no other from then on."""
    for number, copy in enumerate(copies[:_LIKELY]):
        if as_good(path, copy):
            del copies[number]
            return True
    return False


@dataclass(frozen=True, slots=True)
class _Pair:
    """What counts in a file, before and after."""

    change: PathChange
    before: Marks
    after: Marks

    def less(self, kind: str) -> Counter[str]:
        """Return what is not there any more: tests, skips, asserts, exclusions."""
        return _counted(self.before, kind) - _counted(self.after, kind)

    def more(self, kind: str) -> Counter[str]:
        """Return what was not there before."""
        return _counted(self.after, kind) - _counted(self.before, kind)

    def growth(self, kind: str) -> int:
        """Return how many more there are; negative: fewer."""
        return _counted(self.after, kind).total() - _counted(self.before, kind).total()


def _counted(marks: Marks, kind: str) -> Counter[str]:
    found: Counter[str] = getattr(marks, kind)
    return found


def _pair(change: PathChange, load: Callable[[str], str]) -> _Pair:
    before = load(change.old_blob) if change.old_blob else ""
    after = load(change.new_blob) if change.new_blob else ""
    if is_configuration(change.path):
        return _Pair(
            change,
            testmarks.read(before, configuration=True),
            testmarks.read(after, configuration=True),
        )
    if not testmarks.spans_lines(before + after):
        # What both have cancels out, and a large file with a small change is cheap.
        old, new = Counter(before.split("\n")), Counter(after.split("\n"))
        before = "\n".join((old - new).elements())
        after = "\n".join((new - old).elements())
    return _Pair(change, testmarks.read(before), testmarks.read(after))


def _matters(change: PathChange, gone: frozenset[str]) -> bool:
    """Whether a file has to be read: not for a test that went elsewhere as it was."""
    if change.change is Change.DELETED and is_test(change.path):
        return change.path in gone
    return is_test(change.path) or is_configuration(change.path)


class _Tests:
    """All that changed among the tests, found by what they lost and gained.

    What one gained stands for what one other lost, once. A submission can change
    thousands: nothing here looks at each pair of them.
    """

    def __init__(self, pairs: list[_Pair]) -> None:
        self._gained: dict[str, dict[str, int]] = {}  # tests by name, by path
        self._growth: dict[str, int] = {}  # assertions by path
        self._asserts: Counter[str] = Counter()  # lines that were added somewhere
        self._skips: Counter[str] = Counter()  # lines that went somewhere
        for pair in pairs:
            path = pair.change.path
            for name, count in pair.more("tests").items():
                self._gained.setdefault(name, {})[path] = count
            self._growth[path] = max(0, pair.growth("asserts"))
            self._asserts.update(pair.more("asserts"))
            self._skips.update(pair.less("skips"))

    def moved(self, pair: _Pair) -> tuple[int, list[str]]:
        """Return how many tests that a file lost went to others, and to which."""
        number, took = 0, []
        for name, count in pair.less("tests").items():
            there = self._gained.get(name, {})
            for path in tuple(islice(there, _LIKELY)):
                if count and as_good(pair.change.path, path):
                    part = min(count, there[path])
                    number, count = number + part, count - part  # noqa: PLW2901
                    took.append(path)
                    there[path] -= part
                    if not there[path]:
                        del there[path]
        return number, took

    def asserted(self, pair: _Pair, wanted: int, took: list[str]) -> int:
        """Return how many of the ``wanted`` assertions of a file are elsewhere now.

        The very lines count wherever they are, and any line where its tests went.
        """
        found = _taken(pair.less("asserts"), self._asserts)
        for path in took:
            part = min(max(0, wanted - found), self._growth[path])
            self._growth[path] -= part
            found += part
        return found

    def skipped(self, pair: _Pair) -> int:
        """Return how many skips that a file gained were in others before."""
        return _taken(pair.more("skips"), self._skips)


def _taken(wanted: Counter[str], there: Counter[str]) -> int:
    """Take what is wanted of what is there; return how much it was."""
    number = 0
    for line, count in wanted.items():
        part = min(count, there[line])
        there[line] -= part
        number += part
    return number


def _judges_less(pair: _Pair, tests: _Tests, *, deleted: bool) -> Iterator[str]:
    lost = pair.less("tests").total()
    moved, took = tests.moved(pair)
    if deleted and (not lost or moved < lost):
        yield "deleted"
        return
    if (fewer := -pair.growth("tests") - moved) > 0:
        yield f"{fewer} {_plural('test', fewer)} fewer"
    if (fewer := -pair.growth("asserts")) > 0:
        fewer -= tests.asserted(pair, fewer, took)
    if fewer > 0:
        yield f"{fewer} {_plural('assertion', fewer)} fewer"
    if (more := pair.growth("skips")) > 0:
        more -= tests.skipped(pair)
    if more > 0:
        yield f"{more} more {_plural('skip', more)}"


def _runs_less(pair: _Pair) -> Iterator[str]:
    if (more := pair.growth("left_out")) > 0:
        yield f"{more} more {_plural('exclusion', more)}"
    if pair.before.which != pair.after.which:
        yield "other tests are looked for"
    if pair.more("written"):
        yield "files are written in another way"
    if pair.less("recipe") or pair.more("twice"):
        yield "what runs as the tests is another"
    before, after = pair.before.floors, pair.after.floors
    if before and (not after or min(after) < min(before)):
        yield (
            f"coverage asked for is {min(after):g}"
            if after
            else "no coverage asked for"
        )


def _lasts_longer(pair: _Pair, *, everywhere: bool) -> Iterator[str]:
    """Say which time limits were raised; of a test's own, only those of its marks."""
    kinds = ("marked", "limits") if everywhere else ("marked",)
    for kind in kinds:
        before: dict[str, list[float]] = getattr(pair.before, kind)
        after: dict[str, list[float]] = getattr(pair.after, kind)
        for name, old in before.items():
            new = after.get(name, [])
            less, more = Counter(old) - Counter(new), Counter(new) - Counter(old)
            if less and more and max(more) > max(less):
                yield f"{name} raised from {max(less):g} to {max(more):g}"
            elif less and not new and everywhere:
                yield f"{name} of {max(less):g} taken away"


def _plural(word: str, number: int) -> str:
    return word if number == 1 else f"{word}s"
