"""Items of the memory as Git has them: files of a tree, and what their blobs say.

Whether a file was admitted is for the log of the memory to say; see `git.rulings`.
"""

from collections.abc import Iterator
from typing import Final

from gitagent.core.layout import MEMORY
from gitagent.core.memory import COUNTS, Item
from gitagent.core.task import Refusal
from gitagent.files import clean, memoryfile
from gitagent.files.text import FILE_LIMIT
from gitagent.git.objects import BLOB, Objects
from gitagent.git.tree import folder

_MANY: Final = 100_000  # items of which it is remembered whether they count

# By slug and blob, which decide it.
_counts: dict[tuple[str, str], bool] = {}


def files(objects: Objects, at: str) -> Iterator[tuple[str, str]]:
    """Yield slug and blob of what is to be an item at a commit or in a tree."""
    for entry in folder(objects, at, MEMORY):
        slug = memoryfile.slug_of(MEMORY + entry.name)
        if entry.mode == BLOB and slug is not None:
            yield slug, entry.oid


def read(objects: Objects, slug: str, blob: str) -> Item | Refusal:
    """Return the item that a blob says, or why it cannot be used.

    Raises:
        GitError: the blob is not here.
    """
    path = memoryfile.path_of(slug)
    if objects.size(blob) > FILE_LIMIT:
        limit = FILE_LIMIT // 1024
        return Refusal(path, f"{clean.line(path)}: it is larger than {limit} KiB")
    return memoryfile.parse(slug, blob, objects.blob(blob), path)


def counts(objects: Objects, slug: str, blob: str) -> bool:
    """Whether a blob says an item that counts. Raises as `read`."""
    key = (slug, blob)
    known = _counts.get(key)
    if known is None:
        found = read(objects, slug, blob)
        known = isinstance(found, Item) and found.status in COUNTS
        if len(_counts) >= _MANY:
            _counts.clear()
        _counts[key] = known
    return known
