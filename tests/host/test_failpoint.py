import re
import subprocess
import sys
from pathlib import Path

import pytest

from gitagent.host import failpoint

ROOT = Path(failpoint.__file__).parents[2]


def pass_by(armed, name):
    code = f"from gitagent.host.failpoint import failpoint; failpoint({name!r})"
    env = {failpoint.VARIABLE: armed} if armed is not None else {}
    return subprocess.run(
        [sys.executable, "-c", code], env=env, cwd=ROOT, check=False
    ).returncode


def test_the_named_place_is_the_end():
    assert pass_by("landing-swapped", "landing-swapped") == -9


@pytest.mark.parametrize("armed", [None, "", "receipt-written"])
def test_other_places_are_passed(armed):
    assert pass_by(armed, "landing-swapped") == 0


def test_every_place_in_the_code_is_in_the_list():
    pattern = re.compile(r"\bfailpoint\(\"([^\"]+)\"\)")
    named = {
        name
        for path in (ROOT / "gitagent").rglob("*.py")
        for name in pattern.findall(path.read_text(encoding="utf-8"))
    }

    assert named <= {*failpoint.NAMES, *failpoint.OTHERS}
