"""A folder of recordings: a kept recording is the same each time, a damaged one harms no other."""

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest

from converter.core.dialects.table import ANTHROPIC, OPENAI_CHAT
from converter.extras.recordings.library import Library
from converter.extras.recordings.recording import RecordingError
from laws import laws
from tests.support.raw_exchanges import HELLO, exchange

FILES = [
    "hello.anthropic.txt",
    "hello.mitm",
    "hello.ollama.txt",
    "hello.openai.txt",
    "hello.responses.txt",
]


@pytest.fixture
def library(tmp_path: Path) -> Library:
    return Library(tmp_path / "recordings")


def digests(library: Library) -> dict[str, str]:
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(library.folder.iterdir())
    }


def no_laws(*_: object) -> list[str]:
    return []


def test_what_is_kept_stands_beside_its_goldens(library: Library) -> None:
    assert library.names() == []
    assert library.keep(exchange()) == library.path("hello")
    assert list(digests(library)) == FILES
    assert library.names() == ["hello"]
    assert library.load("hello").body.count(b"chatcmpl-recording") == len(HELLO) - 1


def test_a_new_one_goes_into_a_folder_of_its_own_where_others_have_one(library: Library) -> None:
    library.keep(replace(exchange(), name="flat"))
    own = library.folder / "hello" / "hello.mitm"
    own.parent.mkdir()
    own.write_bytes(b"")
    assert library.keep(exchange(), replace=True) == own
    assert sorted(path.name for path in own.parent.iterdir()) == FILES
    assert library.names() == ["flat", "hello"]
    assert library.path("flat") == library.folder / "flat.mitm"
    assert library.path("third") == library.folder / "third" / "third.mitm"


def test_another_recording_of_the_name_stays_unless_replaced(library: Library) -> None:
    library.keep(exchange())
    before = digests(library)
    other = exchange(HELLO[:3], ended="gone")
    with pytest.raises(RecordingError, match="is another recording; --replace"):
        library.keep(other)
    assert digests(library) == before
    library.keep(other, replace=True)
    assert library.load("hello").abort_reason == "gone"


@pytest.mark.parametrize(
    "name",
    [
        "",
        ".",
        "..",
        "a/b",
        "../a",
        "/etc/passwd",
        "a.b",
        "a b",
        "a\n",
        "é",
        "a" * 101,
        "~",
        "-a",
        "a\0",
    ],
)
def test_a_name_is_a_name_and_no_path(name: str, library: Library) -> None:
    with pytest.raises(RecordingError, match="expected a name"):
        library.keep(replace(exchange(), name=name))
    assert not library.folder.exists()


def test_a_golden_that_no_client_has_is_taken_away(library: Library) -> None:
    library.keep(exchange())
    library.keep(exchange(client=ANTHROPIC, options={"native": ["messages"]}), replace=True)
    assert list(digests(library)) == FILES[:2]


def test_a_golden_that_says_otherwise_ends_with_the_command_that_accepts_it(
    library: Library,
) -> None:
    library.keep(exchange())
    golden = library.golden_path("hello", OPENAI_CHAT)
    lines = golden.read_text().split("\n")
    golden.write_text("\n".join(["# other", *lines[1:]]))
    library.golden_path("hello", ANTHROPIC).unlink()
    changed, missing = library.check("hello", no_laws)
    command = f"think-addon record bless hello --dir {library.folder}"
    assert changed.startswith("--- accepted/hello.openai.txt\n+++ now/hello.openai.txt\n")
    assert f"\n-# other\n+{lines[0]}\n" in changed
    assert changed.endswith(f"\n{command}")
    gone = library.golden_path("hello", ANTHROPIC)
    assert missing == f"{gone} is not there\n{command}"


def test_a_damaged_file_is_one_line_and_harms_no_other(library: Library) -> None:
    library.keep(exchange())
    library.keep(replace(exchange(), name="other"))
    path = library.path("hello")
    path.write_bytes(path.read_bytes()[:99])
    (wrong,) = library.check("hello", laws.messages)
    assert wrong.startswith(f"hello: {path}: expected a flow file")
    assert library.check("other", laws.messages) == []


def test_a_recording_that_is_not_redacted_is_reported(library: Library) -> None:
    library.keep(exchange())
    flow_file_of_a_hand = library.path("hello")
    flow_file_of_a_hand.write_bytes(
        flow_file_of_a_hand.read_bytes().replace(b"chatcmpl-recording", b"chatcmpl-rec0rding")
    )
    assert "hello holds what no recording may: `add` it again" in library.check("hello", no_laws)


def test_a_broken_law_is_reported_with_its_command(library: Library) -> None:
    library.keep(exchange())
    (wrong,) = library.check("hello", lambda _, command: [f"law 0 says no\n{command}"])
    assert wrong == f"law 0 says no\nthink-addon record check hello --dir {library.folder}"
