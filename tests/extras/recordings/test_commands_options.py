"""Options for a recording, as a command line writes them."""

import pytest

from converter.extras.recordings.commands import changed_options
from converter.extras.recordings.recording import RecordingError


def test_values_have_the_type_of_their_option() -> None:
    written = ["think_tags=auto", "tags=<a> </a>", "think_attributes=false", "start=thinking"]
    chosen = changed_options({"history": ["drop"], "tags": ["think"]}, written)
    assert chosen == {
        "history": ["drop"],
        "tags": ["auto", "<a> </a>"],
        "attributes": False,
        "start": "thinking",
    }
    assert changed_options({}, ["think_tags="]) == {"tags": []}


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("think_print=true", "expected NAME=VALUE with one of think_tags"),
        ("nothing=1", "expected NAME=VALUE"),
        ("think_tags", "expected NAME=VALUE"),
        ("think_start=x", "think_start: expected one of"),
    ],
)
def test_what_no_recording_has_is_refused(written: str, message: str) -> None:
    with pytest.raises(RecordingError, match=message):
        changed_options({}, [written])
