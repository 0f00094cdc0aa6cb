"""A page in HTML as text, in a process that may be ended: ``extract.py < HTML``.

Some pages, by accident or not, take the library minutes or all memory. The first line
says what made the text.
"""

import resource
import sys

_MEMORY = 1 << 30  # bytes
_OUTPUT = 8 << 20  # characters


def main() -> int:
    """Read UTF-8, write UTF-8."""
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    import html2text  # noqa: PLC0415 - so that it has the limit as well

    maker = html2text.HTML2Text(bodywidth=0)
    maker.ignore_images = True
    maker.unicode_snob = True
    version = ".".join(map(str, html2text.__version__))
    try:
        text = maker.handle(sys.stdin.buffer.read().decode(errors="replace"))
    except (AssertionError, IndexError, MemoryError, RecursionError, ValueError):
        return 1
    said = f"html2text {version}\n{text[:_OUTPUT]}"
    sys.stdout.buffer.write(said.encode(errors="replace"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
