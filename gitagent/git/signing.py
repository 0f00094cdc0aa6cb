"""SSH signatures of commits, made and checked by ssh-keygen(1) as Git does it.

The namespace is ``git``, so `git verify-commit` accepts what is made here. Nothing is
ever asked: there is no terminal, no askpass program, and a time limit. Source:
ssh-keygen(1), ALLOWED SIGNERS; git-config(1), gpg.ssh.
"""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gitagent.errors import UserError
from gitagent.git.codec import Sign, split_signature
from gitagent.git.repository import Repository
from gitagent.host import process

SIGN_S = 30.0  # a hardware key waits for a touch
VERIFY_S = 10.0

_NAMESPACE = "git"
_MISSING = "install OpenSSH 8.2 or newer (ssh-keygen)"


def signer(key: Path | str) -> Sign:
    """Return what signs with a key; see ``sign``."""
    return lambda payload: sign(payload, key)


def sign(payload: bytes, key: Path | str) -> str:
    """Return the armoured SSH signature of ``payload``.

    ``key`` is the file of a private key, or of a public key whose private one an agent
    holds, or such a public key itself ("ssh-ed25519 AAAA…", "key::…").

    Raises:
        UserError: it cannot be used without asking somebody, or at all.
    """
    with _key_file(key) as (file, words):
        ended = _keygen("sign", "-f", str(file), *words, stdin=payload, timeout=SIGN_S)
    if ended.code != 0:
        raise _unusable(key, ended)
    return ended.output.decode("ascii", "replace")


def verify(payload: bytes, signature: str, signers: bytes, who: str) -> str:
    """Return why ``who`` (an address) did not sign ``payload``, as a clause, or "".

    ``signers`` is the content of an allowed signers file. A key counts if its line
    names ``who`` and is valid now: it may be that a revoked key has signed a date.

    Raises:
        UserError: there is no ssh-keygen.
    """
    if not signature:
        return "it is not signed"
    with tempfile.TemporaryDirectory(prefix="gitagent-signed-") as place:
        allowed, file = Path(place, "allowed"), Path(place, "signature")
        allowed.write_bytes(signers)
        file.write_text(signature)
        ended = _keygen(
            "verify",
            "-f",
            str(allowed),
            "-s",
            str(file),
            "-I",
            who,
            stdin=payload,
            timeout=VERIFY_S,
        )
    if ended.code == 0:
        return ""
    if ended.timed_out:
        return "its signature could not be checked in time"
    if b"key has expired" in ended.stderr or b"not yet valid" in ended.stderr:
        return f"the key of {who} that signed it is not valid now"
    if b"incorrect signature" in ended.stderr:
        return "it is not what was signed"
    return f"no key that may sign for {who} signed it"


def verify_commit(repo: Repository, oid: str, signers: bytes, who: str) -> str:
    """Return why ``who`` did not sign a commit; see ``verify``."""
    data = repo.git.run("cat-file", "commit", oid).out
    return verify(*split_signature(data), signers, who)


def configured_key(repo: Repository) -> str:
    """Return the key with which Git signs commits here, or "" if it is no SSH key."""
    if _configured(repo, "gpg.format") != "ssh":
        return ""
    return _configured(repo, "user.signingkey")


def _configured(repo: Repository, key: str) -> str:
    done = repo.git.run(
        "config", "--get", key, git_dir=repo.git_dir, ok=(0, 1), user_config=True
    )
    return done.text.strip()


def _is_public(key: str) -> bool:
    """Whether it is a public key itself and no file's name; see user.signingkey."""
    text = key.removeprefix("key::")
    return text.startswith(("ssh-", "ecdsa-", "sk-")) and " " in text


@contextmanager
def _key_file(key: Path | str) -> Iterator[tuple[Path, tuple[str, ...]]]:
    """Yield the file that ssh-keygen is to read, and the words it needs with it."""
    text = str(key).removeprefix("key::")
    if _is_public(text):
        with tempfile.TemporaryDirectory(prefix="gitagent-key-") as place:
            file = Path(place, "key.pub")
            file.write_text(f"{text}\n")
            yield file, ("-U",)
        return
    file = Path(text).expanduser()
    if not file.is_absolute():
        raise UserError(f"the signing key {text} is no key", "name its file in full")
    if not file.is_file():
        raise UserError(
            f"there is no signing key {file}", "name the file of an SSH key"
        )
    yield file, ()


def _keygen(action: str, *words: str, stdin: bytes, timeout: float) -> process.Exit:
    argv = ["ssh-keygen", "-Y", action, "-n", _NAMESPACE, *words]
    passed = ("PATH", "HOME", "SSH_AUTH_SOCK", "XDG_RUNTIME_DIR")
    environment = {name: os.environ[name] for name in passed if name in os.environ}
    environment |= {"LC_ALL": "C", "TZ": "UTC", "SSH_ASKPASS_REQUIRE": "never"}
    ended = process.run(argv, cwd="/", env=environment, stdin=stdin, timeout=timeout)
    if not ended.started:
        raise UserError("ssh-keygen could not be started", _MISSING)
    return ended


def _unusable(key: Path | str, ended: process.Exit) -> UserError:
    name = f"{str(key)[:40]}…" if _is_public(str(key)) else str(key)
    said = ended.stderr.decode(errors="replace")
    if ended.timed_out:
        return UserError(
            f"the key {name} did not sign within {SIGN_S:g} s", "unlock its agent"
        )
    if "UNPROTECTED PRIVATE KEY" in said:
        return UserError(f"others may read the key {name}", f"run: chmod 600 {name}")
    if "incorrect passphrase" in said:
        return UserError(
            f"the key {name} has a passphrase, and no agent holds it",
            f"run: ssh-add {name.removesuffix('.pub')}",
        )
    if "No private key found" in said or "agent socket" in said:
        return UserError(f"no agent holds the key {name}", "run: ssh-add with its file")
    lines = said.strip().splitlines() or ["no message"]
    return UserError(f"the key {name} cannot sign: {lines[-1]}", "name an SSH key")
