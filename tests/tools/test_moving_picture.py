"""The moving picture: frames become one animated WebP of a length that people watch."""

import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from tools.moving_picture import SIZE, make

pytestmark = pytest.mark.slow

LARGEST = 600_000
KEPT = Path(__file__).parents[2] / "docs" / "think.webp"


def chunks(content: bytes) -> Iterator[tuple[bytes, bytes]]:
    at = 0
    while at < len(content):
        name, length = struct.unpack_from("<4sI", content, at)
        yield name, content[at + 8 : at + 8 + length]
        at += 8 + length + length % 2


def durations(picture: bytes) -> list[int]:
    [(riff, content)] = chunks(picture)
    assert (riff, content[:4]) == (b"RIFF", b"WEBP")
    (first, head), *rest = chunks(content[4:])
    assert (first, head[0]) == (b"VP8X", 2)
    assert rest[0][0] == b"ANIM"
    assert {name for name, _ in rest[1:]} == {b"ANMF"}
    for _, frame in rest[1:]:
        assert frame[16:20] in (b"VP8 ", b"VP8L")
        assert [int.from_bytes(frame[at : at + 3], "little") + 1 for at in (6, 9)] == [*SIZE]
    return [int.from_bytes(frame[12:15], "little") for _, frame in rest[1:]]


def test_the_kept_picture_is_ten_seconds_and_small() -> None:
    assert 8_000 <= sum(durations(KEPT.read_bytes())) <= 12_000
    assert KEPT.stat().st_size < LARGEST


@pytest.mark.nightly
def test_the_picture_is_made(tmp_path: Path) -> None:
    make(tmp_path / "think.webp")
    assert len(durations((tmp_path / "think.webp").read_bytes())) > 15
