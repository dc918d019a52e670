"""Whatever bytes a server sends, and however they are cut: nothing is raised, and what a client of
another dialect gets is well-formed.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from converter.extras.recordings.recording import Recording
from tests.fuzz.mutations import pieces_of, recordings, spoiled_bytes
from tests.fuzz.replies import judge
from tests.support.strategies import law

pytestmark = pytest.mark.slow


@law(30)
@given(st.data(), st.sampled_from(recordings()))
def test_spoiled_bytes_of_a_real_reply(data: st.DataObject, recording: Recording) -> None:
    body = data.draw(spoiled_bytes(recording.body))
    judge(recording, data.draw(pieces_of(body)))


@law(20)
@given(st.data(), st.sampled_from(recordings()), st.binary(max_size=300))
def test_any_bytes(data: st.DataObject, recording: Recording, body: bytes) -> None:
    judge(recording, data.draw(pieces_of(body)))


@law(20)
@given(st.data(), st.sampled_from(recordings()), st.sampled_from(recordings()))
def test_a_real_reply_in_the_middle_of_another(
    data: st.DataObject, recording: Recording, other: "Recording"
) -> None:
    at = data.draw(st.integers(0, len(recording.body)))
    body = recording.body[:at] + other.body + recording.body[at:]
    judge(recording, data.draw(pieces_of(body)))
