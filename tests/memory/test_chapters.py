"""Chapters on a real repository: closed, cut short, restored, and never overwriting."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from gitagent.core.chapter import load
from gitagent.core.layout import OPERATIONS, PROPOSALS
from gitagent.core.remembering import Op, Operation
from gitagent.core.submission import SubmissionState
from gitagent.core.task import TaskState
from gitagent.daemon import chapters, memory, restoring
from gitagent.daemon.restoring import Restored
from gitagent.daemon.target import SettingsInForce
from gitagent.errors import ConfigError, UserError
from gitagent.git import bundle
from gitagent.git.repository import Repository, discover
from gitagent.lander.land import Landed
from gitagent.lander.verify import verify
from gitagent.memory import chapters as kept
from gitagent.memory.shelf import Shelves
from tests.support import ledger
from tests.support.keys import Key
from tests.support.lander import bench
from tests.support.memory import FACTS, Writer, add, withdraw, writing
from tests.support.repos import Repo, settings_text

ME = "person@example.org"
SIX = "Three and three are six."
TAG = "refs/tags/chapter/spring"
FILE = ".agent/memory/chapters/spring.md"


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("template") / "repo"


@pytest.fixture
def writer(template: Path, tmp_path: Path) -> Iterator[Writer]:
    if not template.exists():
        with writing(tmp_path / "bare", template) as filled:
            filled.ask(add("sums"), add("old", SIX, sources=(f"main:{FACTS}:2-2",)))
            filled.ask(withdraw("old"))
    with writing(template, tmp_path / "repo") as made:
        yield made


def close(writer: Writer, name: str = "spring", **more) -> chapters.Closed:
    return chapters.close(writer.bench.repository, name, **more)


def restore(repo: Repo, path: Path) -> Restored:
    return restoring.restore(discover(repo.path), path)


def ask(repo: Repo, *operations: Operation) -> None:
    """Have a person's operations carried out."""
    memory.change(discover(repo.path), operations)


def statuses(repo: Repo) -> dict[str, str]:
    """Return the status of each item on the target."""
    found = discover(repo.path)
    with found.objects() as objects:
        shelf = Shelves(found).at(objects, repo.oid("refs/heads/main"))
        assert () == shelf.refused
        return {slug: str(item.status) for slug, item in shelf.items.items()}


def proof(found: Repository) -> list[str]:
    """Return what `gitagent verify` says."""
    with found.objects() as objects:
        commit = objects.ref("refs/heads/main")
        assert commit is not None
        settings, _, _ = SettingsInForce().at(objects, commit)
        assert settings is not None
        return [each.text for each in verify(found, objects, settings)]


def fork(writer: Writer, tmp_path: Path, *here: Operation) -> Repo:
    """Clone with all records, and carry out operations there."""
    clone = writer.bench.repo.clone(tmp_path / "clone")
    clone.git("fetch", "-q", "origin", "refs/gitagent/*:refs/gitagent/*")
    if here:
        ask(clone, *here)
    else:
        clone.commit({"other": "x"}, "Add task")
    return clone


def test_what_goes_on_is_one_commit_of_one_file(writer: Writer):
    repo = writer.bench.repo
    repo.add_task("later", "true", title="Later")
    repo.commit({".agent/automations/nightly.md": "x\n"}, "Automate")
    before = repo.head()
    made = close(writer, handoff=b"go\r\non\0\xff")
    state = load(repo.raw("cat-file", "blob", f"HEAD:{FILE}"))

    assert ([FILE], before) == (
        repo.git("diff", "--name-only", before, made.commit).splitlines(),
        repo.oid("HEAD~1"),
    )
    assert [("sums", repo.oid("HEAD:.agent/memory/sums.md"))] == [
        (each.slug, each.blob) for each in state.items
    ]
    assert (["later"], ("nightly",)) == ([x.id for x in state.tasks], state.automations)
    assert b"go\r\non\0\xff" == state.handoff
    assert made.commit == json.loads(repo.read("record-v1.json", OPERATIONS))["commit"]
    assert ("Gitagent-Record", "memory") in repo.trailers()
    assert [] == repo.status()


def test_tag_and_bundle_name_that_commit_and_every_record(writer: Writer):
    made, repo = close(writer), writer.bench.repo
    found = bundle.read(made.bundle)

    assert made.commit == repo.oid(f"{TAG}^{{commit}}")
    assert "tag" == repo.git("cat-file", "-t", TAG)
    assert repo.refs() == found.refs
    assert not made.signed


def test_closing_again_is_no_change(writer: Writer):
    first = close(writer, handoff=b"go")
    refs, made = writer.bench.repo.refs(), first.bundle.stat().st_mtime_ns
    again = close(writer, handoff=b"go")

    assert (True, False) == (first.new, again.new)
    assert refs == writer.bench.repo.refs()
    assert made == again.bundle.stat().st_mtime_ns


@pytest.mark.parametrize("step", ["tag", "pack"])
def test_a_call_that_was_cut_short_is_made_whole_by_the_same_call(
    writer: Writer, step: str, monkeypatch: pytest.MonkeyPatch
):
    def cut(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(kept, step, cut)
    with pytest.raises(KeyboardInterrupt):
        close(writer, handoff=b"go")
    monkeypatch.undo()
    half = writer.bench.repo.head()
    made = close(writer, handoff=b"go")

    assert (half, half) == (made.commit, writer.bench.repo.head())
    assert made.new
    assert writer.bench.repo.refs() == bundle.read(made.bundle).refs


def test_a_chapter_after_another_and_one_that_is_left_out(writer: Writer):
    close(writer)
    made = close(writer, "summer")
    found = chapters.closed(writer.bench.repository)
    made.bundle.unlink()

    assert {"spring", "summer"} == {each.name for each, _ in found}
    assert [None] == [
        place
        for each, place in chapters.closed(writer.bench.repository)
        if each.name == "summer"
    ]


def test_names_and_places_that_are_taken_are_refused(writer: Writer, tmp_path: Path):
    repo, there = writer.bench.repo, tmp_path / "there"
    there.write_text("mine")
    repo.git("tag", "chapter/other")
    close(writer, handoff=b"go")
    refused = []
    for name, more in (
        ("other", {}),
        ("spring", {"handoff": b"stay"}),
        ("spring", {"to": there}),
    ):
        with pytest.raises(UserError) as error:
            close(writer, name, **more)
        refused.append(error.value.line())
    with pytest.raises(ConfigError, match="lower case"):
        close(writer, "Bad")
    with pytest.raises(ConfigError, match="bytes"):
        close(writer, "large", handoff=b"x" * (1 << 21))

    assert ["of something else", "another handoff", "is there already"] == [
        next(
            x
            for x in ("of something else", "another handoff", "is there already")
            if x in each
        )
        for each in refused
    ]
    assert "mine" == there.read_text()


def test_what_runs_is_named_and_not_cut_unless_one_says_so(writer: Writer):
    repo = writer.bench.repo
    repo.add_task("busy", "true")
    ledger.task(repo, "busy", TaskState.RUNNING, attempt=1)
    tip = repo.commit({"x": "x"}, branch="work")
    made = ledger.submission(repo, tip)
    ledger.moved(repo, made, SubmissionState.CHECKING)
    before = repo.refs()
    with pytest.raises(UserError) as refused:
        close(writer)

    assert before == repo.refs()
    assert "attempt 1 of busy" in refused.value.line()
    assert f"the checks of {made.id}" in refused.value.line()
    assert close(writer, now=True).new


def test_a_shallow_clone_is_refused(writer: Writer, tmp_path: Path):
    there = tmp_path / "shallow"
    writer.bench.repo.git(
        "clone", "-q", "--depth=1", f"file://{writer.bench.repo.path}", str(there)
    )
    log = "refs/gitagent/memory/operations"
    Repo(there).git("fetch", "-q", "--depth=1", "origin", f"{log}:{log}")

    with pytest.raises(UserError, match="shallow"):
        chapters.close(discover(there), "spring")


def test_the_tag_is_signed_where_there_is_a_key(writer: Writer, tmp_path: Path):
    key, repo = Key.make(tmp_path / "key"), writer.bench.repo
    repo.git("config", "gpg.format", "ssh")
    repo.git("config", "user.signingkey", str(key.path))
    allowed = tmp_path / "allowed"
    allowed.write_text(key.allowed(ME))
    repo.git("config", "gpg.ssh.allowedSignersFile", str(allowed))

    assert close(writer).signed
    assert 0 == repo.ask("verify-tag", "chapter/spring")


def test_an_empty_repository_becomes_the_same_again(writer: Writer, tmp_path: Path):
    repo = writer.bench.repo
    repo.add_task("later", "true", title="Later")
    tip = repo.commit({"x": "x"}, branch="work")
    ledger.moved(
        repo, ledger.submission(repo, tip), SubmissionState.REJECTED, reason="No"
    )
    ledger.task(repo, "later", TaskState.FAILED, reason="So.")
    landed = writer.bench.land(writer.bench.offer({"y": "y"}, branch="y"))
    assert isinstance(landed, Landed)
    writer.bench.settle(landed.submissions[0])
    path = close(writer).bundle
    repo.git("branch", "-q", "-D", "work", "y")
    other = Repo.make(tmp_path / "other")
    made = restore(other, path)
    again = restore(other, path)

    assert repo.refs() == other.refs()
    assert (repo.head(), len(repo.refs())) == (made.made, made.created)
    assert ("", 0, ()) == (again.made, again.created, again.differing)
    assert proof(writer.bench.repository) == proof(discover(other.path))
    assert "1 landing and 1 receipt looked at" in proof(discover(other.path))[-1]
    assert statuses(repo) == statuses(other)
    assert ([], repo.paths()) == (other.status(), other.paths())
    other.fsck()


def test_a_bare_repository_is_restored_too(writer: Writer, tmp_path: Path):
    path = close(writer).bundle
    other = Repo.make(tmp_path / "bare", bare=True)
    restore(other, path)

    assert writer.bench.repo.refs() == other.refs()


def test_a_restore_that_was_cut_short_is_made_whole(
    writer: Writer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path = close(writer).bundle
    other = Repo.make(tmp_path / "other")

    def cut(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(restoring, "_make_target", cut)
    with pytest.raises(KeyboardInterrupt):
        restore(other, path)
    monkeypatch.undo()
    half = set(other.refs())
    restore(other, path)

    assert "refs/heads/main" not in half
    assert writer.bench.repo.refs() == other.refs()


def test_records_that_differ_stay_and_are_named(writer: Writer, tmp_path: Path):
    repo = writer.bench.repo
    ledger.task(repo, "a", TaskState.FAILED)
    path = close(writer).bundle
    other = repo.clone(tmp_path / "other")
    ledger.task(other, "a", TaskState.DONE)
    mine = other.oid("refs/gitagent/tasks/a")
    made = restore(other, path)

    assert [("refs/gitagent/tasks/a", mine, repo.oid("refs/gitagent/tasks/a"))] == [
        *made.differing
    ]
    assert mine == other.oid("refs/gitagent/tasks/a")
    assert repo.oid(OPERATIONS) == other.oid(OPERATIONS)
    assert () == made.ruled


def test_a_target_that_is_behind_is_named_and_moved_by_nobody(
    writer: Writer, tmp_path: Path
):
    repo = writer.bench.repo
    other = repo.clone(tmp_path / "other")
    before = other.head()
    made = restore(other, close(writer).bundle)

    assert (("refs/heads/main", before, repo.head()),) == made.differing
    assert before == other.head()
    assert repo.oid(OPERATIONS) == other.oid(OPERATIONS)


def test_items_join_a_memory_that_went_on_by_itself(writer: Writer, tmp_path: Path):
    clone = fork(writer, tmp_path, add("mine", SIX, sources=(f"main:{FACTS}:2-2",)))
    writer.ask(add("more", "Water is wet.", sources=(f"main~2:{FACTS}:3-3",)))
    path = close(writer).bundle
    made = restore(clone, path)
    again = restore(clone, path)

    assert [("more", True)] == [(x.slug, x.admitted) for x in made.ruled]
    assert {
        "sums": "active",
        "old": "withdrawn",
        "mine": "active",
        "more": "active",
    } == (statuses(clone))
    assert () == again.ruled
    assert proof(writer.bench.repository) == proof(discover(clone.path))


def test_one_name_with_two_contents_is_a_dispute_and_both_are_kept(
    writer: Writer, tmp_path: Path
):
    third = (f"main~2:{FACTS}:3-3",)
    clone = fork(writer, tmp_path, add("wet", "Water is wet.", sources=third))
    writer.ask(add("wet", "Water is wet, always.", sources=third))
    path = close(writer).bundle
    restore(clone, path)
    again = restore(clone, path)

    assert ("disputed", "disputed") == (
        statuses(clone)["wet"],
        statuses(clone)["wet-2"],
    )
    assert () == again.ruled


def test_too_many_together_and_nothing_is_done(writer: Writer, tmp_path: Path):
    limit = settings_text("true", "[memory]\nlimit = 2")
    clone = fork(writer, tmp_path, add("mine", SIX, sources=(f"main:{FACTS}:2-2",)))
    clone.commit({".agent/config.toml": limit}, "Limit")
    writer.ask(add("more", "Water is wet.", sources=(f"main~2:{FACTS}:3-3",)))
    path = close(writer).bundle
    before = clone.refs()

    with pytest.raises(
        UserError,
        match="1 would be added, which makes 3, and 2 are",
    ):
        restore(clone, path)
    assert before == clone.refs()


def test_what_was_withdrawn_here_stays_so_and_only_there_is_a_proposal(
    writer: Writer, tmp_path: Path
):
    third = (f"main:{FACTS}:3-3",)
    writer.ask(add("wet", "Water is wet.", sources=third))
    clone = fork(writer, tmp_path, withdraw("sums"))
    writer.ask(withdraw("wet"))
    path = close(writer).bundle
    made = restore(clone, path)
    again = restore(clone, path)
    (proposed,) = made.proposed

    assert (("sums",), ("sums",)) == (made.withdrawn, again.withdrawn)
    assert {"sums": "withdrawn", "old": "withdrawn", "wet": "active"} == statuses(clone)
    assert (Op.WITHDRAW, "wet") == (proposed.operation.op, proposed.operation.slug)
    assert (writer.bench.repo.oid("main:.agent/memory/wet.md"),) == proposed.evidence
    assert ((), 1) == (again.proposed, len(clone.refs(PROPOSALS)))


def test_a_file_that_was_taken_away_by_hand_is_withdrawn_all_the_same(
    writer: Writer, tmp_path: Path
):
    clone = fork(writer, tmp_path, withdraw("sums"))
    clone.git("rm", "-q", ".agent/memory/sums.md")
    clone.git("commit", "-q", "-m", "Tidy")
    made = restore(clone, close(writer).bundle)

    assert ("sums",) == made.withdrawn
    assert "sums" not in statuses(clone)


def test_a_bundle_of_another_repository_is_refused(writer: Writer, tmp_path: Path):
    path = close(writer).bundle
    with bench(tmp_path / "stranger", {"else": "x"}) as other:
        other.repo.git("update-ref", "-d", "refs/heads/none")
        before = other.repo.refs()
        with pytest.raises(UserError, match="of another repository"):
            restore(other.repo, path)
        assert before == other.repo.refs()
    plain = Repo.make(tmp_path / "plain", {"a": "a"})
    with pytest.raises(UserError, match="has no settings"):
        restore(plain, path)


def test_a_bundle_of_something_else_and_a_damaged_one_are_refused(
    writer: Writer, tmp_path: Path
):
    plain, other = tmp_path / "plain.bundle", Repo.make(tmp_path / "other")
    writer.bench.repo.git("bundle", "create", "-q", str(plain), "main")
    path = close(writer).bundle
    path.write_bytes(path.read_bytes()[:-25])
    for each, reason in ((plain, "no bundle of a chapter"), (path, "is damaged")):
        with pytest.raises(UserError, match=reason):
            restore(other, each)

    assert {} == other.refs()


def test_records_of_a_newer_release_are_refused_before_any_ref_is_made(
    writer: Writer, tmp_path: Path
):
    repo, other = writer.bench.repo, Repo.make(tmp_path / "other")
    tree = repo.git(
        "mktree",
        stdin=f"100644 blob {repo.oid(f'HEAD:{FACTS}')}\trecord-v9.json\n".encode(),
    )
    commit = repo.git("commit-tree", tree, "-m", "x\n\nGitagent-Release: 9.1.0")
    repo.git("update-ref", "refs/gitagent/tasks/new", commit)

    with pytest.raises(UserError, match="written by gitagent 9"):
        restore(other, close(writer).bundle)
    assert {} == other.refs()


def test_where_decisions_are_signed_the_chapter_has_to_be(
    writer: Writer, tmp_path: Path
):
    key, repo = Key.make(tmp_path / "key"), writer.bench.repo
    trust = settings_text("true", '[trust]\nallowed_signers = "signers"')
    plain = close(writer).bundle
    repo.commit({"signers": key.allowed(ME), ".agent/config.toml": trust}, "Trust")
    clone = fork(writer, tmp_path)
    before = repo.refs()
    with pytest.raises(UserError, match="chapters have to be signed here"):
        close(writer, "summer")
    other = Key.make(tmp_path / "other")
    with pytest.raises(UserError, match="nobody would believe this chapter: no key"):
        close(writer, "summer", key=other.path)
    assert before == repo.refs()
    signed = close(writer, "summer", key=key.path).bundle

    with pytest.raises(UserError, match="not to be believed here: it is not signed"):
        restore(clone, plain)
    assert "summer" == restore(clone, signed).name
