"""Support, told by words: numbers, names, denials, and how much of a line is said."""

import pytest

from gitagent.core.support import SHARE, against, support

CODE = """\
parcel/retry.py
ATTEMPTS = 5
CEILING = 30.0  # seconds
stale_while_revalidate = false
def call(send, request):
    \"\"\"Send a request, with exponential backoff and full jitter.\"\"\"
    raise CarrierDown(request.url)"""

PROSE = """\
docs/operations.md
A deploy during the Monday peak (08:00 to 10:00 UTC) is refused unless `--force` is
given. More than 10,000 waiting mails page the person on call. Restarting the mailer
does not help. Backups are kept for 35 days, since 2025-11-03."""


def problem(line: str, quote: str = PROSE, body: str = "") -> str:
    return support(line, body, [quote]).problem


@pytest.mark.parametrize(
    "line",
    [
        "CEILING is 30 seconds",
        "A request that fails for good raises CarrierDown",
        "`call` sends with exponential backoff",
        "retry.call sends a request with full jitter",
        "parcel/retry.py sends requests with backoff",
    ],
)
def test_what_code_says_is_supported_in_other_words(line: str):
    assert "" == problem(line, CODE)


@pytest.mark.parametrize(
    "line",
    [
        "Deploys in the Monday peak from 8:00 to 10:00 UTC are refused without --force",
        "Over 10000 mails that wait page the person on call",
        "Backups are kept 35 days",
        "It doesn't help to restart the mailer",
        "Don't restart the mailer, it does not help",
    ],
)
def test_what_prose_says_is_supported_in_other_words(line: str):
    assert "" == problem(line)


@pytest.mark.parametrize(
    ("line", "quote", "missing"),
    [
        ("ATTEMPTS is 7", CODE, '"7"'),
        ("ATTEMPTS is seven", CODE, '"7"'),
        ("CEILING is 3 seconds", CODE, '"3"'),
        ("CEILING is 30.5 seconds", CODE, '"30.5"'),
        ("Backups are kept for 3 days", PROSE, '"3"'),
        ("Backups are kept for 35 days since 2025-11-04", PROSE, '"2025-11-04"'),
        ("Backups are kept for 35GiB and 4d", PROSE, '"4"'),
        ("A failing request raises CarrierGone", CODE, '"CarrierGone"'),
        ("`recall` sends a request with backoff", CODE, '"recall"'),
        ("MAX_ATTEMPTS is 5", CODE, '"MAX_ATTEMPTS"'),
        ("parcel/again.py sends requests with backoff", CODE, '"parcel/again.py"'),
        ("again.call sends a request with backoff", CODE, '"again.call"'),
        ("A deploy in the peak is refused unless --yes is given", PROSE, '"--yes"'),
    ],
)
def test_a_number_or_a_name_has_to_stand_there(line: str, quote: str, missing: str):
    assert f"no line that it cites has {missing}" == problem(line, quote)


@pytest.mark.parametrize(
    ("line", "quote"),
    [
        (
            "Do not poll the depot twice",
            "POLL = 900  # the depot blocks who polls twice",
        ),
        ("A code not in KINDS is other", 'kind = KINDS.get(code, "other")'),
        ("The gate sends no scanner events", "The scanner of the gate sends no events"),
        ("The digest job is off", 'digest = ""  # the job is off'),
        ("The digest job is off", "digest = off  # job"),
        ("Bodies have up to 512 KiB", "body_kib = 512"),
        ("A token has one body", "each token has a body"),
        ("Row locks are not used", "versions instead of row locks"),
    ],
)
def test_what_is_said_the_other_way_round_is_no_contradiction(line: str, quote: str):
    assert "" == problem(line, quote)


def test_numbers_and_names_of_the_body_have_to_stand_there_too():
    body = "- ATTEMPTS was raised.\n1. CEILING stays.\n\nRejected: 9 attempts, `never`."
    found = support("ATTEMPTS is 5", body, [CODE])

    assert ("9", "never") == found.exact


@pytest.mark.parametrize(
    ("line", "quote", "word"),
    [
        ("Restarting the mailer helps", PROSE, "helps"),
        ("A deploy in the Monday peak is not refused", PROSE, "refused"),
        ("stale_while_revalidate is true", CODE, "revalidate"),
        ("Waiting mails never page the person on call", PROSE, "page"),
    ],
)
def test_what_one_side_denies_the_other_may_not_claim(line: str, quote: str, word: str):
    said = f'it and the lines that it cites disagree on whether "{word}" is so'

    assert said == problem(line, quote)


def test_a_line_about_something_else_is_not_supported():
    found = problem("Tokens of people are stored as hashes")

    assert found.startswith("the lines that it cites have 0% of what its line says")
    assert f"{SHARE:.0%} are needed" in found


def test_a_part_of_a_line_about_something_else_is_not_supported():
    line = "Backups are kept for 35 days since 2025-11-03, and keys lie in a vault"

    assert 'no line that it cites speaks of "keys lie in a vault"' == problem(line)


def test_a_body_about_something_else_is_not_supported():
    body = "Encryption was weighed; customers preferred plain archives on tapes."

    assert problem("Backups are kept for 35 days", body=body).endswith(
        "of what its body says, and 25% are needed"
    )


def test_a_line_of_empty_words_says_nothing_that_could_be_supported():
    assert 0.0 == support("It is so because it is", "", [PROSE]).share


def test_two_quotes_together_support_a_line():
    line = "ATTEMPTS is 5, and backups are kept for 35 days"

    assert "" != problem(line, CODE)
    assert "" == support(line, "", [CODE, PROSE]).problem


def test_what_words_cannot_tell_passes():
    """What the rule is blind to: which of two things a word is said of."""
    assert "" == problem("The person on call refuses a deploy during the Monday peak")


@pytest.mark.parametrize(
    "reason",
    [
        "CEILING is 30 seconds, and no longer 10",
        "It raises CarrierDown before the ceiling",
    ],
)
def test_a_reason_against_an_item_is_borne_out_by_what_others_say(reason: str):
    assert "" == against(reason, ["CEILING is 10 seconds"], [CODE])


@pytest.mark.parametrize(
    ("reason", "why"),
    [
        ("CEILING is 10 seconds", "it says nothing that the item does not say"),
        ("CEILING 10 seconds was lifted by a council", "0% of what"),
    ],
)
def test_a_reason_against_an_item_does_not_rest_on_the_item(reason: str, why: str):
    assert why in against(reason, ["CEILING is 10 seconds"], [CODE])
