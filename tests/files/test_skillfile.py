"""Skills: what of them is offered."""

import pytest

from gitagent.core.task import Refusal
from gitagent.files.skillfile import Skill, parse

PATH = ".agent/skills/pdf/SKILL.md"


def test_a_skill_is_its_name_and_when_it_is_of_use():
    text = (
        b"---\nname: pdf-forms\ndescription: >\n  Fill\n  forms\nlicense: MIT\n---\nx\n"
    )

    assert parse("pdf", text, PATH, "b") == Skill("pdf-forms", "Fill forms", PATH, "b")


def test_without_a_name_it_is_called_as_its_folder():
    text = b"---\ndescription: Use this: always, or never\n---\n"
    long = b"---\ndescription: " + b"x" * 3000 + b"\n---\n"

    assert parse("pdf", text, PATH) == Skill("pdf", "Use this: always, or never", PATH)
    assert len(parse("pdf", long, PATH).description) == 1024


@pytest.mark.parametrize(
    ("data", "mend"),
    [
        (b"# PDF\n", "write a description"),
        (b"---\nname: pdf\n---\n", "write a description"),
        (b"---\ndescription: [x]\n---\n", "description:"),
        (b"---\nname: x\n", "put a line ---"),
        (b"---\n\xff\n---\n", "UTF-8"),
        (b"x" * 300_000, "limit"),
    ],
)
def test_a_bad_one_is_refused_in_one_line(data, mend):
    got = parse("pdf", data, PATH)

    assert isinstance(got, Refusal)
    assert mend in got.reason
    assert got.reason.startswith(PATH)
    assert len(got.reason.splitlines()) == 1
