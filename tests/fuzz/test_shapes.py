"""Real frames and bodies whose JSON has other values, other names and other depths."""

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from converter.core.dialects.table import Form
from converter.extras.recordings.recording import Recording
from tests.fuzz.mutations import pieces_of, recordings, spoiled_json
from tests.fuzz.replies import judge
from tests.support.strategies import law

pytestmark = pytest.mark.slow

_DATA = re.compile(rb"^(?:data: ?)?(\{.*\})", re.MULTILINE)
STREAMED = [recording for recording in recordings() if recording.server_form is Form.STREAM]
WHOLE = [
    recording
    for recording in recordings()
    if recording.server_form is Form.WHOLE and recording.body.startswith(b"{")
]


@law(40)
@given(st.data(), st.sampled_from(STREAMED))
def test_frames_of_other_shapes(data: st.DataObject, recording: Recording) -> None:
    fields = list(_DATA.finditer(recording.body))
    body, behind = b"", 0
    for frame in sorted(
        data.draw(st.sets(st.sampled_from(fields), min_size=1, max_size=3)), key=_offset
    ):
        spoiled = data.draw(spoiled_json(json.loads(frame[1])))
        body += recording.body[behind : frame.start(1)] + json.dumps(spoiled).encode()
        behind = frame.end(1)
    judge(recording, data.draw(pieces_of(body + recording.body[behind:])))


@law(40)
@given(st.data(), st.sampled_from(WHOLE))
def test_bodies_of_other_shapes(data: st.DataObject, recording: Recording) -> None:
    body: Any = json.loads(recording.body)
    judge(recording, [json.dumps(data.draw(spoiled_json(body))).encode()])


def _offset(match: "re.Match[bytes]") -> int:
    return match.start()
