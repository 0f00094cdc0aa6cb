"""SSH keys made for a test, and the files that say whom they may sign for."""

import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Self


@dataclass(frozen=True, slots=True)
class Key:
    """A key pair in files of its own."""

    path: Path  # of the private key

    @classmethod
    def make(cls, path: Path, *, passphrase: str = "") -> Self:
        """Make an Ed25519 key at ``path``."""
        path.parent.mkdir(parents=True, exist_ok=True)
        words = ["-q", "-t", "ed25519", "-C", "", "-N", passphrase, "-f", str(path)]
        subprocess.run(["ssh-keygen", *words], check=True, stdin=subprocess.DEVNULL)
        return cls(path)

    @property
    def public(self) -> str:
        """The public key, on one line."""
        return Path(f"{self.path}.pub").read_text().strip()

    def allowed(self, who: str, options: str = "") -> str:
        """Return the line that lets the key sign for ``who``, an address."""
        return " ".join(filter(None, [who, options, self.public])) + "\n"


REVOKED = 'valid-before="20200101"'
NOT_YET = 'valid-after="20990101"'
