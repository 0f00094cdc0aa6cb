"""Items as files: the stored text is the submitted text, or it was refused."""

import random

import pytest

from gitagent.core.memory import From, Item, Kind, Source, Status
from gitagent.core.task import Refusal
from gitagent.files import memoryfile
from gitagent.files.memoryfile import dump, name_of, parse, problems, slug_of

COMMIT = "c" * 40
PATH = ".agent/memory/x.md"
GOOD = f"""\
+++
kind = "fact"
line = "Two and two are four."
updated = "2026-12-01T12:00:00Z"

[[source]]
commit = "{COMMIT}"
path = "facts.txt"
lines = "1-2"
quote = "Two and two\\nare four."
+++

At length.
"""
ODD = [chr(code) for code in range(0x250)]
ODD += list(
    "\u2028\u2029\u202e\u200b\ufeff\ud800\udfff\U0001f600\U000e0041ß+-=[]#\"'\\"
)
PLAIN = [char for char in ODD if char.isprintable()]


def read(text: str | bytes, slug: str = "x") -> Item | Refusal:
    data = text if isinstance(text, bytes) else text.encode()
    return parse(slug, "b" * 40, data, f".agent/memory/{slug}.md")


def reason(text: str | bytes, slug: str = "x") -> str:
    found = read(text, slug)
    assert isinstance(found, Refusal)
    assert found.path == f".agent/memory/{slug}.md"
    return found.reason


def some(one: random.Random, number: int) -> Item:
    """Make an item of which anything can be wrong."""

    def text(most: int, extra: str = "") -> str:
        letters = [*(PLAIN if one.random() < 0.8 else ODD), *extra]
        return "".join(one.choices(letters, k=one.randint(0, most)))

    def source() -> Source:
        last = one.randint(0, 30)
        return one.choice(
            [
                Source(From.LINES, COMMIT, text(20) or "a b:c", 1, last, text(1250)),
                Source(From.RECEIPT, "d" * 40, quote="".join(one.choices(ODD, k=40))),
                Source(From.LANDING, COMMIT, "s-0123456789ab", quote=text(9, "\n")),
                Source(From.DECISION, "e" * 40, "fix", number, quote=text(9)),
            ]
        )

    fences = "+++\n" + text(20, "\n") + "\n+++"
    bodies = [text(4100, "\n"), fences, "---\nkind: x\n---", "\n" + text(5), ""]
    return Item(
        f"item-{number}",
        one.choice(list(Kind)),
        text(one.choice([10, 165])),
        "2026-12-01T12:00:00.5Z",
        one.choice(list(Status)),
        tuple(source() for _ in range(one.randint(0, 9))),
        supersedes=one.choice([(), ("old",), ("old", "older")]),
        disputes=one.choice([(), ("other",)]),
        verify=text(20),
        work=one.choice(["", "fix-login"]),
        because=text(20),
        body=one.choice(bodies),
    )


def test_of_a_thousand_items_the_stored_text_is_the_submitted_text_or_is_refused():
    one = random.Random(6)  # noqa: S311 - the same items each time
    items = [some(one, number) for number in range(1, 1001)]
    kept = [item for item in items if not problems(item)]

    assert [] == [item for item in kept if read(dump(item), item.slug) != item]
    assert 150 < len(kept) < 850


def test_what_is_written_by_hand_is_read():
    found = read(GOOD)
    quote = "Two and two\nare four."
    source = Source(From.LINES, COMMIT, "facts.txt", 1, 2, quote)

    assert found == Item(
        "x",
        Kind.FACT,
        "Two and two are four.",
        "2026-12-01T12:00:00Z",
        sources=(source,),
        body="At length.",
    )
    assert isinstance(found, Item)
    assert "b" * 40 == found.blob


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("fact", "hunch", ":2: kind is the text"),
        ('kind = "fact"\n', "", "kind is missing"),
        ("updated", "updatd", ":4: updatd is not a key of this file; did you mean"),
        ("Two and two are", "x" * 171, "Its line has 177 characters, and 160 are"),
        ('path = "facts.txt"\n', "", "path is missing in a source"),
        ("lines", "line", ":9: line is not a key of a source; did you mean lines?"),
        ('"1-2"', '"1 to 2"', ':9: lines is the text "1 to 2"; such as "10-14"'),
        ('"1-2"', "12", ":9: lines is the number 12, expected a text"),
        (COMMIT, "main", ':7: commit is the text "main"; write a full object id'),
        ("path =", "receipt =", ":7: commit is of another kind of source"),
        ("[[source]]", "[source]", "source is a table, expected tables"),
        ("At length.", "a\rb", "U+000D"),
        ("At length.", "a\x1bb", "U+001B"),
        ("+++\n\nAt", "At", "does not end"),
    ],
)
def test_what_cannot_be_used_says_where_and_why(old, new, said):
    assert said in reason(GOOD.replace(old, new, 1))


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"# A note\n", "the file says of what kind it is nowhere"),
        (b"\xff\n", "is not UTF-8"),
        (b"a\0b", "a NUL character"),
        (b"x" * (257 * 1024), "the limit is 256"),
    ],
)
def test_what_is_no_item_at_all_is_told(data, said):
    assert said in reason(data)


def test_a_name_that_can_be_none_is_refused_with_the_mend():
    assert "an id is lower case" in reason(GOOD, "Über")
    assert reason(GOOD, "Über").endswith("; rename the file")


def test_quotes_that_do_not_fit_into_the_front_matter_are_refused_with_the_length():
    found = read(GOOD)
    assert isinstance(found, Item)
    wide = Source(From.LINES, COMMIT, "facts.txt", 1, 2, "\U0001f600" * 1200)
    (said,) = problems(Item(**(plain(found) | {"sources": (wide,) * 4})))

    assert said.endswith("bytes, and 16,384 are the most; quote fewer lines.")


def plain(item: Item) -> dict[str, object]:
    return {name: getattr(item, name) for name in Item.__slots__}


@pytest.mark.parametrize(
    ("path", "slug", "name"),
    [
        (PATH, "x", "x"),
        (".agent/memory/x.txt", None, "x.txt"),
        (".agent/memory/a/x.md", None, "a/x.md"),
        (".agent/memory/chapters/x.md", None, "chapters/x.md"),
        (".agent/tasks/x.md", None, ".agent/tasks/x.md"),
    ],
)
def test_only_files_of_the_folder_itself_are_items(path, slug, name):
    assert (slug, name) == (slug_of(path), name_of(path))
    assert PATH == memoryfile.path_of("x")
