"""Every store has a writer and a reader that are there, and every ref has a store."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

import gitagent
from gitagent.core import layout
from gitagent.core.stores import PEOPLE, STORES, Kind, dead, orphans

PACKAGE = Path(gitagent.__file__).parent

# Branches are people's, nothing is ever kept at what is pushed to, and the others are
# made of stores.
NO_STORES = {"HEADS", "FOR", "AGENT", "RECORD_FOLDERS"}

NAMED = [
    pytest.param(store, module, id=f"{store.name}-{module}")
    for store in STORES
    for module in {*store.written, *store.read} - {PEOPLE}
]


def test_every_place_in_the_layout_is_a_store():
    places = {name for name in vars(layout) if name.isupper()}

    assert places - NO_STORES == {
        each.name for each in STORES if each.kind is not Kind.CACHE
    }
    for each in STORES:
        if each.kind is not Kind.CACHE:
            found = getattr(layout, each.name)
            assert each.place in ((found,) if isinstance(found, str) else found)


@pytest.mark.parametrize(("store", "module"), NAMED)
def test_who_is_named_is_there_and_uses_the_store(store, module):
    text = PACKAGE.joinpath(*module.split(".")).with_suffix(".py").read_text()
    # A name that is imported and not used would stand there once.
    least = 1 if store.kind is Kind.CACHE else 2
    name = f'"{store.name}"' if store.kind is Kind.CACHE else rf"\b{store.name}\b"

    assert least <= len(re.findall(name, text))


def test_no_cache_is_forgotten():
    pattern = re.compile(r'(?:cache_root|state_dir)\([^)]*\) / "([^"]+)"')
    used = {
        name
        for path in PACKAGE.rglob("*.py")
        for name in pattern.findall(path.read_text())
    }

    assert set() == used - {each.name for each in STORES if each.kind is Kind.CACHE}


def test_each_is_written_and_read():
    assert [] == dead()


def test_a_store_that_nobody_reads_or_writes_is_told():
    narrative = replace(STORES[0], place="refs/gitagent/narrative", written=())
    forgotten = replace(STORES[0], place="refs/gitagent/epochs/", read=())
    cache = replace(STORES[-1], name="marks", written=(), read=())

    assert [
        "nobody writes refs/gitagent/narrative",
        "nobody reads refs/gitagent/epochs/",
        "nobody writes or reads marks",
    ] == dead([*STORES, narrative, forgotten, cache])


def test_a_ref_that_belongs_to_no_store_is_an_orphan():
    refs = [
        "refs/heads/main",
        "refs/gitagent/tasks/a",
        "refs/gitagent/queue",
        "refs/gitagent/memory/operations",
        "refs/gitagent/memory/proposals/p-1",
    ]
    planted = [
        "refs/gitagent/narrative",
        "refs/gitagent/queued",
        "refs/gitagent/queue/x",
        "refs/gitagent/memory/epochs/1",
    ]

    assert planted == orphans([*refs, *planted])
