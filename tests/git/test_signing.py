"""git.signing: signatures that git accepts, refusals that are sure, and no prompts."""

import os
import stat
import subprocess

import pytest

from gitagent.errors import UserError
from gitagent.git import codec
from gitagent.git.repository import discover
from gitagent.git.signing import (
    configured_key,
    sign,
    signer,
    verify,
    verify_commit,
)
from gitagent.git.text import Person
from tests.support.keys import NOT_YET, REVOKED, Key
from tests.support.repos import Repo

BOSS = "boss@example.org"
WHO = Person("The Boss", BOSS, 1_700_000_000, 90)
TEXT = b"words\n"
PHRASE = "open sesame"


@pytest.fixture
def key(tmp_path):
    return Key.make(tmp_path / "keys" / "boss")


@pytest.mark.parametrize("object_format", ["sha1", "sha256"])
@pytest.mark.parametrize("fast", [False, True])
def test_git_accepts_a_commit_that_was_signed_here(tmp_path, key, object_format, fast):
    repo = Repo.make(tmp_path / "r", {"a": "a"}, object_format=object_format)
    found = discover(repo.path)
    with found.objects(fast=fast) as objects:
        head = objects.commit(repo.head())
        oid = objects.write_commit(
            head.tree, (head.oid,), "Signed\n\nbody\n", WHO, WHO, signer(key.path)
        )
        read = objects.commit(oid)
    signers = tmp_path / "signers"
    signers.write_text(key.allowed(BOSS))
    setting = f"gpg.ssh.allowedSignersFile={signers}"

    assert 0 == repo.ask("-c", setting, "verify-commit", oid)
    assert ("Signed\n\nbody\n", WHO) == (read.message, read.author)
    assert "" == verify_commit(found, oid, signers.read_bytes(), BOSS)
    repo.fsck()


def test_what_git_signed_is_accepted_here(tmp_path, key):
    repo = Repo.make(tmp_path / "r", {"a": "a"})
    words = ("-c", "gpg.format=ssh", "-c", f"user.signingkey={key.path}")
    repo.git(*words, "commit", "-q", "--allow-empty", "-S", "-m", "Signed")
    found = discover(repo.path)

    assert "" == verify_commit(found, repo.head(), key.allowed(BOSS).encode(), BOSS)


def test_an_unsigned_commit_is_refused(tmp_path, key):
    repo = Repo.make(tmp_path / "r", {"a": "a"})
    said = verify_commit(
        discover(repo.path), repo.head(), key.allowed(BOSS).encode(), BOSS
    )

    assert "not signed" in said


def test_a_commit_that_is_signed_twice_is_refused(key):
    data = codec.dump_commit("a" * 40, (), "m", WHO, WHO, signer(key.path))
    payload, _ = codec.split_signature(data)
    head, _, body = data.partition(b"\n\n")
    extra = sign(payload, key.path).strip().encode().replace(b"\n", b"\n ")
    twice = b"%s\ngpgsig %s\n\n%s" % (head, extra, body)

    assert codec.dump_commit("a" * 40, (), "m", WHO, WHO) == payload
    assert "" == codec.split_signature(twice)[1]
    assert (data, "") != codec.split_signature(data)


@pytest.mark.parametrize(
    ("who", "options", "reason"),
    [
        ("other@example.org", "", "no key that may sign for boss@example.org"),
        (BOSS, REVOKED, "not valid now"),
        (BOSS, NOT_YET, "not valid now"),
        (BOSS, 'namespaces="file"', "no key"),
    ],
)
def test_a_key_counts_for_those_it_is_listed_for_and_as_long(key, who, options, reason):
    signers = key.allowed(who, options).encode()

    assert reason in verify(TEXT, sign(TEXT, key.path), signers, BOSS)


def test_what_was_signed_is_that_and_nothing_else(key, tmp_path):
    signers = key.allowed("*@example.org").encode()
    made = sign(TEXT, key.path)
    forged = sign(TEXT, Key.make(tmp_path / "keys" / "worker").path)

    assert "" == verify(TEXT, made, signers, BOSS)
    assert "not what was signed" in verify(b"other", made, signers, BOSS)
    assert "no key" in verify(TEXT, forged, signers, BOSS)
    assert "" != verify(TEXT, "no signature\n", signers, BOSS)
    assert "" != verify(TEXT, made, b"no list\n", BOSS)
    assert "" != verify(TEXT, made, b"", "")
    assert "not signed" in verify(TEXT, "", signers, BOSS)


def test_a_key_with_a_passphrase_is_never_asked_for(tmp_path, monkeypatch):
    locked = Key.make(tmp_path / "locked", passphrase=PHRASE)
    asked = tmp_path / "asked"
    askpass = tmp_path / "askpass"
    askpass.write_text(f"#!/bin/sh\ntouch {asked}\necho {PHRASE}\n")
    askpass.chmod(0o755)
    for name, value in (
        ("SSH_ASKPASS", str(askpass)),
        ("SSH_ASKPASS_REQUIRE", "force"),
        ("DISPLAY", ":0"),
    ):
        monkeypatch.setenv(name, value)

    with pytest.raises(UserError, match="passphrase") as caught:
        sign(TEXT, locked.path)

    assert "ssh-add" in caught.value.line()
    assert "\n" not in caught.value.line()
    assert not asked.exists()


def test_an_agent_signs_for_a_key_that_is_locked_or_given_as_text(
    tmp_path, monkeypatch
):
    locked = Key.make(tmp_path / "locked", passphrase=PHRASE)
    address = tmp_path / "agent"
    agent = subprocess.Popen(
        ["ssh-agent", "-D", "-a", str(address)], stdout=subprocess.PIPE
    )
    try:
        assert agent.stdout is not None
        agent.stdout.readline()
        askpass = tmp_path / "askpass"
        askpass.write_text(f"#!/bin/sh\necho {PHRASE}\n")
        askpass.chmod(0o755)
        more = {"SSH_ASKPASS": str(askpass), "SSH_ASKPASS_REQUIRE": "force"}
        monkeypatch.setenv("SSH_AUTH_SOCK", str(address))
        add = ["ssh-add", "-q", str(locked.path)]
        subprocess.run(add, check=True, env=os.environ | more, stdin=subprocess.DEVNULL)
        signers = locked.allowed(BOSS).encode()
        for name in (locked.path, f"{locked.path}.pub", locked.public):
            assert "" == verify(TEXT, sign(TEXT, name), signers, BOSS)
        assert "" == verify(TEXT, sign(TEXT, f"key::{locked.public}"), signers, BOSS)
    finally:
        agent.terminate()
        agent.communicate()


def test_a_key_that_cannot_sign_is_one_line_with_the_mend(key, tmp_path):
    text = tmp_path / "text"
    text.write_text("no key\n")
    open_to_all = Key.make(tmp_path / "open")
    open_to_all.path.chmod(stat.S_IRUSR | stat.S_IROTH)
    cases = {
        tmp_path / "nowhere": "no signing key",
        "relative": "in full",
        text: "cannot sign",
        open_to_all.path: "chmod 600",
        key.public: "ssh-add",
    }
    for name, said in cases.items():
        with pytest.raises(UserError) as caught:
            sign(TEXT, name)

        assert said in caught.value.line()
        assert "\n" not in caught.value.line()


def test_without_ssh_keygen_it_says_what_to_install(key, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")

    with pytest.raises(UserError, match="ssh-keygen"):
        sign(TEXT, key.path)


def test_the_configured_key_is_git_s_own_if_it_is_an_ssh_key(tmp_path, key):
    repo = Repo.make(tmp_path / "r", {"a": "a"})
    found = discover(repo.path)
    repo.git("config", "user.signingkey", str(key.path))
    before = configured_key(found)
    repo.git("config", "gpg.format", "ssh")

    assert ("", str(key.path)) == (before, configured_key(found))
