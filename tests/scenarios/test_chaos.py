"""SIGKILL at random moments of a busy day; `make soak` does it a hundred times."""

from pathlib import Path

import pytest

from tests.support import chaos

KILLS = 12


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1])
def test_nothing_is_lost_or_done_twice_whenever_the_daemon_is_killed(
    seed: int, tmp_path: Path
):
    storm = chaos.begin(tmp_path, seed)
    wrong = chaos.run(storm, KILLS)

    assert [] == wrong, storm.log
    assert storm.made >= KILLS
