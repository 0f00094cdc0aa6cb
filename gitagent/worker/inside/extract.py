"""A page in HTML as text, in a process that may be ended: ``extract.py < HTML``.

Some pages, by accident or not, take the library minutes or all memory. The first line
says what made the text.
"""

import resource
import sys
from importlib.metadata import version

_MEMORY = 1 << 30  # bytes
_OUTPUT = 8 << 20  # characters
_UNSEEN = ("head", "img", "noscript", "script", "style", "svg", "template")


def main() -> int:
    """Read UTF-8, write UTF-8."""
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    # So that they have the limit as well.
    from bs4 import BeautifulSoup  # noqa: PLC0415
    from markdownify import ATX, MarkdownConverter  # noqa: PLC0415

    html = sys.stdin.buffer.read().decode(errors="replace")
    maker = MarkdownConverter(
        heading_style=ATX,
        escape_asterisks=False,
        escape_underscores=False,
        wrap=True,  # to one line a paragraph, as no width is given
        wrap_width=None,
    )
    try:
        page = BeautifulSoup(html, "html.parser")
        for each in page(_UNSEEN):
            each.decompose()
        text = maker.convert_soup(page)
    except (AssertionError, IndexError, MemoryError, RecursionError, ValueError):
        return 1
    said = f"markdownify {version('markdownify')}\n{text[:_OUTPUT]}"
    sys.stdout.buffer.write(said.encode(errors="replace"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
