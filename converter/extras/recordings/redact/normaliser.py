"""`Normaliser` replaces ids, times and durations by their normal form: values that are the same in
each recording. `redactor.py` passes it each string and number of an exchange.

Ids of calls are numbered in the order in which they come: if `call_a8f3` comes first, it becomes
`call_1` wherever it is a call's id.
"""

import datetime
import re

from converter.core.calls.ids import id_suffix
from converter.extras.recordings.recording import REPLY_ID
from converter.extras.recordings.redact.json_tokens import Path, Token

CREATED = 1_700_000_000
"""The normal form of a time in seconds since 1970: a fixed time in 2023."""
_CREATED_AT = datetime.datetime.fromtimestamp(CREATED, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
"""The time `CREATED` as Ollama and Anthropic's list of models write it."""
_NEVER_CREATED = ("1970-01-01T00:00:00Z", "")
"""Times that stay, because they say that no time is known."""
_REPLY_IDS: set[Path] = {("id",), ("message", "id"), ("response", "id")}
"""The paths of a reply's id: in `{"message": {"id": "a"}}` the path of `a` is `("message", "id")`.
"""
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
"""The paths of a call's id, in requests and replies of all dialects. None stands for an element of
an array.
"""
_ITEM_IDS: set[Path] = {
    ("item_id",),
    ("item", "id"),
    ("output", None, "id"),
    ("response", "output", None, "id"),
}
"""The paths of the ids of output items in the Responses API, such as `msg_a8f3_0`."""
_RESPONSE_CREATED_FIELDS: set[Path] = {
    (*path, name) for path in [(), ("response",)] for name in ("created_at", "completed_at")
}
"""The paths of the times at which a response began and ended, in the Responses API. These times
become 0, because a replay writes 0.
"""
_CREATED_FIELDS: set[Path] = {("created",), ("data", None, "created")}
"""The paths of times that are numbers of seconds since 1970. They become `CREATED`."""
_CREATED_AT_FIELDS: set[Path] = {("created_at",), ("data", None, "created_at")}
"""The paths of times that are texts, such as `2026-01-31T12:00:00Z`. They become `_CREATED_AT`."""
_REQUEST_IDS: set[Path] = {("request_id",), ("error", "request_id")}
"""The paths of a request's id, which the server has chosen. It becomes `req_recording`."""
_NO_NANOSECONDS = ".000000000Z"
"""The end of a time that the addon itself wrote for an Ollama client: it has no fractions of a
second. Such a time becomes 1970-01-01T00:00:00.000000000Z, which a replay writes.
"""
_NANOSECONDS: dict[Path, int] = {
    ("prompt_eval_duration",): 1_000_000,
    ("eval_duration",): 1_000_000,
    ("total_duration",): 2_000_000,
}
"""Ollama's field for a duration -> its normal value in nanoseconds: 1 ms for each of the two
parts, 2 ms for their total. If another server's reply is replayed for an Ollama client, the result
is the same: each duration of that server is 1 ms in its normal form.
"""
_FREE_FIELDS = {"input", "arguments", "parameters", "input_schema", "schema", "messages"}
"""Fields whose values are written by users and models. Numbers within these values are kept, even
under a key that looks like a duration's, such as `delay_ms`.
"""
_DURATION = re.compile(r".*(?:_ms|_per_second|_time|_duration|_latency)|latency|duration")
"""Matches keys whose values are durations or rates, which differ in each run. These numbers become
1.
"""
_REPLY_PREFIX = re.compile(r"(?:chatcmpl-)?(?:msg_)?")
"""Matches the prefix of a reply's id, which depends on the dialect: `chatcmpl-`, `msg_`, both or
none.
"""
_RESPONSE_PREFIX = "resp_"
"""The beginning of a response's id in the Responses API. In a live reply the addon makes the rest
from the flow's id, in a replay from `REPLY_ID`.
"""
_CALL_PREFIX = re.compile(r"call_|toolu_|chatcmpl-tool-|")
"""Matches the beginning that a call's id keeps in its normal form: `toolu_a8f3` -> `toolu_1`. The
match is empty for an id without such a beginning.
"""
_OURS = ("toolu", "call")
"""The beginnings of the ids that the addon makes for calls to which the server gave no id."""
_STABLE_ID = re.compile(r"functions\.[\w.-]+:\d+")
"""Matches the ids of Kimi's calls, which have the tool's name and the call's index:
`functions.get_weather:0`. They are not replaced, because they are the same in each run.
"""


class Normaliser:
    """Replaces ids, times and durations of one exchange by their normal form. The tokens must be
    passed to `normal_value` in the order in which they were sent, because ids are numbered.

    `listed`: True if the reply lists models; their ids are not replaced, because they are names.
    `flow`: the flow's id, which is a part of each id that the addon made.
    """

    def __init__(self, listed: bool = False, flow: str = "") -> None:
        self._listed = listed
        self._names = {name: REPLY_ID for name in (id_suffix(flow), REPLY_ID) if name}
        self._replies: dict[str, str] = {}
        self._calls: dict[str, str] = {}

    def normal_value(self, token: Token) -> str | float:
        """Return the normal form of a token's value if it is an id, a time or a duration, else the
        value itself.
        """
        if isinstance(token.value, str):
            return token.value if token.is_key else self._normal_string(token.path, token.value)
        if token.path in _CREATED_FIELDS:
            return type(token.value)(CREATED) if token.value else token.value
        if token.path in _RESPONSE_CREATED_FIELDS:
            return 0
        if token.path in _NANOSECONDS:
            return _NANOSECONDS[token.path]
        timed = token.path and _DURATION.fullmatch(token.path[-1] or "")
        return type(token.value)(1) if timed and not _FREE_FIELDS & {*token.path} else token.value

    def _normal_string(self, path: Path, value: str) -> str:
        """Return the normal form of a string if its path is that of an id or a time, else the
        string.
        """
        if path in _CALL_IDS:
            return self._call_id(value)
        if path in _REPLY_IDS and not self._listed:
            return self._reply_id(value)
        if path in _ITEM_IDS:
            return self._item_id(value)
        if path in _REQUEST_IDS:
            return f"req_{REPLY_ID}" if value else value
        if path == ("created_at",) and value.endswith(_NO_NANOSECONDS):
            return f"1970-01-01T00:00:00{_NO_NANOSECONDS}"
        return _CREATED_AT if path in _CREATED_AT_FIELDS and value not in _NEVER_CREATED else value

    def _reply_id(self, value: str) -> str:
        """Return a reply's id in its normal form: `chatcmpl-a8f3` -> `chatcmpl-recording`, and
        `chatcmpl-recording-2` for a second id. Ids that differ only in their prefix are one id,
        because an encoder of another dialect drops the prefix. A `resp_` id is never numbered.
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

    def _item_id(self, value: str) -> str:
        """Return the normal form of an output item's id, which contains the id of its response:
        `msg_a8f3_0` -> `msg_recording_0`. An id without the id of a reply seen so far stays.
        """
        for reply, name in self._replies.items():
            value = value.replace(f"_{reply}_", f"_{name}_")
        return value

    def _call_id(self, value: str) -> str:
        """Return a call's id in its normal form: `call_a8f3` -> `call_1`, and `call_2` for a second
        id. In an id that the addon made, such as `call_b7c4_0`, the end of the flow's id (`b7c4`)
        is replaced: `call_recording_0`. An empty id and an id of Kimi's (`_STABLE_ID`) stay.
        """
        if not value or _STABLE_ID.fullmatch(value):
            return value
        for reply, name in {**self._names, **self._replies}.items():
            # A match means that the addon made this id. The id begins with `toolu` or `call` if the
            # server gave none, and with the server's id if another call had the same id before.
            ours = re.fullmatch(rf"(.+)_{re.escape(reply)}_(\d+(?:_\d+)?)", value, re.DOTALL)
            if ours:
                return f"{ours[1] if ours[1] in _OURS else self._call_id(ours[1])}_{name}_{ours[2]}"
        prefix = _CALL_PREFIX.match(value)[0] or "call_"  # type: ignore[index]
        return self._calls.setdefault(value, f"{prefix}{len(self._calls) + 1}")
