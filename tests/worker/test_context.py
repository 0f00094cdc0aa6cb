"""What an agent is told beside its task, and what its program finds by itself."""

from dataclasses import replace

import pytest

from gitagent.core.agent import SHELL, Agent
from gitagent.core.task import Attempt, Instruction
from gitagent.worker.context import LIMIT, changed, context

SKILL = "---\nname: {0}\ndescription: When {0} is of use\n---\nDo it so.\n"


def known(work, backend="command", **fields):
    work.agent = Agent("helper", backend, **{"argv": ("x",), **fields})
    order = work.order()
    with work.opened().objects() as objects:
        return context(order, objects)


def texts(found):
    return {each.name: each.text for each in found.texts}


def paths(found):
    return [each.path for each in found.instructions]


BOTH = {"AGENTS.md": "Use tabs.\n", "CLAUDE.md": "Think first.\n"}


@pytest.mark.parametrize(
    ("backend", "given"),
    [
        ("claude", ["AGENTS.md"]),
        ("codex", ["CLAUDE.md"]),
        ("opencode", ["CLAUDE.md"]),
        ("aider", ["AGENTS.md", "CLAUDE.md"]),
        ("acp", ["AGENTS.md", "CLAUDE.md"]),
        ("command", ["AGENTS.md", "CLAUDE.md"]),
    ],
)
def test_what_a_program_reads_by_itself_is_recorded_and_not_given_twice(
    work, backend, given
):
    work.repo.commit(BOTH)
    found = known(work, backend)
    oids = {path: work.repo.oid(f"HEAD:{path}") for path in BOTH}

    assert given == list(texts(found))
    assert tuple(Instruction(*each) for each in oids.items()) == found.instructions
    assert [f"{name}@{oids[name][:8]}" for name in given] == [
        each.producer for each in found.texts
    ]


def test_opencode_reads_claude_md_where_there_is_nothing_else(work):
    work.repo.commit({"CLAUDE.md": "Think first.\n"})

    assert {} == texts(known(work, "opencode"))
    assert {} == texts(known(work, "acp", argv=("/opt/bin/opencode", "acp")))
    assert ["CLAUDE.md"] == list(texts(known(work, "codex")))


@pytest.mark.parametrize("claude", ["Use tabs.\n", "@AGENTS.md\n"])
@pytest.mark.parametrize("backend", ["command", "claude", "codex"])
def test_the_same_words_are_given_once(work, backend, claude):
    work.repo.commit({"AGENTS.md": "Use tabs.\n", "CLAUDE.md": claude})
    found = known(work, backend)

    assert ({"AGENTS.md": "Use tabs."} if backend == "command" else {}) == texts(found)
    assert ["AGENTS.md", "CLAUDE.md"] == paths(found)


@pytest.mark.parametrize(
    ("link", "to"),
    [("CLAUDE.md", "AGENTS.md"), (".claude/CLAUDE.md", "../AGENTS.md")],
)
def test_a_link_between_the_two_is_the_same_words(work, link, to):
    work.repo.write("AGENTS.md", "Use tabs.\n")
    (work.repo.path / link).parent.mkdir(exist_ok=True)
    (work.repo.path / link).symlink_to(to)
    work.repo.git("add", ".")
    work.repo.git("commit", "-qm", "link")
    found = known(work, "codex")

    assert ({}, ()) == (texts(found), found.notes)
    assert ["AGENTS.md", link] == paths(found)
    assert 1 == len({each.blob for each in found.instructions})


def test_a_link_that_leads_elsewhere_is_not_read(work):
    (work.repo.path / "AGENTS.md").symlink_to("/etc/passwd")
    (work.repo.path / "CLAUDE.md").symlink_to("../CLAUDE.md")
    work.repo.git("add", ".")
    work.repo.git("commit", "-qm", "link")
    found = known(work)

    assert ({}, []) == (texts(found), paths(found))
    assert ["AGENTS.md", "CLAUDE.md"] == [note.split()[0] for note in found.notes]
    assert all("a link that leads elsewhere" in note for note in found.notes)


def test_claude_that_imports_agents_md_has_it(work):
    work.repo.commit({**BOTH, "CLAUDE.md": "See @AGENTS.md for more.\n"})

    assert {} == texts(known(work, "claude"))
    assert "See @AGENTS.md for more." == texts(known(work, "codex"))["CLAUDE.md"]


def test_what_is_too_long_is_named_with_its_size_and_empty_is_nothing(work):
    work.repo.commit({"AGENTS.md": "x" * (LIMIT + 1), "CLAUDE.md": " \n"})
    found = known(work)

    assert {} == texts(found)
    assert ("AGENTS.md (32 KiB)",) == found.named
    assert ["AGENTS.md"] == paths(found)


def test_those_of_folders_are_named(work):
    work.repo.commit(
        {
            "b/AGENTS.md": "b\n",
            "a/deep/CLAUDE.md": "a\n",
            "node_modules/x/AGENTS.md": "x\n",
            **{f"many/{n:02}/AGENTS.md": "m\n" for n in range(30)},
        }
    )
    found = known(work)

    assert ("b/AGENTS.md", "a/deep/CLAUDE.md", "many/00/AGENTS.md") == found.named[:3]
    assert 20 == len(found.named)
    assert list(found.named) == paths(found)


def test_the_words_are_those_of_the_target_and_not_of_the_work_so_far(work):
    work.repo.commit({"AGENTS.md": "Use tabs.\n"})
    work.tip = work.repo.commit_at("refs/heads/agent/fix", {"AGENTS.md": "Cheat.\n"})

    assert {"AGENTS.md": "Use tabs."} == texts(known(work))


def test_skills_are_offered_and_bad_ones_are_left_out_and_said(work):
    work.repo.commit(
        {
            ".agent/skills/one/SKILL.md": SKILL.format("one"),
            ".agent/skills/odd/SKILL.md": "no description\n",
            ".agent/skills/empty/notes.md": "x\n",
            ".agent/skills/README.md": "x\n",
            ".agent/skills/large/SKILL.md": "x" * 300_000,
            ".claude/skills/one/SKILL.md": SKILL.format("one"),
            ".claude/skills/two/SKILL.md": SKILL.format("two"),
        }
    )
    found = known(work)
    claude = known(work, "claude")

    assert ["one", "two"] == [each.name for each in found.skills]
    assert ".agent/skills/one/SKILL.md" == found.skills[0].path
    assert ["one"] == [each.name for each in claude.skills]
    assert paths(found) == paths(claude)
    assert 2 == len(paths(found))
    assert ["large", "odd", "one"] == [note.split("/")[2] for note in found.notes]
    assert all(note.startswith("A skill is left out: ") for note in found.notes)


def test_no_more_than_fifty_skills_are_offered(work):
    work.repo.commit(
        {f".agent/skills/s{n:02}/SKILL.md": SKILL.format(f"s{n}") for n in range(53)}
    )
    found = known(work)

    assert 50 == len(found.skills)
    assert "3 skills are left out" in found.notes[0]


def test_a_definition_that_no_commit_has_is_stored(work):
    found = known(work, path="built in: x.md", source="+++\n+++\nünd\n")

    (instruction,) = found.instructions
    assert "built in: x.md" == instruction.path
    assert (
        "+++\n+++\nünd\n"
        == work.repo.raw("cat-file", "blob", instruction.blob).decode()
    )


def test_a_committed_definition_is_recorded_with_its_blob(work):
    found = known(work, path=".agent/agents/helper.md", blob="a" * 40)

    assert (Instruction(".agent/agents/helper.md", "a" * 40),) == found.instructions


def test_a_shell_is_told_nothing(work):
    work.repo.commit(BOTH)
    work.agent = SHELL
    with work.opened().objects() as objects:
        found = context(work.order("true"), objects)

    assert ((), ()) == (found.texts, found.instructions)


OLD = (Instruction("a", "1"), Instruction("b", "2"), Instruction("c", "3"))


def test_what_became_of_instructions_is_told():
    before = Attempt(1, "b", "c", "2026-11-30T12:00:00Z", instructions=OLD)
    now = (Instruction("a", "1"), Instruction("c", "4"), Instruction("d", "5"))

    assert ("c changed", "d is new", "b is gone") == changed(before, now)
    assert () == changed(before, OLD)
    assert () == changed(None, now)
    assert () == changed(replace(before, instructions=()), now)
