"""daemon.verifying: a command that says whether an item is still true, confined."""

from dataclasses import replace

import pytest

from gitagent.core.action import StartRun
from gitagent.core.receipt import Receipt, Result
from gitagent.core.settings import Check, Settings
from gitagent.daemon import verifying
from gitagent.daemon.verifying import Verifier
from gitagent.errors import GitagentError
from gitagent.git.repository import discover
from gitagent.host.process import Cancel

RUN = Receipt(
    check="verify",
    key="",
    product="",
    run=1,
    command="true",
    result=Result.PASSED,
    exit_code=0,
    seconds=0.1,
    started="2026-11-30T12:00:00Z",
    sandbox="required",
    environment="",
    output="",
)


def test_a_command_is_run_on_the_product_in_the_sandbox(repo):
    repo.commit({".agent/memory/a.md": "a", "here": "x"})
    verify = Verifier(discover(repo.path), Settings())
    tree = repo.oid("HEAD^{tree}")
    command = "test -f here && test ! -e .agent/memory && exit 3"

    assert "" == verify("test -f here && touch new", tree)
    assert f"`{command}` ends with 3." == verify(command, tree)
    assert "`./gone` ends with 127." == verify("./gone", tree)
    assert [] == repo.status()


def test_what_a_command_leaves_in_a_cache_of_the_checks_is_there_for_nobody(repo):
    repo.commit({".gitignore": "deps\n"})
    check = Check("tests", "true", cache=("deps",))
    verify = Verifier(discover(repo.path), Settings(check=(check,)))
    tree = repo.oid("HEAD^{tree}")

    assert "" == verify("mkdir deps && touch deps/planted", tree)
    assert "" == verify("test ! -e deps", tree)


def test_commands_of_one_ruling_take_no_longer_than_is_set(repo, monkeypatch):
    given = []

    def run(*args: object) -> tuple[Receipt, bytes]:
        start = args[4]
        assert isinstance(start, StartRun)
        given.append(start.check.timeout)
        return replace(RUN, seconds=90.0), b""

    monkeypatch.setattr(verifying, "run_check", run)
    verify = Verifier(discover(repo.path), Settings(), total=200)
    tree = repo.oid("HEAD^{tree}")
    said = [verify(f"true {n}", tree) for n in range(4)]

    assert [120, 110, 20] == given
    assert "" == said[2]
    assert "`true 3` was not run: others before it have taken 270 s." == said[3]


def test_what_was_run_on_a_product_is_not_run_again(repo, monkeypatch):
    asked = []

    def run(*given: object) -> tuple[Receipt, bytes]:
        asked.append(given)
        return replace(RUN, result=Result.TIMEOUT, exit_code=124), b""

    monkeypatch.setattr(verifying, "run_check", run)
    verify = Verifier(discover(repo.path), Settings())
    tree = repo.oid("HEAD^{tree}")
    said = [verify("true", tree) for _ in range(2)]

    assert ["`true` did not end within 120 s."] * 2 == said
    assert 1 == len(asked)


def test_a_command_that_could_not_be_run_says_nothing_of_the_item(repo, monkeypatch):
    broken = replace(RUN, result=Result.BROKEN, exit_code=None, tail="no bwrap here\n")
    monkeypatch.setattr(verifying, "run_check", lambda *_: (broken, b""))
    tree = repo.oid("HEAD^{tree}")

    with pytest.raises(GitagentError, match="could not be run: no bwrap here"):
        Verifier(discover(repo.path), Settings())("true", tree)


def test_a_command_that_was_stopped_says_nothing_either(repo):
    cancel = Cancel()
    cancel.set()
    verify = Verifier(discover(repo.path), Settings(), cancel)

    with pytest.raises(GitagentError, match="was stopped"):
        verify("true", repo.oid("HEAD^{tree}"))
