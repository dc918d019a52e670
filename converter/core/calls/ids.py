"""Ids of tool calls: each is unique in its conversation, whatever the server sends."""

import base64
import hashlib
import re

_NO_NAME = re.compile(r"[^A-Za-z0-9_-]")
_SUFFIX = 12
"""Characters of the exchange's name in the ids of calls, because servers repeat theirs, Ollama
draws from 999, and APIs take 64.
"""
_COUNTED = re.compile(r"(?P<head>functions\..+:)(?P<number>\d{1,9})")
"""Kimi's ids, which its template writes back where the name should stand."""


def is_counted(written: str) -> bool:
    """Return True if it is an id of Kimi's: `functions.NAME:NUMBER`."""
    return _COUNTED.fullmatch(written) is not None


SHORT_MODELS = re.compile(r"(?i:(?:is|devs|codes|maths|leans|pix|vox)tral|mixtral)")
"""Mistral's, whose templates refuse an id that is not nine letters and digits."""
_SHORT = re.compile(r"[A-Za-z0-9]{9}")


def short_id(written: str) -> str:
    """Return an id of nine letters and digits: the same one if it is such, else a hash of it."""
    digest = hashlib.sha256(written.encode("utf-8", "surrogatepass")).digest()
    return written if _SHORT.fullmatch(written) else base64.b32encode(digest).decode()[:9]


def suffix_of(exchange: str) -> str:
    """Return the part of an exchange's name that stands in the ids made for it."""
    return _NO_NAME.sub("", exchange)[-_SUFFIX:]


class CallIds:
    """The ids of a conversation's calls.

    Arguments:
        taken: those of its history.
        suffix: makes an id unique.
        model: its name, which may ask for a form of ids.
    """

    def __init__(self, taken: frozenset[str], suffix: str, model: str = "") -> None:
        self._taken = set(taken)
        self._suffix = suffix
        self._count = 0
        self._are_short = SHORT_MODELS.search(model) is not None

    def take_ours(self, wanted: str) -> str:
        """Return the id of a call that the addon has read from text, in the model's form."""
        call_id = self.take(wanted)
        while self._are_short and not _SHORT.fullmatch(call_id):
            call_id = self.take(short_id(call_id))
        return call_id

    def take(self, wanted: str) -> str:
        """Return an id that no call has, the wanted one if it is free. Kimi's count goes on."""
        call_id, counted = wanted, _COUNTED.fullmatch(wanted)
        number = int(counted["number"]) if counted else 0
        while not call_id or call_id in self._taken:
            if counted:
                number += 1
                call_id = f"{counted['head']}{number}"
            else:
                call_id = f"{wanted or 'call'}_{self._suffix}_{self._count}"
                self._count += 1
        self._taken.add(call_id)
        return call_id
