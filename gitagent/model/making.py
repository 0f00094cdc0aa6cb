"""Who asks a model, by the API that its provider speaks.

Each client takes a second or two to import, so only the one that is needed is.
"""

import importlib

from gitagent.core.models import ANTHROPIC
from gitagent.model.provider import Provider


def load(api: str) -> None:
    """Import what `make` needs; beside other work it costs no time of its own."""
    name = "anthropic_api" if api == ANTHROPIC else "openai_api"
    importlib.import_module(f"gitagent.model.{name}")


def make(api: str, socket: str, token: str, model: str) -> Provider:
    """Return who asks a model through the gateway at a socket."""
    if api == ANTHROPIC:
        from gitagent.model.anthropic_api import AnthropicProvider  # noqa: PLC0415

        return AnthropicProvider(socket, token, model)
    from gitagent.model.openai_api import OpenAiProvider  # noqa: PLC0415

    return OpenAiProvider(socket, token, model)
