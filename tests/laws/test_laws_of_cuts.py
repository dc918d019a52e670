"""What the laws of cuts stand on; that they find faults, `test_laws` shows."""

from collections.abc import Callable

import pytest

from converter.core.dialects.table import Form
from converter.extras.recordings.recording import Recording
from laws.failures import BrokenLawError
from laws.laws_of_cuts import as_stream, law_2, law_3
from tests.support.recordings_of import of_whole, streamed

type Law = Callable[[Recording, int], None]


def test_a_whole_reply_is_taken_apart_and_a_stream_is_as_it_is() -> None:
    assert as_stream(of_whole("ab")).server_form is Form.STREAM
    stream = streamed("a")
    assert as_stream(stream) is stream


@pytest.mark.parametrize("law", [law_2, law_3])
def test_a_cut_that_changes_the_message_breaks_the_law(
    law: Law, monkeypatch: pytest.MonkeyPatch
) -> None:
    law(streamed("<think>a</think>", "b"), 1)
    said = iter(range(100))
    monkeypatch.setattr("laws.laws_of_cuts.view_of", lambda *_: [("text", str(next(said)))])
    with pytest.raises(BrokenLawError, match="expected: text '0'"):
        law(streamed("<think>a</think>", "b"), 1)
