"""git.bundle and git.tags: whole or not there, and nothing that is not sound."""

import os

import pytest

from gitagent.errors import UserError
from gitagent.git import bundle, tags
from gitagent.git.repository import discover
from gitagent.git.signing import signer
from gitagent.git.text import Person
from tests.support.keys import Key
from tests.support.repos import Repo

ME = Person("The Boss", "boss@example.org", 1_764_500_000)


@pytest.fixture
def made(repo, tmp_path):
    """Return a repository with a record, and a bundle of it."""
    repo.git("update-ref", "refs/gitagent/tasks/a", "HEAD")
    blob = repo.git("hash-object", "-w", "--stdin", stdin=b"x")
    repo.git("update-ref", "refs/gitagent/claims/a", blob)
    to = tmp_path / "deep" / "a.bundle"
    bundle.create(discover(repo.path), ["refs/heads/main"], ["refs/gitagent/"], to)
    return repo, to


def test_a_bundle_holds_every_ref_that_was_asked_for_and_leaves_no_other_file(made):
    repo, to = made
    found = bundle.read(to)

    assert repo.refs() == found.refs
    assert ("", (), "sha1") == (bundle.damage(found), found.needs, found.hash)
    assert [to] == list(to.parent.iterdir())


def test_what_a_killed_writer_left_is_removed_when_it_is_old(made):
    repo, to = made
    old, young = (to.parent / f".{to.name}.{pid}.new" for pid in (1, 2))
    for each in (old, young):
        each.write_text("half")
    os.utime(old, (0, 0))
    bundle.create(discover(repo.path), ["refs/heads/main"], [], to)

    assert (False, True) == (old.exists(), young.exists())


def test_what_is_fetched_is_here_and_no_ref_moved(made, tmp_path):
    _, to = made
    other = Repo.make(tmp_path / "other")
    found = bundle.read(to)
    bundle.fetch(discover(other.path), found, found.refs)

    assert {} == other.refs()
    assert ["commit", "blob"] == [
        other.git("cat-file", "-t", found.refs[ref])
        for ref in ("refs/heads/main", "refs/gitagent/claims/a")
    ]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda data: data[:-30], "its pack is not whole"),
        (lambda data: data[:-60] + b"x" + data[-59:], "its pack is not whole"),
        (lambda data: data[: data.index(b"PACK")], "it has no pack"),
    ],
)
def test_a_damaged_pack_is_refused(made, tmp_path, change, reason):
    _, to = made
    to.write_bytes(change(to.read_bytes()))
    other = discover(Repo.make(tmp_path / "other").path)

    with pytest.raises(UserError, match=reason):
        bundle.fetch(other, bundle.read(to), ["refs/heads/main"])


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "no bundle"),
        (b"hello\n", "no bundle"),
        (
            b"# v2 git bundle\n" + b"1" * 40 + b" refs/heads/main\n",
            "its head has no end",
        ),
        (b"# v3 git bundle\n@filter=blob:none\n\nPACK", "of another kind"),
    ],
)
def test_what_is_no_bundle_is_refused(tmp_path, data, reason):
    path = tmp_path / "x"
    path.write_bytes(data)

    with pytest.raises(UserError, match=reason):
        bundle.read(path)


@pytest.mark.parametrize(
    "name",
    [
        "+refs/gitagent/a:refs/heads/main",
        "refs/gitagent/a:refs/heads/main",
        "^refs/heads/main",
        "refs/heads/*",
        "refs/heads/../a",
        "main",
        "",
    ],
)
def test_a_bundle_whose_head_tells_git_to_move_a_ref_is_refused(tmp_path, name):
    path = tmp_path / "x"
    head = f"# v2 git bundle\n{'1' * 40} HEAD\n{'1' * 40} {name}\n\n"
    path.write_bytes(head.encode())

    with pytest.raises(UserError, match="its head names no ref"):
        bundle.read(path)


def test_a_file_that_is_not_there_and_one_that_cannot_be_written_say_so(repo, tmp_path):
    (tmp_path / "file").write_text("")

    with pytest.raises(UserError, match="cannot be read"):
        bundle.read(tmp_path / "none")
    with pytest.raises(UserError, match="cannot be written"):
        bundle.create(
            discover(repo.path), ["refs/heads/main"], [], tmp_path / "file" / "x"
        )


def test_commits_that_are_missing_here_and_other_hashes_are_named(repo, tmp_path):
    first = repo.head()
    repo.commit({"a": "a"})
    to = tmp_path / "thin.bundle"
    repo.git("bundle", "create", "-q", str(to), f"{first}..main")
    other = discover(Repo.make(tmp_path / "other").path)
    sha256 = discover(Repo.make(tmp_path / "s", object_format="sha256").path)
    found = bundle.read(to)

    with pytest.raises(UserError, match=first[:12]):
        bundle.fetch(other, found, found.refs)
    with pytest.raises(UserError, match="sha1 objects"):
        bundle.fetch(sha256, found, found.refs)


def test_what_git_finds_unsound_is_not_taken_over(repo, tmp_path):
    tree = repo.oid("HEAD^{tree}")
    bad = f"tree {tree}\nauthor A <a> 1 +0000\ncommitter A 1 +0000\n\nx\n"
    oid = repo.git(
        "hash-object",
        "-t",
        "commit",
        "-w",
        "--literally",
        "--stdin",
        stdin=bad.encode(),
    )
    repo.git("update-ref", "refs/heads/bad", oid)
    to = tmp_path / "bad.bundle"
    repo.git("bundle", "create", "-q", str(to), "bad")
    other = discover(Repo.make(tmp_path / "other").path)

    with pytest.raises(UserError, match="cannot be taken over"):
        bundle.fetch(other, bundle.read(to), ["refs/heads/bad"])


def test_a_tag_is_read_as_it_was_written_and_git_believes_its_signature(repo, tmp_path):
    key, found = Key.make(tmp_path / "key"), discover(repo.path)
    name, head = "chapter/x", repo.head()
    plain = tags.write(found, name, head, "Chapter x\n", ME)
    signed = tags.write(found, name, head, "Chapter x\n", ME, signer(key.path))
    allowed = tmp_path / "allowed"
    allowed.write_text(key.allowed(ME.email))
    repo.git("config", "gpg.ssh.allowedSignersFile", str(allowed))
    repo.git("update-ref", "refs/tags/chapter/x", signed)
    one, other = tags.read(found, plain), tags.read(found, signed)

    assert one is not None
    assert other is not None
    assert (head, name, ME, "Chapter x\n", "") == (
        one.commit,
        one.name,
        one.tagger,
        one.message,
        one.signature,
    )
    assert (one.payload, one.message) == (other.payload, other.message)
    assert 0 == repo.ask("verify-tag", "chapter/x")
    assert 0 != repo.ask("verify-tag", plain)
    assert tags.read(found, head) is None
    assert "tag" == repo.git("cat-file", "-t", signed)
    repo.fsck()
