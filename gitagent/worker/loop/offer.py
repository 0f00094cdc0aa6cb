"""Which tools a conversation has, and what its calls mean.

What the grants do not allow is not offered, so that a model cannot even ask for it; the
gate would deny it all the same.
"""

import json
import posixpath
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from gitagent.core.effect import Effect, Effects
from gitagent.core.profile import reaches, shrink
from gitagent.core.reach import Facts
from gitagent.core.settings import Loop
from gitagent.model.provider import Tool
from gitagent.worker.loop import arguments
from gitagent.worker.loop.form import Form, Given, Where, Who
from gitagent.worker.loop.table import TABLE
from gitagent.worker.strictjson import BadForm

FOREIGN = "mcp__"  # how the names of tools of MCP servers begin

_BY_NAME = {each.name: each for each in TABLE}

# As Claude Code calls them.
_ALIASES = {
    "bash": "shell",
    "ls": "read",
    "multiedit": "edit",
    "todowrite": "todo",
    "webfetch": "web_fetch",
}


@dataclass(frozen=True, slots=True)
class Checked:
    """A call as it was understood."""

    form: Form | None  # None: there is no such tool
    given: dict[str, Any] = field(default_factory=dict)
    slip: str = ""  # why it cannot be made, and the mend


class Offer:
    """The tools of one conversation."""

    def __init__(
        self,
        facts: Facts,
        profile: str = "",
        tools: Iterable[str] = (),
        *,
        chat: bool = False,
        loop: Loop = Loop(),  # noqa: B008 - it is frozen
        more: Iterable[Form] = (),
    ) -> None:
        """``tools`` are those of the definition; ``more`` are MCP servers'."""
        self._facts = facts
        self._loop = loop
        wanted = frozenset(map(named, tools))
        may = shrink(facts.may, profile)
        net = reaches(profile) and (bool(facts.network) or not facts.confined)
        meant = [
            *((each, net) for each in TABLE if _meant(each, wanted, chat=chat)),
            *((each, reaches(profile)) for each in more if _chosen(each, wanted)),
        ]
        forms_ = [each for each, there in meant if _granted(each.kind, may, there)]
        code = any(each.name == "code" for each in forms_)
        forms_ += [each for each in TABLE if code and each.where is Where.CODE]
        self._forms = {each.name: each for each in forms_}
        self._withheld = {
            each.name: each for each, _ in meant if each.name not in self._forms
        }
        self.tools = tuple(
            Tool(each.name, self._described(each), dict(each.schema))
            for each in forms_
            if each.where is not Where.CODE
        )

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of all tools, with those that only code can call."""
        return tuple(self._forms)

    def form(self, tool: str) -> Form | None:
        """Return the tool that a call means; None: it is not offered."""
        return self._forms.get(tool) or self._forms.get(named(tool))

    def check(self, tool: str, given: str, *, code: bool = False) -> Checked:
        """Read a call; ``code`` tells whether code makes it.

        One of a tool that only the grants or the profile withhold is no slip, whatever
        its arguments: what it would do is for the gate to deny.
        """
        form = self.form(tool)
        if form is None and (withheld := self._denied(tool)) is not None:
            with suppress(BadForm):
                values = arguments.read(given, withheld.schema, strict=withheld.strict)
                return Checked(withheld, values)
            return Checked(withheld)
        if form is None or (form.where is Where.CODE and not code):
            names = ", ".join(each.name for each in self.tools)
            return Checked(
                None, slip=f"There is no tool {tool[:64]!r}; there are {names}."
            )
        try:
            values = arguments.read(given, form.schema, strict=form.strict)
        except BadForm as error:
            said = f"Nothing was done: {error}. Mend it and call {form.name} again."
            return Checked(form, slip=said.replace("?.", "?"))
        return Checked(form, values)

    def effects(self, tool: str, given: Given) -> tuple[Effect, ...]:
        """Return what a call would do; () : nothing that the gate knows."""
        form = self.form(tool) or self._denied(tool)
        if form is None or form.effect is None:
            return ()
        return (form.effect(self._facts, given),)

    def about(self, tool: str, given: Given) -> str:
        """Return what a call acts on, for people."""
        form = self.form(tool) or self._denied(tool)
        found = given.get(form.about) if form and form.about else None
        if found is None:
            return ""
        text = found if isinstance(found, str) else json.dumps(found)
        tree = self._facts.tree.rstrip("/") + "/"
        if form and form.about == "path" and posixpath.normpath(text).startswith(tree):
            return posixpath.normpath(text)[len(tree) :]
        return text

    def seconds(self, tool: str, given: Given) -> float:
        """Return the time limit of a call."""
        form = self.form(tool)
        limit = (form.seconds if form else 0.0) or float(self._loop.shell)
        asked = given.get("seconds") if form and form.name == "shell" else None
        return min(limit, float(asked)) if isinstance(asked, int | float) else limit

    def _denied(self, tool: str) -> Form | None:
        return self._withheld.get(tool) or self._withheld.get(named(tool))

    def _described(self, form: Form) -> str:
        return form.description.replace("{seconds}", str(self._loop.shell))


def named(tool: str) -> str:
    """Return our name of a tool of a definition, whatever its case; others stay."""
    lower = tool.strip().lower()
    ours = _ALIASES.get(lower, lower)
    return ours if ours in _BY_NAME else tool.strip()


def _meant(form: Form, wanted: frozenset[str], *, chat: bool) -> bool:
    """Whether a conversation has a tool, if the grants allow it."""
    here = Where.CHAT if chat else Where.TASK
    if form.where not in {here, Where.BOTH}:
        return False
    # Its own tools have no effect, and a loop cannot end well without them.
    return not wanted or form.name in wanted or form.who is Who.OWN


def _chosen(form: Form, wanted: frozenset[str]) -> bool:
    """Whether a definition means a tool of an MCP server.

    Which servers there are is said by the definition's `mcp`; its `tools` are about
    them only if they name one.
    """
    chosen = {each for each in wanted if each.startswith(FOREIGN)}
    return not chosen or any(
        form.name == each or form.name.startswith(f"{each}__") for each in chosen
    )


def _granted(kind: Effects | None, may: tuple[str, ...], net: bool) -> bool:  # noqa: FBT001
    if kind is None or kind is Effects.READ:
        return True
    return net if kind is Effects.NETWORK else kind in may
