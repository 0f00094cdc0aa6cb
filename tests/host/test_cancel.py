import select
from pathlib import Path

from gitagent.host.cancel import Cancel


def test_a_cancel_stays_set_for_everybody():
    cancel = Cancel()
    assert not cancel.is_set()
    cancel.set()
    cancel.set()

    for _ in range(2):
        assert select.select([cancel], [], [], 0)[0] == [cancel]
    assert cancel.is_set()


def test_a_cancel_that_is_dropped_leaves_no_descriptor():
    before = len(list(Path("/proc/self/fd").iterdir()))
    Cancel()

    assert before == len(list(Path("/proc/self/fd").iterdir()))
