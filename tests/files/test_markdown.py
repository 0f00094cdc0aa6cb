from itertools import accumulate

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from gitagent.files.markdown import outline


@pytest.mark.parametrize(
    ("text", "blocks"),
    [
        ("```sh\na\n```\ntext\n```bash\nb\nc\n```", ("a\n", "b\nc\n")),
        ("~~~shell\na\n~~~\n", ("a\n",)),
        ("```SH title=x\na\n```", ("a\n",)),
        ("``` sh\na\n```", ("a\n",)),
        ("````sh\n```\na\n```\n````", ("```\na\n```\n",)),
        ("```sh\na\n`````\n", ("a\n",)),
        ("```sh\n~~~\n```\n", ("~~~\n",)),
        ("~~~sh\n```\n~~~\n", ("```\n",)),
        ("   ```sh\n   a\n     b\n c\n   ```", ("a\n  b\nc\n",)),
        ("- one\n  ```sh\n  a\n  ```\n", ("a\n",)),
        (
            "1. one\n\n   ```sh\n   if x; then\n     y\n   fi\n   ```",
            ("if x; then\n  y\nfi\n",),
        ),
        ("- a\n  - b\n    ```sh\n    c\n    ```\n", ("c\n",)),
        ("- ```sh\n  a\n  ```\n", ("a\n",)),
        ("```sh\n```", ("",)),
        ("```sh\n\na\n\n```", ("\na\n\n",)),
        ("```python\nx\n```\n```\ny\n```", ()),
        ("    ```sh\n    a\n    ```", ()),
        ("> ```sh\n> a\n> ```", ()),
        ("<!--\n```sh\na\n```\n-->\n```sh\nb\n```", ("b\n",)),
        ("<!-- x --> \n```sh\nb\n```", ("b\n",)),
        ("```text\n```sh\na\n```\n", ()),
        ("```sh`\na\n```\n", ()),
        ("text ```sh\na\n", ()),
        ("```sh\na\n ```x\n```\n", ("a\n ```x\n",)),
        ("```shellish\na\n```", ()),
    ],
)
def test_shell_blocks_are_the_fenced_ones_in_order(text, blocks):
    assert blocks == outline(text).scripts
    assert outline(text).unclosed is None


@pytest.mark.parametrize(
    ("text", "row"),
    [
        ("```sh\na\n", 0),
        ("x\n\n~~~bash\na\n```\n", 2),
        ("````sh\na\n```\n", 0),
        ("```sh\na\n```\n```sh\nb", 3),
        ("```python\nx\n", None),
    ],
)
def test_a_block_that_does_not_end_is_named_and_left_out(text, row):
    assert row == outline(text).unclosed
    assert "b" not in "".join(outline(text).scripts)


@pytest.mark.parametrize(
    ("text", "heading"),
    [
        ("# One\n# Two", "One"),
        ("text\n\n## Two ##\n", "Two"),
        ("#no\n####### no\n#\n# yes", "yes"),
        ("Title\n=====\ntext", "Title"),
        ("Title\n---\ntext", "Title"),
        ("- item\n---\n# yes", "yes"),
        ("```\n# comment\n```\n# yes", "yes"),
        ("<!-- # no -->\n# yes", "yes"),
        ("    # code\n# yes", "yes"),
        ("no heading", None),
        ("", None),
    ],
)
def test_the_first_heading(text, heading):
    found = outline(text).heading

    assert heading == (found.text if found else None)


pieces = st.sampled_from(
    [
        "```sh",
        "```",
        "~~~ bash x",
        "~~~",
        "````",
        "a",
        "",
        "# head",
        "- item",
        "- ```sh",
        "- - ```sh",
        "1. item",
        "-     code",
        "* * *",
        "---",
        "> ```sh",
        "<!-- x",
        "-->",
        "  ```sh",
        "  a",
        "  ```",
        "   ```",
        "    ```sh",
        "    a",
        "    ```",
        "\t```sh",
        "\ta",
    ]
)


def shell(found):
    return [(info, text.rstrip()) for info, text in found if info in {"sh", "bash"}]


@settings(max_examples=300)
@given(st.lists(pieces, max_size=10))
def test_a_commonmark_reader_finds_the_same_blocks(rows):
    text = "\n".join(rows)
    tokens = MarkdownIt("commonmark").parse(text)
    quoted = list(
        accumulate(t.nesting if t.type.startswith("blockquote") else 0 for t in tokens)
    )

    assert shell((block.info, block.text) for block in outline(text).blocks) == shell(
        ((token.info.split() or [""])[0].lower(), token.content)
        for token, depth in zip(tokens, quoted, strict=True)
        if token.type == "fence" and not depth
    )
