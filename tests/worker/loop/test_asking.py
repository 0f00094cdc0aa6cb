"""An answer that broke off is asked for again, a few times, and no other is."""

import pytest

from gitagent.host.cancel import Cancel
from gitagent.model.provider import Ask, Heard, NoTurn, Turn, Wrong
from gitagent.worker.loop.asking import TRIES, ask

CUT = NoTurn(Wrong.CUT, "It broke off.", "So f")


class Scripted:
    tools = True

    def __init__(self, *answers):
        self.answers = [*answers]
        self.asked = []

    def ask(self, what, heard, cancel):  # noqa: ARG002
        self.asked.append(what)
        return self.answers.pop(0)


def asked(*answers, cancel=None):
    provider, heard = Scripted(*answers), []
    found = ask(provider, Ask("", ()), Heard(heard.append), cancel or Cancel())
    return found, len(provider.asked), heard


def test_one_that_broke_off_twice_is_had_the_third_time_and_people_are_told():
    found, times, heard = asked(CUT, CUT, Turn("So far"))

    assert (Turn("So far"), 3) == (found, times)
    assert ["\n[the answer broke off, and the model is asked again]\n"] * 2 == heard


def test_one_that_breaks_off_always_is_none():
    assert (CUT, TRIES) == asked(*[CUT] * 9)[:2]


@pytest.mark.parametrize("wrong", [each for each in Wrong if each is not Wrong.CUT])
def test_no_other_failure_is_tried_again(wrong):
    none = NoTurn(wrong, "No.")

    assert (none, 1, []) == asked(none, Turn("Yes"))


def test_nobody_asks_again_who_was_told_to_stop():
    cancel = Cancel()
    cancel.set()

    assert (CUT, 1, []) == asked(CUT, Turn("Yes"), cancel=cancel)
