"""gitagent memory: add, withdraw, list, show, dispute, decide."""

import json

import pytest

from tests.support.cli import call

FACTS = "Migrate the database first.\nRestart the workers.\nTell everybody.\n"
LINE = "Migrate the database first."
SOURCE = "main:deploy: notes.md:1-1"
ITEM = ".agent/memory/deploy-order.md"


@pytest.fixture(autouse=True)
def _set_up(repo):
    repo.commit({"deploy: notes.md": FACTS})
    call(repo, "init", "--no-check")


def add(repo, slug="deploy-order", line=LINE, source=SOURCE, *more, stdin=""):
    kind = ("--kind", "lesson")
    asked = ("memory", "add", slug, "--line", line, "--source", source)
    return call(repo, *asked, *(() if "--kind" in more else kind), *more, stdin=stdin)


def test_adding_commits_the_item_and_leaves_the_checkout_as_it_is(repo):
    repo.write("README.md", "edited\n")
    before = repo.status()
    answer = add(repo)
    commit = repo.head()[:12]

    assert (0, f"deploy-order is added with {commit}\n") == (answer.code, answer.out)
    assert before == repo.status()
    assert f'quote = "{LINE}"\n' in repo.read(ITEM)
    assert f'commit = "{repo.oid("main~1")}"\n' in repo.read(ITEM)


@pytest.mark.parametrize(
    ("slug", "line", "source", "said"),
    [
        ("Ünter", LINE, SOURCE, 'its name cannot be "Ünter": an id is lower case'),
        ("a", "x" * 171, SOURCE, "its line has 171 characters, and 160 are the most"),
        ("a", LINE, "main:gone.md:1-1", "does not resolve"),
        ("a", LINE, "main:deploy: notes.md:7-9", "does not resolve"),
        ("a", LINE, "README.md", "a source is COMMIT:PATH:FIRST-LAST"),
    ],
)
def test_what_is_refused_exits_with_1_and_the_reason(repo, slug, line, source, said):
    before = repo.head()
    answer = add(repo, slug, line, source)

    assert (1, "") == (answer.code, answer.out)
    assert said in answer.err
    assert before == repo.head()


def test_a_path_cannot_fake_a_line_of_what_is_shown(repo):
    path = "notes\nstatus  withdrawn\x1b[2J.md"
    repo.commit({path: FACTS})
    add(repo, source=f"main:{path}:1-1")
    told = call(repo, "memory", "show", "deploy-order", "--evidence").out
    brief = call(repo, "memory", "brief", "--explain").out

    for shown in (told, brief):
        assert r"notes\nstatus  withdrawn\x1b[2J.md:1-1" in shown


def test_a_body_is_kept_to_the_letter_or_refused_and_a_decision_needs_one(repo):
    decision = ("--kind", "decision", "--body-file", "-")
    body = "  Because:\n\n+++\n- it was so\n+++"
    none = add(repo, "a", LINE, SOURCE, "--kind", "decision")
    long = add(repo, "b", LINE, SOURCE, *decision, stdin="x" * 4001)
    kept = add(repo, "c", LINE, SOURCE, *decision, stdin=f"{body}\n")
    told = json.loads(call(repo, "memory", "show", "c", "--json").out)

    assert [1, 1, 0] == [none.code, long.code, kept.code]
    assert "its body has to give the reasons" in none.err
    assert "its body has 4,001 characters, and 4,000 are the most" in long.err
    assert body == told["body"]


def test_a_command_that_verifies_runs_in_the_sandbox_on_the_target(repo):
    good = add(
        repo, "a", LINE, SOURCE, "--verify", "grep -q Migrate 'deploy: notes.md'"
    )
    bad = add(
        repo, "b", "Tell everybody.", "main:deploy: notes.md:3-3", "--verify", "false"
    )

    assert [0, 1] == [good.code, bad.code]
    assert "its command does not pass: `false` ends with 1" in bad.err


def test_withdrawing_leaves_a_tombstone_and_needs_a_reason(repo):
    add(repo)
    silent = call(repo, "memory", "withdraw", "deploy-order")
    answer = call(repo, "memory", "withdraw", "deploy-order", "--because", "Not so.")
    unknown = call(repo, "memory", "withdraw", "deploy-odrer", "--because", "x")

    assert [2, 0, 1] == [silent.code, answer.code, unknown.code]
    assert 'status = "withdrawn"\nbecause = "Not so."\n' in repo.read(ITEM)
    assert "did you mean deploy-order?" in unknown.err


def test_the_list_has_what_counts_and_files_that_are_none(repo):
    add(repo)
    repo.commit({".agent/memory/mine.md": "# Mine\n"})
    answer = call(repo, "memory", "list")
    call(repo, "memory", "withdraw", "deploy-order", "--because", "Not so.")
    told = json.loads(call(repo, "memory", "list", "--json").out)
    everything = json.loads(call(repo, "memory", "list", "--all", "--json").out)

    assert "active  deploy-order  lesson" in answer.out
    assert "mine.md: a commit put it there past `gitagent memory`" in answer.out
    assert (0, [], 150) == (told["count"], told["items"], told["limit"])
    assert ["withdrawn"] == [item["status"] for item in everything["items"]]
    assert [".agent/memory/mine.md"] == [each["path"] for each in told["refused"]]


def test_the_evidence_is_what_git_has_and_says_where_it_is_by_now(repo):
    add(repo)
    there = call(repo, "memory", "show", "deploy-order", "--evidence")
    repo.commit({"deploy: notes.md": f"New first line.\n{FACTS}"})
    moved = call(repo, "memory", "show", "deploy-order", "--evidence")
    repo.commit({"deploy: notes.md": "Do as you like.\n"})
    gone = call(repo, "memory", "show", "deploy-order", "--evidence")

    assert f"{LINE}\n\nslug     deploy-order\n" in there.out
    assert f"\n  | {LINE}\n" in there.out
    assert "The target" not in there.out
    assert "The target has it in lines 2-2." in moved.out
    assert "The target does not say so any more." in gone.out
    assert f"\n  | {LINE}\n" in gone.out
    assert "evidence changed at" in gone.out


def test_a_dispute_lasts_until_somebody_decides(repo):
    add(repo, "first")
    add(repo, "last", "Tell everybody.", "main:deploy: notes.md:3-3")
    because = ("--because", "One of them.")
    early = call(repo, "memory", "decide", "first", "last", *because)
    dispute = call(repo, "memory", "dispute", "first", "last", *because)
    decide = call(repo, "memory", "decide", "last", "first", *because)
    told = json.loads(call(repo, "memory", "list", "--all", "--json").out)["items"]

    assert [1, 0, 0] == [early.code, dispute.code, decide.code]
    assert "first and last are disputed with" in dispute.out
    assert "last stays, and first is withdrawn," in decide.out
    assert {"first": "withdrawn", "last": "active"} == {
        item["slug"]: item["status"] for item in told
    }


def test_what_says_otherwise_under_one_name_is_kept_beside_it(repo):
    add(repo)
    answer = add(
        repo, "deploy-order", "Restart the workers.", "main:deploy: notes.md:2-2"
    )

    assert 0 == answer.code
    assert "deploy-order-2 is added with" in answer.out
    assert "both are disputed until somebody decides" in answer.err


def test_the_limit_counts_for_people_too(repo):
    settings = repo.read(".agent/config.toml").replace("limit = 150", "limit = 1", 1)
    repo.commit({".agent/config.toml": settings})
    add(repo)
    answer = add(repo, "b", "Tell everybody.", "main:deploy: notes.md:3-3")

    assert 1 == answer.code
    assert "with it 2 items would count, and 1 are the most" in answer.err


def test_an_unknown_item_is_told_with_the_nearest_and_an_odd_one_with_its_mend(repo):
    add(repo)
    repo.commit({".agent/memory/mine.md": "# Mine\n"})
    near = call(repo, "memory", "show", "deploy-ordr")
    odd = call(repo, "memory", "show", "mine")

    assert [1, 1] == [near.code, odd.code]
    assert "did you mean deploy-order?" in near.err
    assert "`gitagent memory withdraw mine` takes it away" in odd.err


def test_a_bare_repository_is_as_good(repo, tmp_path):
    bare = repo.clone(tmp_path / "bare.git", bare=True)
    added = add(bare)
    withdrawn = call(bare, "memory", "withdraw", "deploy-order", "--because", "Not so.")
    told = json.loads(call(bare, "memory", "list", "--all", "--json").out)

    assert [0, 0] == [added.code, withdrawn.code]
    assert ["withdrawn"] == [item["status"] for item in told["items"]]
