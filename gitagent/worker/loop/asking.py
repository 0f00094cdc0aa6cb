"""Asking a model, and asking again when its answer broke off.

Nothing was done yet of an answer that is not whole, so asking again costs money alone.
"""

from gitagent.host.cancel import Cancel
from gitagent.model.provider import Ask, Heard, NoTurn, Provider, Turn, Wrong

TRIES = 3  # in all, of one request

_AGAIN = "\n[the answer broke off, and the model is asked again]\n"


def ask(provider: Provider, what: Ask, heard: Heard, cancel: Cancel) -> Turn | NoTurn:
    """Return the answer, or why there is none, as `Provider.ask`."""
    for _ in range(TRIES - 1):
        found = provider.ask(what, heard, cancel)
        cut = isinstance(found, NoTurn) and found.wrong is Wrong.CUT
        if not cut or cancel.is_set():
            return found
        heard.text(_AGAIN)
    return provider.ask(what, heard, cancel)
