"""The normal form of ids and times. Ids are numbered in the order in which they come: the first
`call_a8f3` becomes `call_1` wherever it occurs.
"""

import datetime
import re

from converter.core.calls.ids import suffix_of
from converter.extras.recordings.recording import REPLY_ID
from converter.extras.recordings.redact.json_tokens import Path, Token

CREATED = 1_700_000_000
"""The time of every recorded reply, in seconds since 1970."""
_CREATED_AT = datetime.datetime.fromtimestamp(CREATED, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
_NEVER_CREATED = ("1970-01-01T00:00:00Z", "")
_REPLY_IDS: set[Path] = {("id",), ("message", "id"), ("response", "id")}
_CALL_IDS: set[Path] = {
    ("messages", None, "tool_calls", None, "id"),
    ("messages", None, "tool_call_id"),
    ("messages", None, "content", None, "id"),
    ("messages", None, "content", None, "tool_use_id"),
    ("choices", None, "delta", "tool_calls", None, "id"),
    ("message", "tool_calls", None, "id"),
    ("choices", None, "message", "tool_calls", None, "id"),
    *(
        (*path, "call_id")
        for path in [("input", None), ("item",), ("output", None), ("response", "output", None)]
    ),
    ("input", None, "id"),
    ("content_block", "id"),
    ("content", None, "id"),
}
_ITEM_IDS: set[Path] = {
    ("item_id",),
    ("item", "id"),
    ("output", None, "id"),
    ("response", "output", None, "id"),
}
_RESPONSE_CREATED_FIELDS: set[Path] = {
    (*path, name) for path in [(), ("response",)] for name in ("created_at", "completed_at")
}
"""The times at which a response began and ended. They are 0, because a replay has no clock."""
_CREATED_FIELDS: set[Path] = {("created",), ("data", None, "created")}
_CREATED_AT_FIELDS: set[Path] = {("created_at",), ("data", None, "created_at")}
_REQUEST_IDS: set[Path] = {("request_id",), ("error", "request_id")}
_NO_NANOSECONDS = ".000000000Z"
"""The end of the times that the addon writes for Ollama's clients: a replay, without a clock,
writes no fraction.
"""
_NANOSECONDS: dict[Path, int] = {
    ("prompt_eval_duration",): 1_000_000,
    ("eval_duration",): 1_000_000,
    ("total_duration",): 2_000_000,
}
"""Ollama's fields of times in nanoseconds, with the values that a replay computes from the normal
form of other servers' times, 1 ms.
"""
_FREE = {"input", "arguments", "parameters", "input_schema", "schema", "messages"}
"""Names of values that users and models write. The names within them are not fields of an API."""
_DURATION = re.compile(r".*(?:_ms|_per_second|_time|_duration|_latency)|latency|duration")
_REPLY_PREFIX = re.compile(r"(?:chatcmpl-)?(?:msg_)?")
_RESPONSE_PREFIX = "resp_"
"""The beginning of the id of a response. The rest is the flow's id, in a replay always
`REPLY_ID`.
"""
_CALL_PREFIX = re.compile(r"call_|toolu_|chatcmpl-tool-|")
_OURS = ("toolu", "call")
"""The beginnings of ids of calls that the addon makes."""
_MEANS_SOMETHING = re.compile(r"functions\.[\w.-]+:\d+")
"""The pattern of Kimi's ids, which are the tool's name and the call's index. They stay, because
they are the same in each run.
"""


class Normaliser:
    """The normal form of one exchange's ids and times. Tokens must come in the order in which the
    bodies were sent.

    `listed`: True if the reply lists models, whose ids are names and stay. `flow`: the flow's id,
    which is a part of ids that the addon made.
    """

    def __init__(self, listed: bool = False, flow: str = "") -> None:
        self._listed = listed
        self._names = {name: REPLY_ID for name in (suffix_of(flow), REPLY_ID) if name}
        self._replies: dict[str, str] = {}
        self._calls: dict[str, str] = {}

    def of(self, token: Token) -> str | float:
        """Return a token's value in its normal form. Most values are no ids or times, and stay."""
        if isinstance(token.value, str):
            return token.value if token.name else self._string(token.path, token.value)
        if token.path in _CREATED_FIELDS:
            return type(token.value)(CREATED) if token.value else token.value
        if token.path in _RESPONSE_CREATED_FIELDS:
            return 0
        if token.path in _NANOSECONDS:
            return _NANOSECONDS[token.path]
        timed = (
            token.path and _DURATION.fullmatch(token.path[-1] or "") and not _FREE & {*token.path}
        )
        return type(token.value)(1) if timed else token.value

    def _string(self, path: Path, value: str) -> str:
        if path in _CALL_IDS:
            return self._call(value)
        if path in _REPLY_IDS and not self._listed:
            return self._reply(value)
        if path in _ITEM_IDS:
            return self._item(value)
        if path in _REQUEST_IDS:
            return f"req_{REPLY_ID}" if value else value
        if path == ("created_at",) and value.endswith(_NO_NANOSECONDS):
            return f"1970-01-01T00:00:00{_NO_NANOSECONDS}"
        return _CREATED_AT if path in _CREATED_AT_FIELDS and value not in _NEVER_CREATED else value

    def _reply(self, value: str) -> str:
        """Return a reply's id in its normal form: `chatcmpl-a8f3` -> `chatcmpl-recording`. The
        prefix does not count as a part of the id, because an encoder of another dialect drops it.
        """
        if value.startswith(_RESPONSE_PREFIX):
            self._replies[value.removeprefix(_RESPONSE_PREFIX)] = REPLY_ID
            return _RESPONSE_PREFIX + REPLY_ID
        prefix = _REPLY_PREFIX.match(value)[0]  # type: ignore[index]  # it matches anything
        core = value.removeprefix(prefix)
        if not core:
            return value
        count = len(self._replies) + 1
        return prefix + self._replies.setdefault(
            core, REPLY_ID if count == 1 else f"{REPLY_ID}-{count}"
        )

    def _item(self, value: str) -> str:
        """Return an item's id with the normal form of the response's id that is a part of it."""
        for reply, name in self._replies.items():
            value = value.replace(f"_{reply}_", f"_{name}_")
        return value

    def _call(self, value: str) -> str:
        if not value or _MEANS_SOMETHING.fullmatch(value):
            return value
        for reply, name in {**self._names, **self._replies}.items():
            # An id that contains a reply's id was made by the addon, for a call without an id.
            ours = re.fullmatch(rf"(.+)_{re.escape(reply)}_(\d+(?:_\d+)?)", value, re.DOTALL)
            if ours:
                return f"{ours[1] if ours[1] in _OURS else self._call(ours[1])}_{name}_{ours[2]}"
        prefix = _CALL_PREFIX.match(value)[0] or "call_"  # type: ignore[index]
        return self._calls.setdefault(value, f"{prefix}{len(self._calls) + 1}")
