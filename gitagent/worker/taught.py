"""What an attempt, or a chat, is told of the memory and asks of it, as it happens.

All that it was given is written down in the attempt's folder before it is told, so that
the record has it whatever becomes of the daemon. What is proposed is kept beside it.
"""

import json
import threading
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

from gitagent.core import effect as effects
from gitagent.core import plain
from gitagent.core.effect import Effect, Effects
from gitagent.core.exposure import (
    NOTHING,
    Delivery,
    Exposure,
    Received,
    Told,
    Way,
    received,
)
from gitagent.core.grants import GATED
from gitagent.core.ident import is_oid
from gitagent.core.memory import From, read_source
from gitagent.core.reach import Facts, Kind
from gitagent.core.remembering import Operation, Ruled
from gitagent.files import proposed
from gitagent.worker import heard, proposals
from gitagent.worker.folder import Folder, exists
from gitagent.worker.order import Order
from gitagent.worker.prompt import latest

RECEIVED: Final = "received.json"

_ASKED: Final = frozenset({"search", "show", "recall", "corrections", "propose"})
_TRIES: Final = 2  # of one slug: the first, and one repair
_DONE: Final = (
    "Kept. It is looked at again, and counts, when your work has passed what it has to."
)
_PENDING: Final = (
    "Kept. What it cites of your own commits is looked up when your work has landed."
)
_MEND: Final = "Mend it and call remember once more; a second that fails is dropped."
_DROPPED: Final = "It is dropped."
_WAITS: Final = "Stop here now: a person has to decide it first."


class Taught:
    """The memory's side of one attempt; for any thread, and it never raises."""

    def __init__(self, order: Order, folder: Folder) -> None:
        self._order = order
        self._folder = folder
        self._lock = threading.RLock()
        self._exposure = NOTHING
        self._begun: tuple[Received, ...] = ()
        self._known: dict[str, str] = {}  # by slug, the blob that was told last
        self._failed: dict[str, int] = {}  # by slug, how often it was refused
        self.said: list[tuple[str, str]] = []  # producer and text of what was told

    def begin(self, *, resumed: bool) -> Delivery:
        """Return what the prompt tells; ``resumed``: of a conversation that goes on."""
        order = self._order
        if order.teacher is None:
            return Delivery()
        if resumed:
            return self._resume()
        made = order.teacher.begin(order.task, order.agent, order.attempt, order.target)
        with self._lock:
            self._exposure = made.exposure
            self._begun = made.exposure.received
            self._note(self._begun)
        return made

    def _resume(self) -> Delivery:
        """Tell what changed of what the conversation was given, and what fits answers.

        The built-in agent tells changes by itself, from its record.
        """
        order = self._order
        before = order.before.memory if order.before else NOTHING
        with self._lock:
            self._exposure = before
            self._note(before.received)
        told: list[Told] = []
        if order.agent.backend != GATED:
            told += _told(self._answer("corrections", {}))
        asked = order.before.questions if order.before else ()
        if text := "\n".join(each.text for each in latest(order) if asked):
            found = self._answer("recall", {"text": text})
            told += _told(found)
            self._begun = received(found)
        return Delivery(tuple(told))

    @property
    def items(self) -> tuple[Received, ...]:
        """What the prompt tells, which `begin` has made."""
        return self._begun

    def asked(self, op: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the answer to what comes through the door."""
        if op not in _ASKED or self._order.teacher is None:
            return {"error": "There is no such thing to be asked of the memory."}
        if self._order.agent.backend == GATED:
            return self._propose(given) if op == "propose" else self._answer(op, given)
        self._hear(given.get("heard"))
        given = {key: each for key, each in given.items() if key != "heard"}
        # An answer can be lost on its way, so these are told until they were heard.
        changes = self._answer("corrections", {}, arrives=False)
        if op == "corrections":
            return changes
        found = self._propose(given) if op == "propose" else self._answer(op, given)
        return {**found, "corrections": changes}

    def _hear(self, pairs: object) -> None:
        """Take it from a program that it was told of these changes: slug and blob."""
        with self._lock:
            for each in pairs if isinstance(pairs, list) else ():
                match each:
                    case [str(slug), str(blob)] if slug in self._known:
                        self._known[slug] = blob

    def _answer(
        self, op: str, given: Mapping[str, Any], *, arrives: bool = True
    ) -> dict[str, Any]:
        """Return the teacher's answer; what it gives is written down first."""
        order = self._order
        assert order.teacher is not None  # noqa: S101 - who calls this has looked
        with self._lock:
            if "given" not in given:
                known = [[slug, blob] for slug, blob in self._known.items()]
                given = {**given, "given": known}
        found = order.teacher.asked(order.task.id, order.agent, op, given)
        if arrives:
            self._note(received(found))
        told = [(each.producer, each.text) for each in _told(found)]
        self.said.extend(each for each in told if each not in self.said)
        return found

    def _note(self, given: Iterable[Received]) -> None:
        """Write down what is given; what cannot be written is told all the same."""
        with self._lock:
            new = dict.fromkeys(given)
            self._known |= {each.slug: each.blob for each in new}
            # What somebody is told to forget, they are not given.
            kept = [each for each in new if each.way is not Way.CORRECTION]
            before = self._exposure.received
            self._exposure = replace(
                self._exposure, received=tuple(dict.fromkeys((*before, *kept)))
            )
            if self._folder.path.is_dir():
                with suppress(OSError):
                    self._folder.write_state(RECEIVED, plain.plain(self._exposure))

    def _propose(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return what is said of an operation; one that may stand is kept."""
        if Effects.REMEMBER not in self._order.agent.may:
            return {"error": "This agent lacks the grant remember."}
        values = given.get("operation")
        asked = proposed.operation(values)
        slug = asked.slug if isinstance(asked, Operation) else asked.operation.slug
        if refused := self._gate(slug, values):
            return refused
        with self._lock:
            before = proposals.kept(self._folder)
            if any(each.operation.slug == slug for each in before.dropped):
                return _said(f"{slug} was dropped before. Leave it.", done=False)
            if len(before.operations) >= proposed.MOST:
                most = f"{proposed.MOST} operations of one attempt are the most."
                return _said(f"Nothing was kept: {most}", done=False)
            if isinstance(asked, Ruled):
                return self._refuse(asked.operation, asked.reason)
            why, pending = self._examined(asked)
            if why:
                return self._refuse(asked, why)
            same = (asked.op, asked.slug)
            rest = [each for each in before.operations if (each.op, each.slug) != same]
            try:
                kept = replace(before, operations=(*rest, asked))
                proposals.keep(self._folder, kept)
            except OSError as error:
                return _said(f"Nothing was kept: {error.strerror}.", done=False)
        return _said(_PENDING if pending else _DONE, done=True)

    def _examined(self, asked: Operation) -> tuple[str, bool]:
        """Return why an operation cannot stand, and whether a part waits."""
        own: list[str] = []
        for text in asked.sources:
            source = read_source(text)
            if isinstance(source, str) or source.kind is not From.LINES:
                continue
            if source.oid.upper().startswith(("HEAD", "@")):
                why = f"Source {text} is of what you work on: write its commit out"
                return f"{why} (git rev-parse HEAD).", False
            if self._is_own(source.oid):
                own.append(source.oid)
        found = self._answer("propose", {"operation": _values(asked), "own": own})
        if found.get("admitted") is True:
            return "", bool(found.get("pending"))
        return str(found.get("reason") or found.get("error") or "It failed."), False

    def _is_own(self, oid: str) -> bool:
        """Whether there seems to be such a commit in the attempt's own repository.

        Nothing is read there: whoever works in it can write what they like.
        """
        if not is_oid(oid):
            return False
        return exists(self._folder.git / "objects" / oid[:2] / oid[2:])

    def _refuse(self, asked: Operation, why: str) -> dict[str, Any]:
        """Say why an operation is not kept; after the second time it is dropped."""
        count = self._failed[asked.slug] = self._failed.get(asked.slug, 0) + 1
        last = count >= _TRIES
        before = proposals.kept(self._folder)
        gone = Ruled(asked, admitted=False, reason=why)
        key = "dropped" if last else "refused"
        some = (*getattr(before, key), gone)
        with suppress(OSError):
            proposals.keep(self._folder, replace(before, **{key: some}))
        more = _DROPPED if last else _MEND
        return _said(f"Nothing was kept: {why} {more}", done=False)

    def _gate(self, slug: str, values: object) -> dict[str, Any] | None:
        """Return what the gate says against it; the built-in agent's has said so."""
        order = self._order
        if order.agent.backend == GATED:
            return None
        content = json.dumps(values, ensure_ascii=False, sort_keys=True)
        verdict = effects.judge(
            Effect(Effects.REMEMBER, slug, content=content),
            Facts(may=order.agent.may),
            effects.Context(
                decide=order.agent.decide,
                origins=heard.before(order),
                decisions=effects.decided(order.answers),
            ),
        )
        if verdict.kind is Kind.ALLOW:
            return None
        if verdict.question is None:
            return _said(verdict.sentence, done=False)
        asked = verdict.question
        question = {"text": asked.text, "options": [*asked.options]}
        said = _said(f"{verdict.sentence} {_WAITS}", done=False)
        return {**said, "question": question}


def load(folder: Folder) -> Exposure:
    """Return what was written down of what an attempt was given."""
    values = folder.load_state(RECEIVED)
    if values is None:
        return NOTHING
    try:
        made: Exposure = plain.made(Exposure, values)
    except ValueError:  # of another release
        return NOTHING
    return made


def _told(answer: Mapping[str, Any]) -> list[Told]:
    return [Told(each["producer"], each["text"]) for each in answer.get("told", ())]


def _said(text: str, *, done: bool) -> dict[str, Any]:
    return {"text": text, "done": done}


def _values(asked: Operation) -> dict[str, Any]:
    return {key: each for key, each in plain.plain(asked).items() if each}
