"""Blobs as text, as far as a person could have written them."""

from typing import Final

from gitagent.git.objects import Objects

_TEXT_BYTES: Final = 1 << 20


def text(objects: Objects, oid: str) -> str:
    """Return a blob as text; nothing for a submodule or what nobody wrote by hand."""
    if objects.kind(oid) != "blob" or objects.size(oid) > _TEXT_BYTES:
        return ""
    return objects.blob(oid).decode(errors="replace")
