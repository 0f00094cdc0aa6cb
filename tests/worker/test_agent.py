"""What a program says of its end, before anybody records or shows it."""

import pytest

from gitagent.core.task import Outcome
from gitagent.worker import agent
from gitagent.worker.backends.launch import Launch
from gitagent.worker.backends.stream import Final
from gitagent.worker.order import Ending

EVIL = "\x1b]0;x\x07\u202ea\x9b"
SEEN = r"\x1b]0;x\x07\u202ea\x9b"


@pytest.mark.parametrize(
    ("final", "expected"),
    [
        (Final(answer=EVIL), (Outcome.OK, "", SEEN)),
        (
            Final(answer="a", error=f"It said {EVIL}."),
            ("failed", f"It said {SEEN}.", ""),
        ),
        (Final(answer="a\nb"), (Outcome.OK, "", "a\nb")),
    ],
)
def test_nothing_in_it_moves_a_cursor_or_hides_text(final, expected):
    found = agent._told(Ending(Outcome.OK, ""), final, Launch(argv=("x",)))

    assert expected == (found.outcome, found.reason, found.answer)


@pytest.mark.parametrize("said", [EVIL, "1.2\n3", "9" * 100_000])
def test_a_version_is_one_short_line(said):
    final = Final(answer="a", program=said)
    found = agent._told(Ending(Outcome.OK, ""), final, Launch(argv=("x",))).program

    assert found.isprintable()
    assert 0 < len(found) <= 80
