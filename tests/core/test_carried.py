"""What of the candidates stays true when the target moves on."""

from gitagent.core.candidate import Candidate, carried

OLD, NEW = "old", "new"


def test_a_candidate_goes_on_without_the_tips_that_have_landed():
    kept = Candidate(OLD, ("a", "b"), product="p")
    known = [Candidate(OLD, ("a",), product="q"), kept, Candidate("x", (), product="r")]

    found = carried(known, OLD, ("a",), NEW)

    assert {(NEW, ()), (NEW, ("b",))} == set(found)
    assert "p" == found[NEW, ("b",)].product


def test_what_could_not_be_merged_is_tried_again():
    known = [
        Candidate(OLD, ("a",), product="q"),
        Candidate(OLD, ("a", "b"), conflicts=("f",)),
        Candidate(OLD, ("a", "c"), fault="It cannot be landed."),
        Candidate(OLD, ("a", "d"), contained=True),
    ]

    assert {(NEW, ())} == set(carried(known, OLD, ("a",), NEW))
