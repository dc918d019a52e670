"""The name of the model in a reply, where a client knows it by another than the server."""

import json
import re
from dataclasses import replace

from converter.core.wire.sse import Frame

_MODEL = re.compile(rb'("model"\s*:\s*)"(?:[^"\\]|\\.)*"')
"""Within a JSON string the quotes would be escaped, so that no word of a model looks like this."""


def renamed(raw: bytes, name: str) -> bytes:
    """Return a frame or body with this name for its model."""
    written = json.dumps(name).encode()
    return _MODEL.sub(lambda match: match[1] + written, raw, count=1)


def renamed_frame(frame: Frame, model: str) -> Frame:
    """Return the frame with the client's name for the model; a whole body has no other data."""
    raw = renamed(frame.raw, model)
    data = raw if frame.data == frame.raw else frame.data and renamed(frame.data, model)
    return replace(frame, raw=raw, data=data)
