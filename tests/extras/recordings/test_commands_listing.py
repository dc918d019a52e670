from converter.extras.recordings.commands import row, table
from tests.support.raw_exchanges import exchange


def test_a_row_says_what_a_recording_shows() -> None:
    recording = exchange()
    assert row(recording) == (
        "hello",
        "generic",
        "OpenAI",
        "stream",
        "1 thought, text; stop",
        "8",
        f"{len(recording.body):,}",
    )


def test_columns_begin_below_each_other() -> None:
    lines = table(
        [["a", "b", "c", "d", "e", "1", "2"], ["a long name", "b", "c", "d", "e", "1", "2"]]
    ).split("\n")
    assert len({line.index("  b") for line in lines[1:3]} - {0}) <= 2
    assert lines[0].index("server") == lines[1].index("b") == lines[2].index("b")
    assert len(lines) == 4
