"""Puts the client's name for the model into a reply, if the client requested the model by another
name than the server's.
"""

import json
import re
from dataclasses import replace

from converter.core.wire.sse import Frame

_TOKENS = re.compile(rb'(?P<string>"(?:[^"\\]|\\.)*+")(?P<colon>\s*:)?|[{}\[\]]', re.DOTALL)
"""The pattern of a JSON string (with the colon behind it, if it is a key) or of a bracket."""
_STRING = re.compile(rb'\s*("(?:[^"\\]|\\.)*+")', re.DOTALL)
"""The pattern of a JSON string that is a value, with the blanks before it."""
_MODEL_KEY = b'"model"'
"""The key of the field with the model's name, as JSON writes it."""
_REPLY_KEYS = (b'"message"', b'"response"')
"""The fields of a frame's JSON whose value may be the reply, an object with a field `model`: in the
Messages API and in the Responses API.
"""


def bytes_with_model(raw: bytes, name: str) -> bytes:
    """Return the bytes of a frame or body with `name` as the value of the reply's field `model`.
    Other fields called `model`, such as an argument of a call, are not changed. Return `raw` itself
    if the reply has no such field with a string.
    """
    depth, holder = 0, b""
    for token in _TOKENS.finditer(raw):
        if not token["string"]:
            depth += 1 if token[0] in b"{[" else -1
        elif token["colon"]:
            own = depth == 1 or (depth == 2 and holder in _REPLY_KEYS)
            if own and token["string"] == _MODEL_KEY and (value := _STRING.match(raw, token.end())):
                return raw[: value.start(1)] + json.dumps(name).encode() + raw[value.end(1) :]
            holder = token["string"] if depth == 1 else holder
    return raw


def frame_with_model(frame: Frame, model: str) -> Frame:
    """Return the frame with `model`, the client's name for the model, as the value of the reply's
    field `model`.
    """
    raw = bytes_with_model(frame.raw, model)
    data = raw if frame.data == frame.raw else frame.data and bytes_with_model(frame.data, model)
    return replace(frame, raw=raw, data=data)
