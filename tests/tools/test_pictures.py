"""The script that makes the manual's pictures still runs, and they are of a size to be kept."""

from pathlib import Path

import pytest

from tools.pictures import make

pytestmark = pytest.mark.slow

LARGEST = 160_000


@pytest.mark.nightly
def test_the_pictures_of_the_manual_are_made(tmp_path: Path) -> None:
    make(tmp_path)
    sizes = {path.name: path.stat().st_size for path in tmp_path.iterdir()}
    assert sorted(sizes) == ["think-narrow.png", "think-wire.png", "think.png"]
    assert max(sizes.values()) < LARGEST, sizes
