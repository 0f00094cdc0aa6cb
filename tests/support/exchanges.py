"""Exchanges with models, written to repositories as an attempt writes them."""

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from gitagent.core.exchange import Api, Exchange, State
from gitagent.core.usage import Usage
from gitagent.git.repository import discover
from gitagent.worker.journal import Journal
from tests.support.repos import Repo

RESERVED = Usage(1, 1000, 100, usd=0.5)
USED = Usage(1, 900, 50, 100, 0, 0.25)


def exchange(
    number: int = 1, attempt: int = 1, day: str = "2026-11-30", task: str = "fix"
) -> Exchange:
    """Return a request as it is before it goes out."""
    return Exchange(
        task=task,
        attempt=attempt,
        number=number,
        api=Api.MESSAGES,
        asked="sonnet",
        model="anthropic:sonnet",
        state=State.SENT,
        started=f"{day}T12:00:00Z",
        reserved=RESERVED,
    )


def done(sent: Exchange, day: str = "2026-11-30", **fields: Any) -> Exchange:
    """Return what was sent, now with its end."""
    values = {"state": State.DONE, "usage": USED, "status": 200}
    return replace(sent, ended=f"{day}T12:00:01Z", **{**values, **fields})


def request(*texts: str) -> bytes:
    """Return the body of a request with these messages of a user."""
    messages = [{"role": "user", "content": text} for text in texts]
    return json.dumps({"model": "sonnet", "messages": messages}).encode()


def write(
    repo: Repo,
    talk: Iterable[tuple[bytes, bytes]],
    *,
    task: str = "fix",
    attempt: int = 1,
    **options: Any,
) -> list[Exchange]:
    """Record requests and their answers, one after the other."""
    journal = Journal(discover(repo.path), task, **options)
    made = []
    for number, (body, answer) in enumerate(talk, start=1):
        sent = journal.sent(exchange(number, attempt, task=task), body)
        made.append(journal.ended(done(sent), answer))
    return made
