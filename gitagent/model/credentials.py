"""The keys of providers: from the environment, a file of mode 600, or a keyring.

Nothing else reads them, and what is raised here never holds one.
"""

import importlib
import os
import stat
import threading
from collections.abc import Mapping
from pathlib import Path

from gitagent.core.models import is_here
from gitagent.core.settings import Provider
from gitagent.errors import UserError

KEYRING = "gitagent"  # service name of an entry
_LARGEST = 16384  # bytes of a key's file


class Credentials:
    """Reads keys anew for each request, so that a changed one counts at once."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self._lock = threading.Lock()
        self._seen: set[str] = set()

    @property
    def seen(self) -> frozenset[str]:
        """All keys that were read."""
        with self._lock:
            return frozenset(self._seen)

    def key(self, name: str, provider: Provider) -> str:
        """Return the key of a provider, "" if it needs none.

        Raises:
            UserError: There is none where the settings say, or it may not be sent.
        """
        if provider.key_env:
            key = self._environ.get(provider.key_env, "")
            place = f"the environment variable {provider.key_env}"
            mend = "set it where the daemon is started, and start it again"
        elif provider.key_file:
            key, place = _from_file(name, provider.key_file)
            mend = "write the key into it"
        elif provider.keyring:
            key = _from_keyring(name, provider.keyring)
            place = f"the keyring entry {provider.keyring} of {KEYRING}"
            mend = f"run `keyring set {KEYRING} {provider.keyring}`"
        else:
            return ""
        key = key.strip()
        if not key:
            raise UserError(f"the key of provider {name} is missing: {place}", mend)
        with self._lock:
            self._seen.add(key)
        if not key.isascii() or not key.isprintable() or " " in key:
            raise UserError(f"the key of provider {name} is none: {place}", mend)
        if not provider.base_url.startswith("https://") and not is_here(
            provider.base_url
        ):
            raise UserError(
                f"the key of provider {name} would be sent unencrypted",
                f"write its base_url with https://, not {provider.base_url}",
            )
        return key


def mend(name: str, provider: Provider) -> str:
    """Say how a person gives a provider another key than the one it refused."""
    if provider.key_env:
        start = "where the daemon is started, and start it again"
        return f"put a good key into {provider.key_env} {start}"
    if provider.key_file:
        return f"write a good key into {provider.key_file}"
    if provider.keyring:
        return f"run `keyring set {KEYRING} {provider.keyring}`"
    where = f"[model.providers.{name}]"
    return f"name a key in {where} by key_env, key_file or keyring"


def _from_file(name: str, file: str) -> tuple[str, str]:
    path = Path(file).expanduser()
    place = f"the file {file}"
    try:
        # Not to wait for ever on a pipe; what was opened is what is judged.
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
        try:
            found = os.fstat(fd)
            if not stat.S_ISREG(found.st_mode):
                raise UserError(
                    f"the key of provider {name} cannot be read: {place} is no file",
                    "name a file in key_file",
                )
            if found.st_mode & 0o077 or found.st_uid not in {os.geteuid(), 0}:
                raise UserError(
                    f"the key of provider {name} is not used: others can read {place}",
                    f"run `chmod 600 {file}`",
                )
            data = os.read(fd, _LARGEST)
        finally:
            os.close(fd)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "it is no path"
        raise UserError(
            f"the key of provider {name} cannot be read: {place}: {why}",
            f"write the key into it and run `chmod 600 {file}`",
        ) from None
    return data.decode("utf-8", "replace"), place


def _from_keyring(name: str, entry: str) -> str:
    try:
        keyring = importlib.import_module("keyring")
    except ImportError:
        raise UserError(
            f"the key of provider {name} is in a keyring, which cannot be read here",
            "install gitagent with its extra `keyring`",
        ) from None
    try:
        found = keyring.get_password(KEYRING, entry)
    except Exception as error:  # noqa: BLE001 - a keyring's own, of any kind
        raise UserError(
            f"the key of provider {name} cannot be read from the keyring "
            f"({type(error).__name__})",
            "unlock it, or name key_env or key_file instead",
        ) from None
    return found if isinstance(found, str) else ""
