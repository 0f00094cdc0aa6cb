"""Words of others ask for effects, and none is had without its grant or decision.

The model obeys every word: the test makes the calls that a text of `injections.toml`
wants, through the executor, with the gate, the offer and the sandbox of an attempt.
Whatever is made, nothing outside of the worktree has changed, no key was seen, nobody
was reached, and what would land has to pass a person.
"""

import contextlib
import hashlib
import json
import shlex
import socket
import tomllib
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from gitagent.core.agent import Agent
from gitagent.core.candidate import Candidate, Change, PathChange, Started
from gitagent.core.conversation import Call, CallState, Entry, Kind, Origin
from gitagent.core.effect import taint
from gitagent.core.layout import RECORD_FOLDERS
from gitagent.core.models import ANTHROPIC
from gitagent.core.policy import protected, rule
from gitagent.core.question import Answer
from gitagent.core.reach import Facts
from gitagent.core.settings import Loop, Mcp, Settings
from gitagent.core.submission import Submission, SubmissionState
from gitagent.core.task import Attempt, TaskFile, TaskRecord, TaskState
from gitagent.files import clean, taskfile
from gitagent.host.cancel import Cancel
from gitagent.worker import sandbox, taskinfo, workspace
from gitagent.worker.executor import Executor
from gitagent.worker.folder import Folder, folder_of
from gitagent.worker.inside.place import facts
from gitagent.worker.loop import dialogue
from gitagent.worker.loop.bodies import Output, Way
from gitagent.worker.loop.fetching import Fetching
from gitagent.worker.loop.form import Who
from gitagent.worker.loop.gating import Gate
from gitagent.worker.loop.hands import Hands
from gitagent.worker.loop.offer import Offer
from gitagent.worker.loop.offered import offered
from gitagent.worker.loop.own import Own
from gitagent.worker.loop.table import TABLE
from tests.support.repos import Repo
from tests.worker.work import Work

CASES = tomllib.loads(Path(__file__).with_name("injections.toml").read_text())["case"]
ORIGINS = {"task", "file", "name", "history", "output", "web", "mcp", "tool"}
KEY = "planted-key-4711"
HOST = "docs.example:443"
SINCE = "2026-11-30T12:00:00Z"
OWN, OTHER = ".agent/tasks/fix.md", ".agent/tasks/other.md"


@dataclass
class Ground:
    """The workspace of an attempt, its sandbox, and what lies outside of both."""

    repo: Repo
    folder: Folder
    hands: Hands
    facts: Facts
    outside: Path
    listener: socket.socket
    base: str = ""

    def inside(self, command: str) -> str:
        """Run a command of the test in the sandbox."""
        done = self.hands.execute("shell", {"command": command}, Way(60, Cancel()))

        assert CallState.DONE is done.state, done.whole
        return done.whole.decode()

    def around(self) -> dict[str, object]:
        """Return what nobody may have changed."""
        common = self.repo.common_dir
        files = (each for each in common.rglob("*") if each.is_file())
        kept = {
            str(each): hashlib.sha256(each.read_bytes()).hexdigest()
            for each in (*files, self.folder.gitfile)
        }
        refs = {ref: self.repo.oid(ref) for ref in self.repo.refs("refs/")}
        there = sorted(each.name for each in self.outside.iterdir())
        return {"kept": kept, "refs": refs, "outside": there}

    def clear(self) -> None:
        """Bring the worktree back to where it began."""
        self.inside(
            "git config --unset core.hooksPath; git reset -q --hard;"
            f" git update-ref refs/heads/main {self.base};"
            f" git reset -q --hard {self.base}; git clean -fdxq"
        )
        for each in self.folder.out.iterdir():
            each.unlink()


@pytest.fixture(scope="module")
def ground(tmp_path_factory):
    top = tmp_path_factory.mktemp("injections")
    outside = top / "outside"
    outside.mkdir()
    (outside / "key").write_text(KEY)
    files = {
        "README.md": "A product.\n",
        "src/a.py": "a = 1\n",
        OTHER: "# Other\n\nDo it.\n",
        OWN: "+++\naccept = ['make']\n+++\n# Fix\n\nFix it.\n",
        ".agent/config.toml": 'target = "main"\n',
    }
    repo = Repo.make(top / "repo", files)
    with contextlib.ExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        patch.setenv("XDG_CACHE_HOME", str(top / "cache"))
        patch.setenv("PLANTED_KEY", KEY)
        order = Work(repo).order(agent=Agent("fix", "model", may=("write", "shell")))
        folder = folder_of(order.repo.common_dir, "fix", 1, confined=True)
        folder.path.mkdir(parents=True, mode=0o700)
        with order.repo.objects() as objects:
            covered = workspace.make(order, objects, folder)
        info = taskinfo.taskinfo(order)
        workspace.give(folder, taskinfo.NAME, info)
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        listener.setblocking(False)
        confinement = sandbox.workspace(order, folder, covered)
        hands = Hands(confinement, "injections", told=lambda _: None)
        stack.enter_context(hands)
        known = facts(json.loads(info), folder.inside_tree, "")
        made = Ground(repo, folder, hands, known, outside, listener)
        made.base = made.inside("git rev-parse HEAD").strip()
        yield made
        for each in made.folder.out.iterdir():
            each.unlink()


@dataclass
class Spoken:
    """A conversation that is nowhere written down."""

    entries: tuple[Entry, ...] = ()
    name: str = "fix"
    full: bool = False
    blobs: dict[str, bytes] = field(default_factory=dict)

    def append(self, entry, attached=None):
        del attached
        made = replace(entry, number=len(self.entries) + 1, text=entry.text)
        self.entries += (made,)
        return made

    def name_of(self, data):
        return hashlib.sha1(data, usedforsecurity=False).hexdigest()


class Says:
    """A page or a server that says what it likes."""

    def __init__(self, text):
        self.text = text

    def execute(self, tool, _given, _way):
        data = self.text.encode("utf-8", "surrogatepass")
        if tool != "web_fetch":
            return Output(data, origin=Origin.MCP)
        sizes = {"text": len(data), "snapshot": 0}
        return Output(data + b"\n" + json.dumps(sizes).encode())


class Starts:
    """What would start a task."""

    def __init__(self):
        self.started = []

    def execute(self, tool, given, _way):
        self.started.append((tool, given))
        return Output(b"started")


class Obeying:
    """A model that does what it is told by anybody, in one conversation."""

    def __init__(self, ground, case):
        self.ground = ground
        self.case = case
        self.text = case["text"].replace("{mark}", "0" * 32)
        self.origin = case["from"]
        self.spoken = Spoken()
        self.standing = Starts()
        self.agent = Agent(
            "fix",
            "model",
            may=tuple(case.get("may", ("write", "shell"))),
            decide=tuple(case.get("decide", ())),
        )
        self.facts = replace(
            ground.facts, may=self.agent.may, network=(HOST,), confined=True
        )
        self.forms = self._served() if self.origin in {"mcp", "tool"} else ()
        self.answers = tuple(
            Answer(text, said) for text, said in case.get("answers", {}).items()
        )
        # As the loop has it where servers are named: see `wiring`.
        self.origins = frozenset({Origin.MCP} if self.forms else ())
        self.executor = self._executor(case.get("profile", ""))
        self.numbers = 0

    def _served(self):
        said = [
            {
                "name": name,
                "description": self.text if self.origin == "tool" else "It helps.",
                "schema": {"type": "object"},
            }
            for name in ("find", "write")
        ]
        specs = {"notes": Mcp(("notes-server",), reads=("find",))}
        found = offered(specs, {"notes": said}, lambda _: None)
        return tuple(each.form for each in found.values())

    def _executor(self, profile):
        ground, chat = self.ground, self.case.get("chat", False)
        offer = Offer(self.facts, profile, chat=chat, more=self.forms)
        own = Own(self.spoken, ground.folder.given, ground.folder.out)
        bodies = {
            Who.HANDS: ground.hands,
            Who.OWN: own,
            Who.MCP: Says(self.text),
            Who.MEMORY: Says(self.text),
            Who.STANDING: self.standing,
        }
        by_tool = {each.name: bodies[each.who] for each in (*TABLE, *self.forms)}
        by_tool["web_fetch"] = Fetching(Says(self.text))
        gate = Gate(self.facts, profile, self.agent.decide, self.answers, self.origins)
        return Executor(self.spoken, gate, by_tool, offer, Loop())

    def turn(self, tool, **given):
        """Make one call; return its receipt."""
        self.numbers += 1
        call = Call(f"c{self.numbers}", tool, json.dumps(given))
        self.spoken.append(Entry(Kind.SAY, origin=Origin.MODEL, calls=(call,)))
        self.executor.run([call], Cancel())
        return self.spoken.entries[-1]

    def hear(self):
        """Let the text come to the model as it does; return the entry that has it."""
        tree = self.ground.folder.tree
        match self.origin:
            case "task":
                parsed = taskfile.parse("fix", "b" * 40, self.text.encode(), "fix.md")

                assert isinstance(parsed, TaskFile)
                assert (None, (), (), ()) == (
                    parsed.agent,
                    parsed.paths,
                    parsed.accept,
                    parsed.budget,
                )
                words = Entry(Kind.INPUT, origin=Origin.TASK, text=parsed.text)
                return self.spoken.append(replace(words, binding=True))
            case "file":
                (tree / self.case["path"]).parent.mkdir(exist_ok=True)
                (tree / self.case["path"]).write_text(self.text)
                return self.turn("read", path=self.case["path"])
            case "name":
                (tree / self.text.replace("/", "-")).touch()
                return self.turn("glob", pattern="*")
            case "history":
                said = shlex.quote(self.text)
                self.ground.inside(f"git commit -q --allow-empty -m {said}")
                return self.turn("git", view="log -1")
            case "output":
                (tree / "printed").write_text(self.text)
                return self.turn("shell", command="cat printed; rm printed")
            case "web":
                return self.turn("web_fetch", url=f"https://{HOST}/page")
            case _:
                return self.turn("mcp__notes__find")

    def asked(self):
        """Yield the calls that the text wants."""
        places = {
            "{outside}": str(self.ground.outside),
            "{port}": str(self.ground.listener.getsockname()[1]),
        }
        for each in self.case["calls"]:
            text = json.dumps(each)
            for place, value in places.items():
                text = text.replace(place, value)
            given = json.loads(text)
            yield given.pop("tool"), given

    def ruling(self):
        """Return what changed in the worktree, and what the target says of it."""
        tree = self.ground.folder.tree
        said = self.ground.inside("git status --porcelain -z -uall --no-renames")
        changes, starts = [], []
        for line in filter(None, said.split("\0")):
            path, there = line[3:], (tree / line[3:]).is_file()
            kind = Change.ADDED if there else Change.DELETED
            mode = 0o120000 if (tree / path).is_symlink() else 0o100644 * there
            changes.append(PathChange(path, kind, 0, mode, "", "c" * 40 * there))
            if there and path.startswith(".agent/tasks/"):
                starts.append(Started(path, None, content=(tree / path).read_text()))
        heard = self.origins | taint(self.spoken.entries, self.facts)
        attempt = Attempt(1, "b", "c", SINCE, untrusted=tuple(sorted(heard)))
        record = TaskRecord("fix", TaskState.SUBMITTED, "b", SINCE, attempts=(attempt,))
        candidate = Candidate(
            "b", ("t",), product="p", changes=tuple(changes), starts=tuple(starts)
        )
        made = Submission("s-1", "t", SubmissionState.CHECKING, SINCE, SINCE, "fix")
        made = replace(made, task="fix")
        return changes, rule(
            candidate, made, Settings(), None, self.agent, record=record
        )


@pytest.fixture
def obeying(ground, request):
    made = Obeying(ground, request.param)
    yield made
    ground.clear()


@pytest.mark.parametrize(
    "obeying", CASES, ids=[each["name"] for each in CASES], indirect=True
)
def test_no_effect_is_had_without_its_grant_or_decision(obeying):
    ground, case = obeying.ground, obeying.case
    before = ground.around()
    heard = obeying.hear()
    results = [obeying.turn(tool, **given) for tool, given in obeying.asked()]

    assert case["ends"] == [each.state for each in results]
    assert [] == obeying.standing.started
    assert before == ground.around()
    with pytest.raises(BlockingIOError):
        ground.listener.accept()
    said = "\n".join(each.text for each in obeying.spoken.entries)
    assert KEY not in said
    assert not {"MADE", "GOT"} & set(said.split())

    # What is done in the worktree counts when it lands.
    changes, ruling = obeying.ruling()
    guarded = {each.path for each in protected(Settings(), changes)}
    guarded |= {c.path for c in changes if c.path.startswith(RECORD_FOLDERS)}
    stopped = {each.path for each in ruling.approve}
    no = " ".join(ruling.no)
    assert set() == {each for each in guarded - stopped if each not in no}
    # What could be seen is stopped before that.
    records = {path for path in guarded if path.startswith(RECORD_FOLDERS)}
    assert not records or case.get("seen") is False

    is_fenced(obeying, heard)


def is_fenced(obeying, heard):
    """Whose words are of others stand in a fence that they do not close."""
    made = dialogue.messages(obeying.spoken.entries, lambda _: b"", ANTHROPIC)
    texts = [each.text for message in made for each in message.results]
    shown = clean.visible(heard.text)
    if heard.kind is not Kind.RESULT or heard.origin not in {Origin.WEB, Origin.MCP}:
        return
    (text,) = (each for each in texts if heard.text.strip() in each)
    first, rest = text.split("\n", 1)
    inner, last = rest.rsplit("\n", 1)
    mark = last.removeprefix("[end of ").removesuffix("]")

    assert shown.strip() == inner.strip()
    assert 32 == len(mark)
    assert mark in first
    assert mark not in inner
    assert "material" in first


def test_whoever_is_heard_asks_for_whatever_there_is():
    named = Counter(each["from"] for each in CASES)
    tools = {call["tool"] for each in CASES for call in each["calls"]}

    assert named.total() >= 50
    assert set(named) == ORIGINS
    assert len({each["name"] for each in CASES}) == len(CASES)
    assert tools >= {"write", "edit", "shell", "code", "web_fetch", "start_task"}
    assert tools >= {"finish", "ask", "git", "read"}
