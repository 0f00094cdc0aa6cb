"""Nothing that git starts asks a person anything: it fails at once, with a line."""

import http.server
import threading
import time

import pytest

from gitagent.git.command import Git, clean_environment
from gitagent.git.push import NotPushed, Refusal, push
from gitagent.git.repository import discover

SOON_S = 20


class Locked(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(401)
        self.send_header("WWW-Authenticate", 'Basic realm="x"')
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


@pytest.fixture
def locked():
    """Return the address of a repository that wants a password."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Locked) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/r.git"
        server.shutdown()
        thread.join()


@pytest.fixture
def asking(home, tmp_path, monkeypatch):
    """Configure all that could ask; return the folder in which asking leaves a file."""
    asked = tmp_path / "asked"
    asked.mkdir()
    program = tmp_path / "ask"
    program.write_text(f'#!/bin/sh\nset >"{asked}/$$"\necho x\n')
    program.chmod(0o755)
    (home / ".gitconfig").write_text(
        f"[core]\n\taskPass = {program}\n\teditor = {program}\n"
        f"[sequence]\n\teditor = {program}\n[gpg]\n\tprogram = {program}\n"
        "[commit]\n\tgpgSign = true\n[tag]\n\tgpgSign = true\n"
        "[push]\n\tgpgSign = true\n"
        "[user]\n\tname = P\n\temail = p@example.org\n\tsigningKey = ABCD\n"
    )
    for name in ("GIT_ASKPASS", "SSH_ASKPASS", "EDITOR", "VISUAL", "GIT_EDITOR"):
        monkeypatch.setenv(name, str(program))
    for name, value in (("DISPLAY", ":9"), ("SSH_ASKPASS_REQUIRE", "force")):
        monkeypatch.setenv(name, value)
    return asked


def test_a_push_that_wants_a_password_fails_at_once_with_a_line(repo, asking, locked):
    repo.git("remote", "add", "origin", locked)
    begun = time.monotonic()
    result = push(discover(repo.path), "origin", "refs/heads/main", repo.head())

    assert isinstance(result, NotPushed)
    assert Refusal.UNREACHABLE is result.refusal
    assert "\n" not in result.reason
    assert "127.0.0.1" in result.reason
    assert time.monotonic() - begun < SOON_S
    assert [] == list(asking.iterdir())


def test_ssh_has_neither_a_terminal_nor_a_window_to_ask_in(
    repo, asking, tmp_path, monkeypatch
):
    said = tmp_path / "said"
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "ssh").write_text(
        f'#!/bin/sh\nenv >"{said}"\n'
        f'(exec </dev/tty) 2>/dev/null && echo TERMINAL >>"{said}"\n'
        "echo 'Permission denied (publickey,password).' >&2\nexit 255\n"
    )
    (tools / "ssh").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:/usr/bin:/bin")
    repo.git("remote", "add", "origin", "ssh://nobody.invalid/r.git")
    result = push(discover(repo.path), "origin", "refs/heads/main", repo.head())
    lines = said.read_text().splitlines()

    assert isinstance(result, NotPushed)
    assert Refusal.UNREACHABLE is result.refusal
    assert "SSH_ASKPASS_REQUIRE=never" in lines
    assert "TERMINAL" not in lines
    assert not [line for line in lines if line.startswith(("DISPLAY=", "WAYLAND"))]
    assert [] == list(asking.iterdir())


def test_the_users_own_ssh_command_is_used(repo, home, tmp_path):
    ran = tmp_path / "ran"
    (home / ".gitconfig").write_text(f"[core]\n\tsshCommand = touch {ran}; false\n")
    repo.git("remote", "add", "origin", "ssh://nobody.invalid/r.git")
    push(discover(repo.path), "origin", "refs/heads/main", repo.head())

    assert ran.exists()


@pytest.mark.parametrize("user_config", [True, False])
def test_no_editor_and_no_passphrase_is_asked_for(repo, asking, user_config):
    git = Git(repo.common_dir)
    who = ("-c", "user.name=P", "-c", "user.email=p@example.org")
    tip = repo.head()
    made = git.run(
        *who, "commit-tree", f"{tip}^{{tree}}", "-m", "x", user_config=user_config
    ).text
    git.run(*who, "tag", "-a", "-m", "x", "t", made, user_config=user_config)
    git.run(
        *(*who, "commit", "--allow-empty", "-m", "x", "--edit"),
        work_tree=repo.path,
        git_dir=repo.common_dir,
        user_config=user_config,
    )

    assert [] == list(asking.iterdir())


@pytest.mark.parametrize("user_config", [True, False])
def test_every_way_to_ask_is_closed(user_config, monkeypatch):
    for name in ("GPG_TTY", "DISPLAY", "WAYLAND_DISPLAY", "EDITOR", "VISUAL"):
        monkeypatch.setenv(name, "x")
    monkeypatch.setenv("GIT_TERMINAL_PROMPT", "1")
    environment = clean_environment(user_config)

    assert not {"GPG_TTY", "DISPLAY", "WAYLAND_DISPLAY", "EDITOR", "VISUAL"} & set(
        environment
    )
    assert "0" == environment["GIT_TERMINAL_PROMPT"]
    assert "never" == environment["GCM_INTERACTIVE"]
    assert (":", ":") == (
        environment["GIT_EDITOR"],
        environment["GIT_SEQUENCE_EDITOR"],
    )
