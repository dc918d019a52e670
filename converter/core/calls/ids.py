"""`CallIds` gives each tool call of a reply an id that is unique in the conversation, whatever the
server sends. `is_kimi_id` and `short_id` are for the ids that Kimi's and Mistral's chat templates
need.
"""

import base64
import hashlib
import re

_NOT_IN_IDS = re.compile(r"[^A-Za-z0-9_-]")
"""The pattern of a character that not all APIs allow in ids. `id_suffix` leaves it out."""
_SUFFIX = 12
"""How many characters of the exchange's id (that of its flow) a new id of a call contains. They
make the id unique: some servers repeat ids, and Ollama draws them from 999 numbers. APIs accept ids
of 64 characters.
"""
_KIMI_ID = re.compile(r"(?P<head>functions\..+:)(?P<number>\d{1,9})")
"""The ids of Kimi models: `functions.get_weather:0`. Their chat template writes only the id of an
earlier call, not the tool's name, so a changed id must still contain the name.
"""


def is_kimi_id(written: str) -> bool:
    """Return True if `written` is an id of a Kimi model: `functions.NAME:NUMBER`."""
    return _KIMI_ID.fullmatch(written) is not None


SHORT_MODELS = re.compile(r"(?i:(?:is|devs|codes|maths|leans|pix|vox)tral|mixtral)")
"""Names of Mistral's models. Their chat templates accept only ids of nine letters and digits."""
_SHORT = re.compile(r"[A-Za-z0-9]{9}")
"""The pattern of an id that the chat templates of Mistral's models accept."""


def short_id(written: str) -> str:
    """Return `written` if it is nine letters and digits; else nine characters of its hash."""
    digest = hashlib.sha256(written.encode("utf-8", "surrogatepass")).digest()
    return written if _SHORT.fullmatch(written) else base64.b32encode(digest).decode()[:9]


def id_suffix(exchange: str) -> str:
    """Return the last `_SUFFIX` characters of an exchange's id, without characters that not all
    APIs allow in ids. They make the ids of the exchange's calls unique.
    """
    return _NOT_IN_IDS.sub("", exchange)[-_SUFFIX:]


class CallIds:
    """Chooses the id of each call of a reply, so that no two calls of the conversation share one.

    Arguments:
        taken: the ids of calls in the conversation's history.
        suffix: the end of new ids, which makes them unique (see `id_suffix`).
        model: the model's name. Calls of Mistral's models get short ids if they stand in text.
    """

    def __init__(self, taken: frozenset[str], suffix: str, model: str = "") -> None:
        self._taken = set(taken)
        self._suffix = suffix
        self._count = 0
        self._are_short = SHORT_MODELS.search(model) is not None

    def take_for_text(self, wanted: str) -> str:
        """Return the id for a call that was read from text: as `take` does, but a short id
        (`short_id`) for Mistral's models. The returned id counts as taken from now on.

        `wanted`: the id that the reader suggests; empty if it suggests none.
        """
        call_id = self.take(wanted)
        while self._are_short and not _SHORT.fullmatch(call_id):
            call_id = self.take(short_id(call_id))
        return call_id

    def take(self, wanted: str) -> str:
        """Return the id for a call: `wanted`, the server's id, if no other call has it.

        Otherwise `wanted` (or `call`, if it is empty) gets the suffix and a number that no other
        id has: `call_SUFFIX_0`. A Kimi id gets only another number: `functions.f:0` ->
        `functions.f:1`. The returned id counts as taken from now on.
        """
        call_id, counted = wanted, _KIMI_ID.fullmatch(wanted)
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
