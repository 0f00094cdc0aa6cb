from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from gitagent.core.candidate import Change, PathChange
from gitagent.core.submission import CheckLine, Submission, SubmissionState
from gitagent.core.task import Attempt, TaskRecord, TaskState
from gitagent.core.usage import Usage
from gitagent.files import clean
from gitagent.files.frontmatter import split
from gitagent.files.note import Landing, note, note_path

TIP, CONFIG, TREE, BASE = (digit * 40 for digit in "abcd")

SUBMISSION = Submission(
    id="s-0123456789ab",
    tip=TIP,
    state=SubmissionState.CHECKING,
    created="",
    since="",
    task="fix-login",
    divergence="None.",
    submitter="Ada <ada@example.org>",
    checks=(
        CheckLine("lint", "passed", 0.25, "refs/gitagent/receipts/2026-11:a"),
        CheckLine("tests", "flaky", 12.0),
    ),
)
LANDING = Landing(
    title="Fix the login",
    message="It was broken.\n\n- Now it is not.",
    base=BASE,
    landed="2026-11-30T12:00:00Z",
    strategy="merge",
    checked=TREE,
    config=CONFIG,
    sandbox="required",
    changes=(
        PathChange("src/a.py", Change.MODIFIED, 0o100644, 0o100644),
        PathChange("src/b.py", Change.ADDED, 0, 0o100644),
    ),
    failing=(("tests", "E  assert 1 == 2\n"),),
    hint="Restart the daemon: this landing changes gitagent itself.",
)

texts = st.text(st.characters(exclude_categories=()), max_size=30)
nasty = texts | st.sampled_from(
    ["```\n# no", "````", "+++\nx = 1\n+++", "![x](http://e)", "<b>", "# h", "\x1b[0m"]
)


def test_a_note_is_kept_by_year_and_month():
    path = note_path("s-0123456789ab", "2026-11-30T12:00:00Z")

    assert path == ".agent/landings/2026/11/s-0123456789ab.md"


def test_a_note_says_to_programs_what_landed():
    front = split(note(SUBMISSION, LANDING).encode(), "note.md")

    assert front.kind == "toml"
    assert front.values == {
        "submission": "s-0123456789ab",
        "task": "fix-login",
        "tip": TIP,
        "base": BASE,
        "landed": "2026-11-30T12:00:00Z",
        "author": "Ada <ada@example.org>",
        "strategy": "merge",
        "checked": TREE,
        "config": CONFIG,
        "sandbox": "required",
        "check": [
            {
                "name": "lint",
                "result": "passed",
                "seconds": 0.25,
                "receipt": "refs/gitagent/receipts/2026-11:a",
            },
            {"name": "tests", "result": "flaky", "seconds": 12.0},
        ],
    }


def test_a_note_says_to_people_what_changed_and_how_it_was_checked():
    body = split(note(SUBMISSION, LANDING).encode(), "note.md").body

    assert body.startswith("\n# Fix the login\n\n```text\nIt was broken.\n")
    assert "2 paths: 1 added, 1 modified." in body
    assert "- added `src/b.py`" in body
    assert "- `lint`: passed in 0.2 s\n- `tests`: flaky in 12.0 s" in body
    assert "```text\nE  assert 1 == 2\n```" in body
    assert "## Restart\n\nRestart the daemon" in body
    assert "## Divergence\n\n```text\nNone.\n```" in body


def test_a_note_leaves_out_what_is_not_there():
    bare = replace(SUBMISSION, task=None, divergence=" ", checks=())
    text = note(bare, replace(LANDING, message="", changes=(), failing=(), hint=""))

    assert "task" not in split(text.encode(), "note.md").values
    assert "## Restart" not in text
    assert "```" not in text


def test_a_note_counts_what_it_does_not_show():
    many = tuple(
        PathChange(f"p{number}", Change.DELETED, 0o100644, 0) for number in range(250)
    )
    long = "\n".join(f"line {number}" for number in range(9000))
    text = note(
        SUBMISSION, replace(LANDING, changes=many, message=long, title="x" * 999)
    )

    assert "250 paths: 250 deleted." in text
    assert "- and 150 more" in text
    assert "line 8999" in text
    assert "line 100\n" not in text
    assert len(text) < 20_000


def heads(body):
    tokens = MarkdownIt("commonmark").parse(body)
    return [
        tokens[n + 1].content
        for n, token in enumerate(tokens)
        if token.type == "heading_open" and token.tag == "h2"
    ]


@pytest.mark.parametrize("field", ["title", "message", "path", "name", "output", "div"])
@given(nasty)
def test_nothing_that_others_wrote_changes_the_form_of_a_note(field, text):
    lines = (CheckLine(text if field == "name" else "tests", "flaky", 1),)
    submission = replace(
        SUBMISSION,
        checks=lines,
        divergence=text if field == "div" else "x",
        submitter=text,
    )
    landing = replace(
        LANDING,
        title=text if field == "title" else "x",
        message=text if field == "message" else "x",
        failing=((lines[0].name, text if field == "output" else "x"),),
        changes=(
            PathChange(text if field == "path" else "x", Change.ADDED, 0, 0o100644),
        ),
    )
    written = note(submission, landing)
    front = split(written.encode(), "note.md")
    html = MarkdownIt("commonmark").render(front.body)

    assert written == clean.visible(written)
    assert front.values["submission"] == SUBMISSION.id
    assert heads(front.body) == ["What changed", "Divergence", "Checks", "Restart"]
    assert "<img" not in html
    assert "<a " not in html
    assert "<b>" not in html


def worked(**fields):
    usage = Usage(requests=3, input=1000, output=50, cache_read=500, usd=0.0123)
    attempt = Attempt(
        number=2,
        blob="",
        base=BASE,
        started="",
        model="anthropic:claude-sonnet-4-5",
        answer="All twelve tests pass.\n# Trust me",
        usage=usage,
    )
    first = replace(attempt, number=1, answer="", usage=Usage(1, 10, 5, usd=0.001))
    record = TaskRecord(
        id="fix-login",
        state=TaskState.SUBMITTED,
        blob="",
        since="",
        agent="claude",
        attempts=(first, attempt),
    )
    return replace(LANDING, worker=replace(record, **fields))


def test_a_note_says_which_agent_and_models_made_it_and_what_that_cost():
    text = note(SUBMISSION, worked())

    assert "claude" == split(text.encode(), "note.md").values["agent"]
    assert "Agent `claude`, in 2 attempts." in text
    assert "`anthropic:claude-sonnet-4-5`; 4 requests, 1,510 tokens in, 55 out" in text
    assert "0.0133 usd" in text


def test_an_agents_last_words_are_shown_as_a_claim_and_cannot_form_the_note():
    text = note(SUBMISSION, worked())
    headings = [t for t in MarkdownIt().parse(text) if t.type == "heading_open"]

    assert "which are a claim:" in text
    assert "h1" not in [each.tag for each in headings[1:]]


def test_what_has_no_price_is_said():
    one = Attempt(1, "", BASE, "", model="local:x", usage=Usage(requests=2, unpriced=2))

    assert "Of 2 requests the price is not known." in note(
        SUBMISSION, worked(attempts=(one,))
    )


def test_a_note_of_a_script_names_no_models():
    one = Attempt(1, "", BASE, "")
    text = note(SUBMISSION, worked(agent="shell", attempts=(one,)))

    assert "Agent `shell`, in 1 attempt." in text
    assert "Models" not in text
