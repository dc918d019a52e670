"""A store whose values nobody reads without the key (AES-GCM)."""

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from converter.core.model.memory import Store

NONCE = 12
"""Bytes of the random number before each value, as AES-GCM has them."""
SHORTEST_KEY = 32


class SealedStore(Store):
    """Seals the values of `store` with the first line of `key_file`; any of its lines opens them,
    so that a key can be replaced. What no line opens is not kept. Raises ValueError.
    """

    def __init__(self, store: Store, key_file: Path) -> None:
        super().__init__(store)
        self._keys = [AESGCM(hashlib.sha256(line).digest()) for line in _lines(key_file)]

    def keep(
        self, key: str, value: bytes, previous: str, names: Iterable[str], line: str = ""
    ) -> None:
        """Keep an entry; see `Memory.keep`."""
        nonce = os.urandom(NONCE)
        super().keep(key, nonce + self._keys[0].encrypt(nonce, value, None), previous, names, line)

    def values(self, key: str, *, one: bool = False) -> list[bytes] | None:
        """Return the values from this entry back; see `Store.values`."""
        opened = [self._opened(value) for value in super().values(key, one=one) or []]
        values = [value for value in opened if value is not None]
        return values if opened and len(values) == len(opened) else None

    def _opened(self, value: bytes) -> bytes | None:
        for key in self._keys:
            try:
                return key.decrypt(value[:NONCE], value[NONCE:], None)
            except (InvalidTag, ValueError):
                continue
        return None


def _lines(key_file: Path) -> list[bytes]:
    try:
        lines = [line.strip() for line in key_file.read_bytes().splitlines() if line.strip()]
    except OSError as error:
        raise ValueError(f"think_memory_key: {error}") from None
    if not lines or any(len(line) < SHORTEST_KEY for line in lines):
        raise ValueError(
            f"think_memory_key: expected lines of {SHORTEST_KEY} characters or more in {key_file}, "
            "as `openssl rand -base64 32` writes them"
        )
    return lines
