"""Real frames lost, doubled, moved, cut and joined."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from converter.core.dialects.table import Form
from converter.extras.recordings.recording import Recording
from tests.fuzz.mutations import pieces_of, recordings, spoiled_frames
from tests.fuzz.replies import judge
from tests.support.strategies import law

pytestmark = pytest.mark.slow

_FRAMES = re.compile(rb".*?(?:\r?\n\r?\n|\Z)", re.DOTALL)
STREAMED = [recording for recording in recordings() if recording.server_form is Form.STREAM]


@law(40)
@given(st.data(), st.sampled_from(STREAMED))
def test_spoiled_frames_of_a_real_stream(data: st.DataObject, recording: Recording) -> None:
    frames = [frame for frame in _FRAMES.findall(recording.body) if frame]
    body = b"".join(data.draw(spoiled_frames(frames)))
    judge(recording, data.draw(pieces_of(body)))
