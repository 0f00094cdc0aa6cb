"""core.chapter and core.rejoining: what is carried over, and what joins another."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitagent.core.chapter import (
    Carried,
    CarriedItem,
    OpenTask,
    Pair,
    automations_in,
    carried,
    dump,
    load,
)
from gitagent.core.memory import From, Item, Kind, Source, Status, written
from gitagent.core.rejoining import over, rejoin
from gitagent.core.remembering import Op

AT = "2026-06-30T12:00:00Z"
COMMIT = "1" * 40
SOURCE = Source(From.LINES, COMMIT, "client.py", 3, 3, "limit = 5")

_slugs = st.from_regex(r"[a-z0-9][a-z0-9._-]{0,20}", fullmatch=True)
_oids = st.from_regex(r"[0-9a-f]{40}", fullmatch=True)
_lines = st.text(
    st.characters(blacklist_categories=("Cs",), blacklist_characters="\n"), max_size=160
)


def item(slug, line="The limit is 5.", **fields):
    """Return an item that counts."""
    blob = (slug.encode().hex() + "0" * 40)[:40]
    plain = Item(slug, Kind.FACT, line, AT, sources=(SOURCE,), blob=blob)
    return replace(plain, **fields)


def by_slug(*items):
    """Return items by their slugs."""
    return {each.slug: each for each in items}


@settings(max_examples=40)
@given(
    st.builds(
        Carried,
        name=_slugs,
        at=st.just(AT),
        commit=_oids,
        items=st.lists(
            st.builds(
                CarriedItem,
                _slugs,
                _oids,
                st.sampled_from(list(map(str, Kind))),
                _lines,
            ),
            max_size=3,
        ).map(tuple),
        disputed=st.lists(
            st.builds(Pair, _slugs, _oids, _slugs, _oids), max_size=2
        ).map(tuple),
        tasks=st.lists(st.builds(OpenTask, _slugs, _lines), max_size=3).map(tuple),
        automations=st.lists(_slugs, max_size=3).map(tuple),
        handoff=st.binary(max_size=200)
        | st.sampled_from([b"## Items\n\n- `a`\n", b"\n\n## Handoff\n\n", b"None."]),
    )
)
def test_what_is_written_is_read_again_byte_for_byte(state):
    assert state == load(dump(state))


def test_what_is_carried_over_are_items_that_count_and_pairs_that_are_open():
    one = item("a", status=Status.DISPUTED, disputes=("b", "gone"))
    other = item("b", status=Status.DISPUTED, disputes=("a",))
    gone = item("c", status=Status.WITHDRAWN)
    tasks = [OpenTask("t2", "Later"), OpenTask("t1", "Two\nlines")]
    made = carried("spring", AT, COMMIT, [other, gone, one], tasks, ["z", "n"], b"go")

    assert ["a", "b"] == [each.slug for each in made.items]
    assert (Pair("a", one.blob, "b", other.blob),) == made.disputed
    assert (OpenTask("t1", "Two lines"), OpenTask("t2", "Later")) == made.tasks
    assert (("n", "z"), b"go") == (made.automations, made.handoff)


def test_an_automation_is_a_markdown_file_of_its_folder():
    paths = [".agent/automations/nightly.md", ".agent/automations/x.txt", "nightly.md"]

    assert ["nightly"] == automations_in(paths)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"# Chapter", b"# Book"),
        (b"## Items", b"## Things"),
        (b"## Handoff", b"## Hand"),
        (b"Closed at", b"Open at"),
        (b"- `a@", b"- a@"),
        (b"limit", b"\xff"),
    ],
)
def test_a_file_that_is_none_of_a_chapter_says_why(old, new):
    data = dump(carried("spring", AT, COMMIT, [item("a")], [], [], b""))

    with pytest.raises(ValueError, match="it "):
        load(data.replace(old, new))


def test_an_item_that_is_not_here_is_added_with_its_sources():
    made = rejoin({}, by_slug(item("a", body="So.", verify="true")), ())
    (add,) = made.operations

    assert (Op.ADD, "a", "So.", "true", (written(SOURCE),), 1) == (
        add.op,
        add.slug,
        add.body,
        add.verify,
        add.sources,
        made.adding,
    )


def test_what_is_here_under_any_name_is_not_added_again():
    there = by_slug(item("a"))

    assert ("a",) == rejoin(there, there, ()).same
    assert ("a",) == rejoin(by_slug(item("a", "Other."), item("a-2")), there, ()).same


def test_one_name_with_other_content_is_added_so_that_the_executor_disputes_it():
    made = rejoin(by_slug(item("a", "The limit is 7.")), by_slug(item("a")), ())

    assert [(Op.ADD, "a")] == [(each.op, each.slug) for each in made.operations]


@pytest.mark.parametrize(
    ("here", "gone"),
    [
        ((item("a", status=Status.WITHDRAWN),), ()),
        ((item("a", "Other.", status=Status.SUPERSEDED),), ()),
        ((item("a-2", status=Status.WITHDRAWN),), ()),
        ((), ("a",)),
    ],
)
def test_what_was_withdrawn_here_does_not_come_back(here, gone):
    made = rejoin(by_slug(*here), by_slug(item("a")), gone)

    assert ((), ("a",)) == (made.operations, made.withdrawn)


@pytest.mark.parametrize("status", [Status.WITHDRAWN, Status.SUPERSEDED])
def test_what_was_withdrawn_there_is_asked_about_and_not_done(status):
    there = by_slug(item("a", status=status), item("b", status=status))
    made = rejoin(by_slug(item("a"), item("b", "Other.")), there, ())

    assert ((), ("a",)) == (made.operations, made.tombstones)


def test_a_dispute_comes_along():
    one = item("a", status=Status.DISPUTED, disputes=("b",))
    other = item("b", "It is 7.", status=Status.DISPUTED, disputes=("a",))
    there = by_slug(one, other)
    clash = by_slug(item("b", "It is 9."))

    assert [(Op.ADD, "a"), (Op.ADD, "b"), (Op.DISPUTE, "a")] == [
        (each.op, each.slug) for each in rejoin({}, there, ()).operations
    ]
    assert () == rejoin(there, there, ()).operations
    assert Op.DISPUTE not in {x.op for x in rejoin(clash, there, ()).operations}


def test_too_many_together_is_said_with_the_numbers():
    here = by_slug(*(item(f"h{n}", f"Here {n}.") for n in range(3)))
    there = by_slug(*(item(f"t{n}", f"There {n}.") for n in range(2)))
    made = rejoin(here, there, ())
    said = over(here, made, 4)

    assert "" == over(here, made, 5)
    assert ("3", "2", "5", "4") == tuple(
        x for x in said.replace(",", "").split() if x.isdigit()
    )
    assert "" == over(here, rejoin(here, here, ()), 1)
