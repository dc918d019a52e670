"""The values of a transcript."""

import pytest

from converter.addon.transcript.turns import Media
from converter.core.wire.printable import in_bytes


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (12_345, "12.3 kB"), (5_000_000, "5.0 MB")],
)
def test_a_size_is_written_for_people(count: int, text: str) -> None:
    assert in_bytes(count) == text


@pytest.mark.parametrize(
    ("media", "line"),
    [
        (Media("image", "image/png", 12_345), "image/png 12.3 kB"),
        (Media("image", address="https://host/cat.png"), "https://host/cat.png"),
        (Media("document", "application/pdf", 3, title="Terms"), "application/pdf 3 B Terms"),
        (Media("image"), "of unknown type"),
    ],
)
def test_media_is_a_line(media: Media, line: str) -> None:
    assert media.line == line
