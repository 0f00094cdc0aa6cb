"""The connection to a chat: what a race at its end comes to."""

from gitagent.cli.terminal.link import Link
from gitagent.core.chat import Bye, Hello


class Lost:
    """A channel whose loss the other thread sees while the leave is taken."""

    def __init__(self, link):
        self.link, self.closed, self.sent = link, False, []

    def send(self, values):
        self.sent.append(values)
        self.link._channel = None

    def close(self):
        self.closed = True


def test_a_connection_that_is_lost_in_the_moment_of_leaving_is_closed(tmp_path):
    link = Link(tmp_path, "", new=False, hello=Hello, told=lambda _: None)
    there = link._channel = Lost(link)
    link.close()
    link.close()

    assert there.closed
    assert [{"op": "bye"}] == there.sent
    assert not link.send(Bye())
