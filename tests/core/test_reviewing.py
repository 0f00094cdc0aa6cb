"""core.reviewing: what speaks against an item becomes a proposal, once."""

from dataclasses import replace

import pytest

from gitagent.core.following import follow
from gitagent.core.memory import From, Item, Kind, Mark, Marks, Source, Status, written
from gitagent.core.proposal import Stand, Why
from gitagent.core.remembering import Op
from gitagent.core.reviewing import (
    Against,
    Instead,
    Looked,
    outdated,
    review,
    settled,
    tombstone,
)

C1, C2, C3 = "1" * 40, "2" * 40, "3" * 40
NOW = "2026-06-30T12:00:00Z"
OLD = "2026-01-05T09:00:00Z"
LINE = "The retry limit of the client is 5."
QUOTE = "retry_limit = 5  # of the client"


def item(slug, *, quote=QUOTE, path="client.py", **fields):
    """Return an item that cites one line."""
    source = Source(From.LINES, C1, path, 3, 3, quote)
    blob = (slug.encode().hex() + "0" * 40)[:40]
    plain = Item(slug, Kind.FACT, LINE, OLD, sources=(source,), blob=blob)
    return replace(plain, **fields)


def looked(*items, marks=None, **facts):
    """Return what a review looks at."""
    return Looked({each.slug: each for each in items}, marks or {}, NOW, C3, **facts)


def changed(*slugs):
    """Return the marks of items whose evidence changed."""
    return {slug: (Mark(Marks.CHANGED, C2),) for slug in slugs}


def test_without_marks_and_findings_there_is_nothing_to_propose():
    assert [] == review(looked(item("a"), item("b", status=Status.WITHDRAWN)))


@pytest.mark.parametrize(
    ("mark", "why", "evidence"),
    [
        (Mark(Marks.CHANGED, C2), Why.CHANGED, (C2,)),
        (Mark(Marks.SUSPECT, C2), Why.SUSPECT, (C2,)),
        (Mark(Marks.DERIVED, "b"), Why.DERIVED, (item("b").blob,)),
        (Mark(Marks.UNVERIFIED, f"commit {C1}"), Why.UNVERIFIED, (C3,)),
    ],
)
def test_each_mark_is_a_proposal_to_withdraw_with_its_counter_evidence(
    mark, why, evidence
):
    gone = item("b", status=Status.WITHDRAWN, because="wrong")
    (found,) = review(looked(item("a"), gone, marks={"a": (mark,)}))

    assert (why, Op.WITHDRAW, "a", item("a").blob, evidence) == (
        found.why,
        found.operation.op,
        found.operation.slug,
        found.operation.of,
        found.evidence,
    )
    assert found.operation.because


def test_an_item_that_does_not_count_is_not_proposed_for_anything():
    gone = item("a", status=Status.SUPERSEDED)
    against = (Against("a", "It fails.", (C2,)), Against("none", "So.", (C2,)))

    assert [] == review(looked(gone, marks=changed("a"), failing=against))


def test_what_stands_there_now_is_cited_where_it_bears_the_item_out():
    now = f"{C3}:client.py:4-4"
    there = Instead(
        written(item("a").sources[0]), now, "RETRY_LIMIT = 5  # of the client", "f" * 40
    )
    (found,) = review(looked(item("a"), marks=changed("a"), instead={"a": (there,)}))

    assert (Op.UPDATE, (now,), (C2, "f" * 40)) == (
        found.operation.op,
        found.operation.sources,
        found.evidence,
    )


def test_what_stands_there_now_and_says_otherwise_is_a_reason_to_withdraw():
    there = Instead(
        written(item("a").sources[0]), f"{C3}:client.py:3-3", "timeout = 9", "f" * 40
    )
    (found,) = review(looked(item("a"), marks=changed("a"), instead={"a": (there,)}))

    assert Op.WITHDRAW == found.operation.op


def test_an_item_that_cites_what_stands_there_now_disputes_the_older_one():
    text = "retry_limit = 7  # of the client"
    there = Instead(
        written(item("a").sources[0]), f"{C3}:client.py:3-3", text, "f" * 40
    )
    newer = item("b", quote=text)
    (found,) = review(
        looked(item("a"), newer, marks=changed("a"), instead={"a": (there,)})
    )

    assert (Op.DISPUTE, "b", (C2, newer.blob)) == (
        found.operation.op,
        found.operation.against,
        found.evidence,
    )


@pytest.mark.parametrize("way", ["failing", "failed", "harmful"])
def test_what_others_found_is_a_proposal_with_their_evidence(way):
    against = Against("a", "It fails now.", (C2,), ("make check", "1"))
    one = review(looked(item("a"), **{way: (against,)}))
    later = replace(against, evidence=(C3,))
    again = review(looked(item("a"), **{way: (later,)}))

    assert [(Op.WITHDRAW, (C2,), "It fails now.")] == [
        (x.operation.op, x.evidence, x.sentence) for x in one
    ]
    assert [x.id for x in one] == [x.id for x in again]


def test_a_finding_without_evidence_is_none():
    assert [] == review(looked(item("a"), failed=(Against("a", "Hearsay.", ()),)))


def test_a_dispute_is_asked_about_once_and_only_when_it_is_open_for_long():
    one = item("a", status=Status.DISPUTED, disputes=("b",))
    other = item("b", status=Status.DISPUTED, disputes=("a",))
    fresh = replace(other, updated="2026-06-29T12:00:00Z")
    (found,) = review(looked(one, other))

    assert (Op.DECIDE, "a", "b", (one.blob, other.blob)) == (
        found.operation.op,
        found.operation.slug,
        found.operation.against,
        found.evidence,
    )
    assert [] == review(looked(one, fresh))
    assert [] == review(looked(one, replace(other, status=Status.ACTIVE)))


def test_the_id_follows_from_the_item_and_the_evidence_and_not_from_the_time():
    def ids(slug="a", at=C2, now=NOW, **fields):
        marks = {slug: (Mark(Marks.SUSPECT, at),)}
        seen = replace(looked(item(slug, **fields), marks=marks), now=now)
        return review(seen)[0].id

    assert ids() == ids(now="2027-01-01T00:00:00Z")
    assert 4 == len({ids(), ids("b"), ids(at=C3), ids(blob="f" * 40)})


def test_a_proposal_becomes_moot_when_its_item_changed_or_nothing_is_found_again():
    first = looked(item("a"), item("b"), marks=changed("a", "b"))
    known = review(first)
    second = looked(item("a", blob="f" * 40), item("b"))
    moved = settled(known, review(second), second, NOW)

    assert [("a", Stand.MOOT), ("b", Stand.MOOT)] == [
        (each.operation.slug, each.stand) for each, _ in moved
    ]
    assert ["a was changed meanwhile.", "Nothing speaks against it any more."] == [
        reason for _, reason in moved
    ]


def test_a_moot_one_that_is_found_again_waits_again_and_a_rejected_one_does_not():
    seen = looked(item("a"), marks=changed("a"))
    (found,) = review(seen)
    moot, rejected = (replace(found, stand=x) for x in (Stand.MOOT, Stand.REJECTED))

    assert [Stand.WAITING] == [
        each.stand for each, _ in settled([moot], [found], seen, NOW)
    ]
    assert [] == settled([rejected], [found], seen, NOW)


def test_what_was_not_looked_for_this_time_stays():
    (failing,) = review(looked(item("a"), failing=(Against("a", "No.", (C2,)),)))
    seen = looked(item("a"), unlooked=frozenset({Why.VERIFY}))
    restored = tombstone(item("a"), "e" * 40, NOW)

    assert [] == settled([failing, restored], [], seen, NOW)


def test_a_proposal_about_an_item_that_is_gone_says_so():
    (found,) = review(looked(item("a"), marks=changed("a")))

    assert "There is no item a any more." == outdated(found, {})
    assert "a is withdrawn." == outdated(
        found, {"a": item("a", status=Status.WITHDRAWN)}
    )
    assert "" == outdated(found, {"a": item("a")})


def test_of_lines_that_were_rewritten_the_most_alike_is_the_one():
    old = ["a", "the limit is 5", "z"]
    new = ["# Limits", "see below", "the limit is 7", "z"]

    assert (3, 3) == follow(old, new, 2, 2)
    assert (2, 2) == follow(old, ["a", *(["x"] * 300), "z"], 2, 2)


@pytest.mark.parametrize(
    ("new", "span", "expected"),
    [
        ("xxabcdefgh", (3, 5), (5, 7)),
        ("abXYefgh", (3, 4), (3, 4)),
        ("abefgh", (3, 4), None),
        ("abcXdefgh", (3, 4), (3, 5)),
        ("abcdefghZ", (7, 8), (7, 8)),
        ("abcdefgX", (8, 8), (8, 8)),
        ("", (1, 2), None),
        ("abcdefgh", (0, 2), None),
        ("abcdefgh", (8, 9), None),
        ("bcdefgh", (1, 2), (1, 1)),
    ],
)
def test_lines_are_followed_to_where_they_stand_now(new, span, expected):
    assert expected == follow("abcdefgh", new, *span)
