"""The order of the built-in agent's process, as a line and back."""

from gitagent.core.question import Answer
from gitagent.core.reach import Facts
from gitagent.core.settings import Hook, Loop, Mcp
from gitagent.host.confinement import Bind, Confinement, Door
from gitagent.worker.loop import spec


def test_an_order_comes_back_as_it_was() -> None:
    told = spec.Spec(
        repository="/répo",
        conversation="fix",
        attempt=2,
        agent="model",
        way=spec.Way("anthropic", "m", "p:m", "/socket", "token"),
        owner="o",
        confinement=Confinement(
            "/workspace",
            (Bind("/a", "/b", writable=True),),
            env=(("NAME", "value"),),
            doors=(Door(1, "/f", "s"),),
        ),
        facts=Facts(task="fix", may=("write",)),
        loop=Loop(turns=3),
        mcp={"a_b": Mcp(("program",), env={"X": "1"}, probes={"do": "done"})},
        hooks=(Hook("h", "true"),),
        system=(spec.Words("gitagent", "line\nline"),),
        answers=(Answer("Q?", "yes", number=1),),
        untrusted=("web",),
    )

    line = spec.dump(told)

    assert b"\n" not in line
    assert told == spec.load(line)
