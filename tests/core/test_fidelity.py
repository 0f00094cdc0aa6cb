"""What a context still answers after a summary."""

from gitagent.core import compaction
from gitagent.core.conversation import Entry, Kind
from tests.core import fidelity
from tests.core.fidelity import About, Score
from tests.core.talk import numbered, said, todo, told, turn


def worked():
    made = [told("Fix the login. ✓ ", binding=True), *todo("t", ("test it", "open"))]
    made += turn("a", "ok", "write", effect="write", what="src/login.py")
    made += turn("b", "2 passed", "shell", effect="shell", what="make test")
    made += turn("c", "text", "read", effect="read", what="README.md")
    return numbered([*made, said("Done.")])


def context(entries):
    """Return a context's words; of a call also what it acts on, as its arguments do."""
    held = compaction.view(entries)
    words = (w for e in held for w in (e.what, e.text, *(c.given for c in e.calls)))
    return "\n".join(words)


def summed(text):
    entries = worked()
    plan = compaction.plan(entries, 0)
    assert plan is not None
    summary = Entry(
        Kind.SUMMARY, number=99, text=text, first=plan.first, last=plan.last
    )
    return [*entries, summary]


def test_probes_ask_for_every_obligation_and_every_effect():
    found = fidelity.probes(worked())

    assert [
        (About.OBLIGATION, "Fix the login. ✓ "),
        (About.OBLIGATION, "test it"),
        (About.FACT, "src/login.py"),
        (About.FACT, "make test"),
    ] == [(each.about, each.answer) for each in found]


def test_before_a_summary_everything_is_there():
    asked = fidelity.probes(worked())

    assert Score(1.0, 1.0) == fidelity.score(asked, context(worked()))


def test_a_bad_summary_loses_facts_and_no_obligation():
    asked = fidelity.probes(worked())

    found = fidelity.score(asked, context(summed("I changed src/login.py.")))

    assert (1.0, 0.5) == (found.obligations, found.facts)
    assert ["make test"] == [each.answer for each in found.missing]


def test_an_obligation_that_is_changed_by_a_byte_is_missing():
    asked = fidelity.probes([told("Fix the login. ✓ ", binding=True)])

    assert 0.0 == fidelity.score(asked, "Fix the login. ✓").obligations


def test_nothing_asked_is_nothing_lost():
    assert Score(1.0, 1.0) == fidelity.score((), "")
