"""What must be seen where landings are squashed, replayed or signed."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from gitagent.core.submission import SubmissionState
from gitagent.git.repository import discover
from gitagent.lander.verify import verify
from tests.support.stepping import Stepped

Step = Callable[..., Stepped]

CHECK = "! grep -rqw bad --include='*.txt' ."
HELD = SubmissionState.HELD
LANDED = SubmissionState.LANDED
REJECTED = SubmissionState.REJECTED


def problems(made: Stepped) -> list[str]:
    found = discover(made.repo.path)
    settings = made.loop.snapshot.settings
    with found.objects() as objects:
        return [each.text for each in verify(found, objects, settings) if each.problem]


def parents(made: Stepped) -> set[int]:
    """Return the numbers of parents of the commits since the settings."""
    return {len(each.split()) for each in made.repo.log("%P", "-n", "3")}


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["batch", "chain"])
@pytest.mark.parametrize("strategy", ["squash", "rebase"])
def test_a_stack_and_a_stranger_land_as_one_straight_line(
    step: Step, strategy: str, mode: str
):
    made = step(CHECK, lander={"strategy": strategy, "mode": mode, "window": 3})
    lower = made.push("lower", {"a.txt": "ONE\ntwo\nthree\n"}, "Lower")
    upper = made.push("upper", {"a.txt": "ONE\ntwo\nTHREE\n"}, "Upper", on=[lower])
    other = made.push("other", {"c.txt": "c\n"}, "Other")
    made.rest()

    assert [LANDED] * 3 == [made.of(each).state for each in (lower, upper, other)]
    assert {1} == parents(made)
    assert "ONE\ntwo\nTHREE\n" == (made.repo.path / "a.txt").read_text()
    assert [] == made.repo.status()
    assert [] == problems(made)
    assert () == made.loop.snapshot.target.direct


@pytest.mark.parametrize("strategy", ["squash", "rebase"])
def test_a_branch_that_has_landed_goes_on_and_lands_again(step: Step, strategy: str):
    made = step(CHECK, lander={"strategy": strategy})
    first = made.push("work", {"a.txt": "ONE\ntwo\nthree\n"}, "First")
    made.rest()
    made.direct({"a.txt": "ONE since\ntwo\nthree\n"})
    second = made.push("work", {"c.txt": "c\n"}, "Second", on=[first])
    made.rest()

    assert LANDED is made.of(second).state
    assert "ONE since\ntwo\nthree\n" == made.repo.read("a.txt", "main")
    assert "c\n" == made.repo.read("c.txt", "main")


def test_one_bad_commit_in_a_line_takes_nobody_along(step: Step):
    made = step(CHECK, lander={"strategy": "rebase"})
    tips = [
        made.push(name, {f"{name}.txt": text}, name)
        for name, text in (("one", "1"), ("two", "bad"), ("three", "3"))
    ]
    made.rest()

    assert [LANDED, REJECTED, LANDED] == [made.of(each).state for each in tips]
    assert ["three", "one"] == made.repo.log("%s", "-n", "2")
    assert [] == problems(made)


@pytest.mark.parametrize("strategy", ["squash", "rebase"])
def test_what_the_target_has_already_has_nothing_to_land(step: Step, strategy: str):
    made = step(CHECK, lander={"strategy": strategy})
    one = made.push("one", {"c.txt": "c\n"}, "One")
    made.rest()
    target = made.repo.head()
    same = made.push("same", {"c.txt": "c\n"}, "Same", on=[f"{target}~1"])
    made.rest()

    assert [LANDED, LANDED] == [made.of(each).state for each in (one, same)]
    assert "nothing to land" in made.of(same).reason
    assert target == made.repo.head()
    assert [] == problems(made)


def test_work_that_cannot_be_replayed_is_rejected_with_the_commit(step: Step):
    made = step(CHECK, lander={"strategy": "rebase"})
    base = made.repo.head()
    first = made.push("work", {"c.txt": "mine\n"}, "Mine", on=[base])
    tip = made.push("work", {"c.txt": None, "d.txt": "d\n"}, "Drop it", on=[first])
    made.direct({"c.txt": "theirs\n"})
    made.rest()

    assert REJECTED is made.of(tip).state
    assert first[:12] in made.of(tip).reason
    assert "c.txt" in made.of(tip).reason


def test_a_signing_key_that_cannot_be_used_holds_the_landing_until_it_can(
    step: Step, tmp_path: Path
):
    key, signers = tmp_path / "key", tmp_path / "signers"
    made = step(CHECK, lander={"signing_key": str(key)})
    tip = made.push("work", {"c.txt": "c\n"})
    made.rest()

    assert HELD is made.of(tip).state
    assert str(key) in made.of(tip).reason
    subprocess.run(
        ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True
    )
    signers.write_text(f"* {key.with_suffix('.pub').read_text()}")
    made.hurry().rest()

    assert LANDED is made.of(tip).state
    allowed = f"gpg.ssh.allowedSignersFile={signers}"
    made.repo.git("-c", allowed, "verify-commit", "main")
