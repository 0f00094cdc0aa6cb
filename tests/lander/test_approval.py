"""lander.approval: what a person approved, and every way in which it does not count."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from gitagent.core.approval import Approval, missing
from gitagent.core.settings import Settings, Trust
from gitagent.core.submission import Submission
from gitagent.errors import LostRace, UserError
from gitagent.files import record
from gitagent.files.message import record_message
from gitagent.git import trust
from gitagent.git.objects import BLOB, Entry, Objects
from gitagent.git.records import history
from gitagent.git.repository import Repository, discover
from gitagent.git.signing import signer
from gitagent.git.text import Person
from gitagent.host import clock
from gitagent.lander import approval, submit
from gitagent.lander.needs import needs
from tests.support.keys import REVOKED, Key
from tests.support.repos import Content, Repo, settings_text

SIGNERS = "team/signers"
BOSS = Person("The Boss", "boss@example.org", 1_764_500_000)
WORKER = Person("A Worker", "worker@example.org", 1_764_500_000)
CONFIG = ".agent/config.toml"
SETTINGS = Settings()
SIGNED = Settings(trust=Trust(allowed_signers=SIGNERS))


@dataclass(frozen=True, slots=True)
class Bench:
    """A repository with settings on its target."""

    repo: Repo
    repository: Repository
    objects: Objects

    @property
    def target(self) -> str:
        """The target's commit."""
        return self.repo.oid("refs/heads/main")

    def offer(self, files: Mapping[str, Content], branch: str = "work") -> str:
        """Commit ``files`` on a branch that starts at the target; return the tip."""
        ref = f"refs/heads/{branch}"
        return self.repo.commit_at(ref, files, parents=(self.target,))

    def submit(self, tip: str, **fields: str) -> Submission:
        """Store a submission of ``tip``."""
        made = replace(submit.new(self.objects, tip), **fields)  # type: ignore[arg-type]
        return submit.create(self.repository, self.objects, made)


@contextmanager
def bench(path: Path, files: Mapping[str, Content] | None = None) -> Iterator[Bench]:
    """Make a repository with settings and ``files``."""
    repo = Repo.make(path, {CONFIG: settings_text("true"), **(files or {})})
    repository = discover(path)
    with repository.objects() as objects:
        yield Bench(repo, repository, objects)


@dataclass(frozen=True, slots=True)
class Case:
    """A submission that changes the settings, and the two keys."""

    bench: Bench
    boss: Key
    worker: Key
    submission: Submission

    def made(self, submission: Submission | None = None, **fields: str) -> Approval:
        """Return an approval of what a submission needs now."""
        submission = submission or self.submission
        found = needs(
            self.bench.repository,
            self.bench.objects,
            submission,
            self.bench.target,
            SETTINGS,
        )
        plain = Approval(
            submission.id,
            submission.tip,
            tuple(need.content for need in found.needed),
            by="",
            when=clock.stamp(),
        )
        return replace(plain, **fields)

    def write(
        self,
        made: Approval,
        who: Person = BOSS,
        key: Key | None = None,
        settings: Settings = SETTINGS,
    ) -> Approval:
        """Store an approval as the command does."""
        return approval.write(
            self.bench.repository,
            self.bench.objects,
            made,
            who,
            settings,
            self.bench.target,
            signer(key.path) if key else None,
        )

    def forge(
        self,
        made: Approval,
        who: Person,
        key: Key | None = None,
        *,
        kind: str = "approval",
        beside: tuple[str, ...] = (),
    ) -> str:
        """Put an approval under its ref without the command."""
        objects = self.bench.objects
        blob = objects.write_blob(record.dump_approval(made))
        names = (record.NAME, *beside)
        tree = objects.write_tree([Entry(name, BLOB, blob) for name in names])
        sign = signer(key.path) if key else None
        message = record_message("Approved", kind)
        oid = objects.write_commit(tree, (), message, who, who, sign)
        self.bench.repo.git("update-ref", approval.ref_of(made.submission), oid)
        return oid

    def read(self, settings: Settings = SETTINGS) -> tuple[list[str], str]:
        """Return the submissions whose approval counts, and why others do not."""
        objects, target = self.bench.objects, self.bench.target
        refs = objects.refs()
        asked = (self.bench.repository, objects, refs, settings, target)
        why = approval.problems(*asked)
        return sorted(approval.read_all(*asked)), " ".join(why.values())


@pytest.fixture
def case(tmp_path):
    boss = Key.make(tmp_path / "keys" / "boss")
    worker = Key.make(tmp_path / "keys" / "worker")
    signers = boss.allowed(BOSS.email) + worker.allowed(WORKER.email)
    with bench(tmp_path / "r", {SIGNERS: signers}) as made:
        tip = made.offer({CONFIG: settings_text("make test"), "a": "a"})
        yield Case(made, boss, worker, made.submit(tip))


def test_an_approval_names_the_paths_and_its_commit_is_the_approvers(case):
    made = case.write(case.made(why="the new check\nis better"))
    read = case.bench.repo.git("log", "-1", "--format=%an <%ae>%n%B", made.oid)
    chain = list(history(case.bench.objects, made.oid))

    assert [CONFIG] == [content.path for content in made.paths]
    assert "The Boss <boss@example.org>" == made.by == read.splitlines()[0]
    assert "is better" in read
    assert "Gitagent-Record: approval" in read
    assert 1 == len(chain)
    assert ([case.submission.id], "") == case.read()
    case.bench.repo.fsck()


def test_without_signers_an_unsigned_approval_counts_and_with_them_it_does_not(case):
    case.write(case.made())

    assert [case.submission.id] == case.read()[0]
    assert [] == case.read(SIGNED)[0]
    assert "not signed" in case.read(SIGNED)[1]


def test_a_signed_approval_counts_and_git_verifies_it(case, tmp_path):
    made = case.write(case.made(), key=case.boss, settings=SIGNED)
    allowed = tmp_path / "allowed"
    allowed.write_text(case.boss.allowed(BOSS.email))
    setting = f"gpg.ssh.allowedSignersFile={allowed}"

    assert ([case.submission.id], "") == case.read(SIGNED)
    assert 0 == case.bench.repo.ask("-c", setting, "verify-commit", made.oid)


def test_an_approval_that_nobody_would_believe_is_not_stored(case, tmp_path):
    stranger = Key.make(tmp_path / "keys" / "stranger")

    for key in (None, stranger, case.worker):
        with pytest.raises(UserError, match="nobody would believe"):
            case.write(case.made(), key=key, settings=SIGNED)

    assert {} == case.bench.repo.refs("refs/gitagent/approvals/")


def test_a_forged_name_is_refused(case):
    made = case.made(by=BOSS.ident)
    case.forge(made, BOSS, case.worker)
    by_key = case.read(SIGNED)
    case.forge(made, WORKER, case.worker)
    by_text = case.read(SIGNED)

    assert ([], []) == (by_key[0], by_text[0])
    assert "no key that may sign for boss@example.org" in by_key[1]
    assert "the commit is by A Worker" in by_text[1]


def test_what_somebody_signed_for_another_reason_is_no_approval(case):
    """A branch can hold a file of that name, and its next commit be signed."""
    made = case.made(by=BOSS.ident)
    case.forge(made, BOSS, case.boss, beside=("README.md",))
    of_a_branch = case.read(SIGNED)
    case.forge(made, BOSS, case.boss, kind="submission")
    of_a_record = case.read(SIGNED)
    case.forge(made, BOSS, case.boss)

    assert ([], []) == (of_a_branch[0], of_a_record[0])
    assert "something else" in of_a_branch[1]
    assert [case.submission.id] == case.read(SIGNED)[0]


def test_a_key_that_is_not_in_the_file_is_refused(case, tmp_path):
    case.forge(case.made(by=BOSS.ident), BOSS, Key.make(tmp_path / "keys" / "other"))

    assert [] == case.read(SIGNED)[0]


def test_a_revoked_key_is_refused_from_then_on(case):
    case.write(case.made(), key=case.boss, settings=SIGNED)
    before = case.read(SIGNED)[0]
    lines = case.boss.allowed(BOSS.email, REVOKED)
    case.bench.repo.commit_at("refs/heads/main", {SIGNERS: lines}, "Revoke")
    revoked = case.read(SIGNED)
    case.bench.repo.commit_at("refs/heads/main", {SIGNERS: "# nobody\n"}, "Remove")
    removed = case.read(SIGNED)

    assert [case.submission.id] == before
    assert ([], []) == (revoked[0], removed[0])
    assert "not valid now" in revoked[1]


def test_the_signers_are_those_of_the_target_and_of_no_link(case):
    case.write(case.made(), key=case.boss, settings=SIGNED)
    files = {SIGNERS: None, f"{SIGNERS}@": "../README.md"}
    case.bench.repo.commit_at("refs/heads/main", files, "Link")

    assert "no file team/signers" in case.read(SIGNED)[1]


def test_an_approval_copied_to_another_submission_is_refused(case):
    tip = case.bench.offer({CONFIG: settings_text("true")}, branch="evil")
    evil = case.bench.submit(tip)
    made = case.write(case.made(), key=case.boss, settings=SIGNED)
    case.bench.repo.git("update-ref", approval.ref_of(evil.id), made.oid)

    assert [case.submission.id] == case.read(SIGNED)[0]
    assert f"made for {case.submission.id}" in case.read(SIGNED)[1]


def test_an_approval_whose_words_were_changed_is_refused(case):
    made = case.write(case.made(), key=case.boss, settings=SIGNED)
    repo = case.bench.repo
    raw = repo.raw("cat-file", "commit", made.oid)
    other = case.made(why="more")
    blob = case.bench.objects.write_blob(record.dump_approval(other))
    tree = case.bench.objects.write_tree([Entry(record.NAME, BLOB, blob)])
    raw = b"tree %s\n" % tree.encode() + raw.partition(b"\n")[2]
    oid = repo.git("hash-object", "-w", "-t", "commit", "--stdin", stdin=raw)
    repo.git("update-ref", approval.ref_of(made.submission), oid)

    assert [] == case.read(SIGNED)[0]


def test_a_changed_target_file_voids_it_and_another_change_does_not(tmp_path):
    lines = [f"line {n}\n" for n in range(20)]
    with bench(tmp_path / "r", {".mcp.json": "".join(lines)}) as made:
        tip = made.offer({".mcp.json": "".join([*lines, "more\n"])})
        case = Case(made, Key(tmp_path), Key(tmp_path), made.submit(tip))
        given = case.write(case.made())

        def open_needs() -> int:
            asked = (made.repository, made.objects, case.submission, made.target)
            found = needs(*asked, SETTINGS).needed
            return len(missing(given, case.submission.id, tip, found))

        fresh = open_needs()
        made.repo.commit_at("refs/heads/main", {"b": "b"}, "Elsewhere")
        elsewhere = open_needs()
        other = "".join(["first\n", *lines])
        made.repo.commit_at("refs/heads/main", {".mcp.json": other}, "The same file")

        assert (0, 0, 1) == (fresh, elsewhere, open_needs())


def test_an_approval_counts_until_its_time_is_over(case):
    case.write(case.made(until="2999-01-01T00:00:00Z"))
    before = case.read()
    case.forge(case.made(by=BOSS.ident, until="2020-01-01T00:00:00Z"), BOSS)

    assert [case.submission.id] == before[0]
    assert ([], "its time is over") == case.read()


def test_approving_again_goes_on_in_the_same_chain(case):
    first = case.write(case.made())
    second = case.write(case.made(why="again"))
    chain = [commit.oid for commit in history(case.bench.objects, second.oid)]

    assert [second.oid, first.oid] == chain


def test_of_two_at_once_one_is_told(case, monkeypatch):
    made = case.made()
    objects = case.bench.objects
    monkeypatch.setattr(objects, "ref", lambda _: None)
    case.write(made)

    with pytest.raises(LostRace):
        case.write(replace(made, why="other"))


@pytest.mark.parametrize("damage", ["{", '{"version": 1}', '{"version": 99}'])
def test_what_cannot_be_read_is_named_and_stops_nothing(case, damage):
    other = case.bench.submit(case.bench.offer({CONFIG: "#"}, branch="other"))
    case.write(case.made())
    blob = case.bench.objects.write_blob(damage.encode())
    tree = case.bench.objects.write_tree([Entry(record.NAME, BLOB, blob)])
    oid = case.bench.objects.write_commit(tree, (), "x", BOSS, BOSS)
    case.bench.repo.git("update-ref", approval.ref_of(other.id), oid)
    found = case.read()
    case.bench.repo.git("update-ref", approval.ref_of(other.id), case.bench.target)

    assert [case.submission.id] == found[0] == case.read()[0]
    assert "" != found[1]
    assert "no record" in case.read()[1]


def test_what_was_judged_is_not_judged_again(case, monkeypatch):
    case.write(case.made(), key=case.boss, settings=SIGNED)
    first = case.read(SIGNED)

    def fail(*_: object) -> str:
        raise AssertionError

    monkeypatch.setattr(trust, "verify_commit", fail)
    monkeypatch.setattr(approval.records, "read", fail)

    assert first == case.read(SIGNED)


def test_a_file_with_times_is_asked_again_after_a_while(case, monkeypatch):
    lines = case.boss.allowed(BOSS.email, 'valid-before="20990101"')
    case.bench.repo.commit_at("refs/heads/main", {SIGNERS: lines}, "For a time")
    case.write(case.made(), key=case.boss, settings=SIGNED)
    assert [case.submission.id] == case.read(SIGNED)[0]

    monkeypatch.setattr(trust, "verify_commit", lambda *_: "too late")
    assert [case.submission.id] == case.read(SIGNED)[0]
    later = clock.monotonic() + 2 * trust.AGAIN_S
    monkeypatch.setattr(clock, "monotonic", lambda: later)
    assert ([], "too late") == case.read(SIGNED)


def test_without_approvals_nothing_is_looked_at(tmp_path):
    with bench(tmp_path / "r") as made:
        repository = discover(made.repo.path)
        found = approval.read_all(
            repository,
            None,  # type: ignore[arg-type]
            {"refs/heads/main": made.target},
            SIGNED,
            made.target,
        )

    assert {} == found


def test_a_workers_weakening_needs_one_and_a_conflict_says_so(tmp_path):
    test = "def test_a():\n    assert a()\n"
    with bench(tmp_path / "r", {"tests/test_a.py": test, "c": "1\n"}) as made:
        asked = (made.repository, made.objects)
        tip = made.offer({"tests/test_a.py": None}, branch="agent/fix")
        of_worker = made.submit(tip, task="fix")
        clash = made.submit(made.offer({"c": "2\n"}, branch="clash"))
        found = needs(*asked, of_worker, made.target, SETTINGS)
        of_person = replace(of_worker, task=None)
        told = needs(*asked, of_person, made.target, SETTINGS)
        made.repo.commit_at("refs/heads/main", {"c": "3\n"}, "Clash")
        with pytest.raises(UserError, match="conflicts with the target in c"):
            needs(*asked, clash, made.target, SETTINGS)

    assert [("tests/test_a.py", 0, "", "deleted")] == [
        (need.path, need.mode, need.blob, need.why) for need in found.needed
    ]
    assert () == told.needed


def test_what_is_no_text_has_no_marks(tmp_path):
    with bench(tmp_path / "r", {"tests/a.py": "def test_a(): ...\n"}) as made:
        tip = made.offer({"tests/a.py": "x" * (1 << 20) + "x"})
        submission = made.submit(tip, task="fix")
        found = needs(made.repository, made.objects, submission, made.target, SETTINGS)

        assert ["1 test fewer"] == [need.why for need in found.needed]
