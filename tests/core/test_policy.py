"""What a submission may change, rule by rule."""

from dataclasses import replace

import pytest

from gitagent.core.agent import Agent
from gitagent.core.approval import Approval, Content, Needed, request
from gitagent.core.candidate import Candidate, Change, PathChange, Remembered
from gitagent.core.layout import CHAPTERS, MEMORY
from gitagent.core.policy import Ruling, rule
from gitagent.core.settings import Lander, Memory, Settings, Trust
from gitagent.core.submission import Submission, SubmissionState
from gitagent.core.task import TaskFile

FILE, LINK, EXECUTABLE, GITLINK = 0o100644, 0o120000, 0o100755, 0o160000
SINCE = "2026-11-30T12:00:00Z"


def change(path: str, mode: int = FILE, old: int = 0) -> PathChange:
    kind = Change.MODIFIED if old and mode else Change.ADDED if mode else Change.DELETED
    return PathChange(path, kind, old, mode, "b" * 40, "c" * 40)


def judged(
    *changes: PathChange,
    worker: bool = False,
    task: TaskFile | None = None,
    agent: Agent | None = None,
    colliding: tuple[str, ...] = (),
) -> str:
    candidate = Candidate(
        "b", ("t",), product="p", changes=changes, colliding=colliding
    )
    submission = Submission(
        "s-1",
        "t",
        SubmissionState.CHECKING,
        SINCE,
        SINCE,
        task="fix" if worker else None,
    )
    ruling = rule(candidate, submission, Settings(), task, agent)
    return " ".join((*ruling.no, *(f"{n.why}: {n.path}" for n in ruling.approve)))


@pytest.mark.parametrize(
    "path",
    ["src/a.py", ".agent/tasks/new.md", "docs/landings/x.md", "tasks/a.txt"],
)
def test_a_person_may_change_the_product_and_add_tasks(path: str):
    assert judged(change(path)) == ""


@pytest.mark.parametrize(
    ("made", "rule"),
    [
        (change(".agent/config.toml", old=FILE), "protected"),
        (change(".agent/agents/x.md"), "protected"),
        (change(".github/workflows/ci.yml", 0, FILE), "protected"),
        (change(".mcp.json"), "protected"),
        (change(".agent/tasks/x.toml"), "regular .md files"),
        (change(".agent/tasks/x.md", LINK), "regular .md files"),
        (change(".agent/tasks/x.md", EXECUTABLE), "regular .md files"),
        (change(".agent/landings/2026/11/s-1.md"), "Only the lander"),
        (change(".agent/tasks/done/x.md", 0, FILE), "Only the lander"),
        (change(".agent/memory/x.md"), "memory, by hand"),
        (change(".agent/memory/x.md", 0, FILE), "memory, by hand"),
        (change(".agent/memory/x.txt"), "regular .md files"),
        (change(".agent/memory/chapters/one.md"), "Only `gitagent chapter`"),
    ],
)
def test_what_nobody_may_change_is_named(made: PathChange, rule: str):
    found = judged(made)

    assert rule in found
    assert made.path in found


def test_names_that_collide_on_other_systems_are_named():
    assert "case or accents: Foo.py" in judged(change("Foo.py"), colliding=("Foo.py",))


def test_a_repository_inside_the_tree_is_named_and_a_file_called_head_is_none():
    inside = judged(change("x/HEAD"), change("x/objects/ab/cd"), change("x/refs/y"))

    assert "x/" in inside
    assert judged(change("docs/HEAD")) == ""


def test_a_worker_may_not_touch_its_own_task():
    found = judged(change(".agent/tasks/fix.md", old=FILE), worker=True)

    assert "its own task: .agent/tasks/fix.md" in found


def test_a_worker_starts_tasks_only_with_the_grant():
    other = change(".agent/tasks/other.md")
    granted = Agent("a", "shell", may=("write", "start_task"))

    assert "start_task" in judged(other, worker=True, agent=Agent("a", "shell"))
    assert judged(other, worker=True, agent=granted) == ""


def test_a_worker_takes_no_name_of_a_task_that_looks_at_a_landing():
    name = ".agent/tasks/distil-s-0123456789ab.md"
    granted = Agent("a", "shell", may=("write", "start_task"))
    for made in (change(name), change(name, old=FILE), change(name, 0, FILE)):
        found = judged(made, worker=True, agent=granted)

        assert found == f"Only gitagent starts what looks at a landing: {name}."
    assert judged(change(name)) == ""
    other = change(".agent/tasks/distil-water.md")
    assert judged(other, worker=True, agent=granted) == ""


def test_a_worker_answers_no_question_whatever_it_is_granted():
    answer = change(".agent/tasks/answers/fix.md")
    for may in (("write",), ("write", "start_task")):
        found = judged(answer, worker=True, agent=Agent("a", "shell", may=may))

        assert found == "Only people answer questions: .agent/tasks/answers/fix.md."
    assert judged(answer) == ""


@pytest.mark.parametrize(
    ("globs", "path", "inside"),
    [
        (("docs/**",), "docs/a/b.md", True),
        (("docs/**",), "src/docs.py", False),
        (("*.md",), "deep/down/x.md", True),
        (("src/",), "src/a.py", True),
    ],
)
def test_a_result_stays_inside_the_tasks_paths(globs, path: str, *, inside: bool):
    task = TaskFile("fix", "b" * 40, "Fix", "", paths=globs)
    found = judged(change(path), worker=True, task=task)

    assert (found == "") == inside
    assert inside or path in found


def test_the_agents_paths_count_as_well():
    agent = Agent("a", "shell", paths=("docs/**",))

    assert "its agent's" in judged(change("src/a.py"), worker=True, agent=agent)


def test_forbidden_wins_over_paths():
    task = TaskFile(
        "fix", "b" * 40, "Fix", "", paths=("src/**",), forbidden=("*.lock",)
    )
    found = judged(change("src/a.py"), change("src/a.lock"), worker=True, task=task)

    assert "`forbidden` names: src/a.lock." in found


def test_a_submodule_link_of_a_worker_is_refused_and_one_of_a_person_is_not():
    link = change("vendored", GITLINK)

    assert "submodule" in judged(link, worker=True)
    assert judged(link) == ""


def test_many_paths_are_counted_and_strange_names_stay_on_one_line():
    changes = [change(f".agent/landings/{n:02}.md") for n in range(14)]
    found = judged(*changes, change(".agent/landings/a\n\x1b[31m.md"))

    assert "and 5 more" in found
    assert "\n" not in found
    assert "\x1b" not in found


def needed(
    *changes: PathChange,
    approval: Approval | None = None,
    worker: bool = False,
    weakened: tuple[tuple[str, str], ...] = (),
    settings: Settings | None = None,
) -> dict[str, str]:
    """Return what still needs an approval, by path, and why."""
    ruling = rule(
        Candidate("b", ("t",), product="p", changes=changes),
        Submission(
            "s-1",
            "t",
            SubmissionState.CHECKING,
            SINCE,
            SINCE,
            task="fix" if worker else None,
        ),
        settings or Settings(),
        approval=approval,
        weakened=weakened,
    )

    assert () == ruling.no
    return {need.path: need.why for need in ruling.approve}


CONFIG = change(".agent/config.toml", old=FILE)
WORKFLOW = change(".github/workflows/ci.yml", 0, FILE)
APPROVED = Approval(
    "s-1",
    "t",
    (
        Content(CONFIG.path, FILE, CONFIG.new_blob),
        Content(WORKFLOW.path, 0, WORKFLOW.new_blob),
    ),
    "Test Person <person@example.org>",
    SINCE,
)


def test_protected_paths_need_an_approval_and_break_no_rule():
    both = {CONFIG.path: "protected", WORKFLOW.path: "protected"}

    assert both == needed(CONFIG, WORKFLOW, change("src/a.py"))
    assert both == needed(CONFIG, WORKFLOW, worker=True)


def test_an_approval_of_exactly_this_content_is_enough():
    assert {} == needed(CONFIG, WORKFLOW, change("src/a.py"), approval=APPROVED)
    assert {} == needed(CONFIG, approval=APPROVED)


@pytest.mark.parametrize(
    "other",
    [
        replace(APPROVED, submission="s-2"),
        replace(APPROVED, tip="another"),
        replace(APPROVED, paths=APPROVED.paths[:1]),
        replace(APPROVED, paths=()),
        replace(
            APPROVED,
            paths=(replace(APPROVED.paths[0], blob="d" * 40), APPROVED.paths[1]),
        ),
        replace(
            APPROVED,
            paths=(replace(APPROVED.paths[0], mode=EXECUTABLE), APPROVED.paths[1]),
        ),
    ],
    ids=["submission", "tip", "a path less", "no path", "blob", "mode"],
)
def test_any_other_approval_approves_nothing(other: Approval):
    both = {CONFIG.path: "protected", WORKFLOW.path: "protected"}

    assert both == needed(CONFIG, WORKFLOW, approval=other)


def test_a_target_that_changed_the_same_file_voids_the_approval():
    merged = replace(CONFIG, old_blob="e" * 40, new_blob="f" * 40)

    assert {CONFIG.path: "protected"} == needed(merged, approval=APPROVED)


def test_a_workers_weakening_needs_an_approval_and_a_persons_is_only_told():
    test = change("tests/test_a.py", old=FILE)
    signs = ((test.path, "1 more skip"), (CONFIG.path, "odd"))

    assert {} == needed(test, weakened=signs)
    assert {test.path: "1 more skip"} == needed(test, worker=True, weakened=signs)
    assert {CONFIG.path: "protected, odd"} == needed(
        CONFIG, worker=True, weakened=signs
    )


@pytest.mark.parametrize("name", ["team/signers", "team/who [may]!", "#signers "])
def test_the_file_of_those_who_may_approve_is_protected_whatever_is_said(name: str):
    settings = Settings(
        lander=Lander(protected=("!team/**", "!*")), trust=Trust(allowed_signers=name)
    )

    assert {name: "protected"} == needed(
        change(name, old=FILE), change("src/a.py"), settings=settings
    )


def test_the_request_names_each_path_and_the_command():
    needs = (Needed("a", FILE, "b", "protected"), Needed("t", 0, "", "deleted"))

    assert "a (protected), t (deleted): gitagent approve s-1." in request("s-1", needs)


def remembering(
    *changes: PathChange, memory: Remembered | None = None, executor: bool = True
) -> Ruling:
    candidate = Candidate("b", ("t",), product="p", changes=changes, memory=memory)
    checking = SubmissionState.CHECKING
    made = Submission("s-1", "t", checking, SINCE, SINCE, remembers=executor)
    settings = Settings(memory=Memory(limit=150))
    return rule(candidate, made, settings)


def test_what_the_memorys_executor_made_lands_without_an_approval():
    item, chapter = change(f"{MEMORY}a.md"), change(f"{CHAPTERS}one.md")

    assert Ruling() == remembering(item, chapter, memory=Remembered(149, 150))


def test_what_the_memorys_executor_made_changes_nothing_but_the_memory():
    ruling = remembering(change(f"{MEMORY}a.md"), change("src/a.py"))

    assert ("A commit of the memory changes nothing else: src/a.py.",) == ruling.no


def test_an_item_that_was_merged_line_by_line_is_not_what_was_examined():
    mixed = Remembered(3, 3, mixed=(f"{MEMORY}a.md",))
    ruling = remembering(change(f"{MEMORY}a.md", old=FILE), memory=mixed)

    assert ("Merged line by line, which nobody examined: .agent/memory/a.md.",) == (
        ruling.no
    )


@pytest.mark.parametrize("executor", [True, False])
def test_the_limit_of_the_memory_holds_for_every_writer_at_the_commit(executor):
    item = change(f"{MEMORY}a.md")
    over, at = Remembered(150, 151), Remembered(149, 150)
    fewer = Remembered(170, 169)
    said = (
        "151 items of the memory would count, and 150 are the most:"
        " `gitagent memory withdraw` makes room."
    )

    assert (said,) == remembering(item, memory=over, executor=executor).no
    assert () == remembering(item, memory=at, executor=executor).no
    assert () == remembering(item, memory=fewer, executor=executor).no


def test_no_approval_helps_a_file_that_is_no_item():
    wrong = ".agent/memory/a.md: Its line has 171 characters, and 160 are the most."
    item = change(f"{MEMORY}a.md")
    ruling = remembering(item, memory=Remembered(0, 0, (wrong,)), executor=False)

    assert (wrong,) == ruling.no
    assert [(item.path, "memory, by hand")] == [(n.path, n.why) for n in ruling.approve]
