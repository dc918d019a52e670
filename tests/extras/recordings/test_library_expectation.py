"""A person's expectation of a recording: kept beside it, without secrets, and unmet until it is
read that way.
"""

import json
from pathlib import Path

import pytest

from converter.extras.recordings.library import Expectation, Library, expectation_diffs
from converter.extras.recordings.recording import Recording, RecordingError
from tests.support.recordings_of import of_whole, streamed

SAYS = ("<think>\nI add", " them.</think>\n\nIt is ", "5.\n")
READ = Expectation("I add them.", "It is 5.")


@pytest.fixture(params=[streamed(*SAYS), of_whole("".join(SAYS))], ids=["streamed", "whole"])
def sum_(request: pytest.FixtureRequest) -> Recording:
    recorded = request.param
    assert isinstance(recorded, Recording)
    return recorded


def test_what_is_read_as_expected_is_met(sum_: Recording) -> None:
    assert expectation_diffs(sum_, READ) == ""
    assert expectation_diffs(sum_, Expectation("I add them.\u2028"))


def test_a_difference_is_reported_in_lines(sum_: Recording) -> None:
    difference = expectation_diffs(
        sum_, Expectation("I add them twice.", "It is 5.", "it adds twice")
    )
    assert difference.split("\n") == [
        "expected, because it adds twice:",
        "--- expected thinking",
        "+++ thinking as it is read",
        "@@ -1 +1 @@",
        "-I add them twice.",
        "+I add them.",
    ]


def test_it_is_kept_beside_the_recording(tmp_path: Path, sum_: Recording) -> None:
    library = Library(tmp_path)
    assert library.read_expectation(sum_.name) is None
    path = library.write_expectation(sum_, Expectation("deep", "", "wrong"))
    assert path == tmp_path / f"{sum_.name}.expected.json"
    assert library.read_expectation(sum_.name) == Expectation("deep", "", "wrong")
    library.write_expectation(sum_, Expectation(text="5"))
    assert library.read_expectation(sum_.name) == Expectation(None, "5")


def test_secrets_of_the_recording_are_not_kept(tmp_path: Path) -> None:
    secret = "sk-not-to-be-kept-0123456789"
    recorded = streamed(f"<think>The key is {secret}.</think>", "5")
    headers = {**recorded.request.headers, "authorization": f"Bearer {secret}"}
    object.__setattr__(recorded.request, "headers", headers)
    library = Library(tmp_path)
    library.keep(recorded, replace=True)
    assert library.expectation_difference(library.load("sample")) == ""
    path = library.write_expectation(recorded, Expectation(f"The key is {secret}."))
    assert secret not in path.read_text()
    assert path == tmp_path / "sample.expected.json"
    assert library.expectation_difference(library.load("sample")) == ""


@pytest.mark.parametrize("body", ["", "[]", '{"thinking": 5}', "\ud800", "[" * 100_000])
def test_a_damaged_file_is_reported(tmp_path: Path, body: str) -> None:
    (tmp_path / "a.expected.json").write_bytes(body.encode(errors="surrogatepass"))
    with pytest.raises(RecordingError, match=r"a\.expected\.json"):
        Library(tmp_path).read_expectation("a")


def test_a_library_holds_its_recordings_to_what_is_expected(tmp_path: Path) -> None:
    library = Library(tmp_path)
    library.keep(streamed(*SAYS))
    assert library.check("sample", lambda *_: []) == []
    library.expectation_path("sample").write_text(json.dumps({"text": "It is 6."}))
    [wrong] = library.check("sample", lambda *_: [])
    assert "-It is 6." in wrong
    library.expectation_path("sample").write_text("{}")
    assert library.check("sample", lambda *_: []) == []


def test_options_that_a_note_hints_at_are_named(tmp_path: Path, sum_: Recording) -> None:
    library = Library(tmp_path)
    unread = streamed("<mythink>I add.</mythink>84")
    library.keep(unread)
    library.write_expectation(unread, Expectation("I add."))
    hinted = "--set think_tags=auto --set think_tags='<mythink> </mythink>'"
    assert (
        f"{library.command_line('bless', unread.name)} {hinted}\n"
        in library.expectation_difference(unread)
    )
    library.write_expectation(sum_, Expectation("I add."))
    assert " --set think_NAME=VALUE\n" in library.expectation_difference(sum_)
