"""Ids of tool calls: each is unique in its conversation, whatever the server sends."""

import base64
import hashlib
import re

_NO_NAME = re.compile(r"[^A-Za-z0-9_-]")
_SUFFIX = 12
"""How many characters of the exchange's name are part of a new id. They make it unique: servers
repeat ids, and Ollama draws from 999 numbers. APIs accept 64 characters.
"""
_COUNTED = re.compile(r"(?P<head>functions\..+:)(?P<number>\d{1,9})")
"""The ids of Kimi models. The chat template writes the id where the tool's name should be, so the
id must keep this form.
"""


def is_counted(written: str) -> bool:
    """Return True if `written` is an id of a Kimi model: `functions.NAME:NUMBER`."""
    return _COUNTED.fullmatch(written) is not None


SHORT_MODELS = re.compile(r"(?i:(?:is|devs|codes|maths|leans|pix|vox)tral|mixtral)")
"""Names of Mistral's models. Their templates accept only ids of nine letters and digits."""
_SHORT = re.compile(r"[A-Za-z0-9]{9}")


def short_id(written: str) -> str:
    """Return an id of nine letters and digits: `written` itself if it has this form, else a hash of
    it.
    """
    digest = hashlib.sha256(written.encode("utf-8", "surrogatepass")).digest()
    return written if _SHORT.fullmatch(written) else base64.b32encode(digest).decode()[:9]


def suffix_of(exchange: str) -> str:
    """Return the part of an exchange's name that is used in the ids of its calls."""
    return _NO_NAME.sub("", exchange)[-_SUFFIX:]


class CallIds:
    """Gives each call of a conversation a unique id.

    Arguments:
        taken: the ids in the conversation's history.
        suffix: a part of new ids that makes them unique.
        model: the model's name, because Mistral's models need short ids.
    """

    def __init__(self, taken: frozenset[str], suffix: str, model: str = "") -> None:
        self._taken = set(taken)
        self._suffix = suffix
        self._count = 0
        self._are_short = SHORT_MODELS.search(model) is not None

    def take_ours(self, wanted: str) -> str:
        """Return the id of a call that was read from text, in the form that the model needs."""
        call_id = self.take(wanted)
        while self._are_short and not _SHORT.fullmatch(call_id):
            call_id = self.take(short_id(call_id))
        return call_id

    def take(self, wanted: str) -> str:
        """Return `wanted` if no call has this id, else another id. Of a Kimi id only the number is
        changed.
        """
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
