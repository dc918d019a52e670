"""What a server said, as values."""

from laws.heard import Heard, Piece


def test_a_second_name_of_the_same_thinking_is_no_second_piece() -> None:
    heard = Heard()
    for words in ("a", "b"):
        heard.add_thought("reasoning", words)
        heard.add_thought("reasoning_content", words)
    assert heard.pieces == [Piece("thinking", "a"), Piece("thinking", "b")]
    assert heard.thoughts == {"reasoning": "ab", "reasoning_content": "ab"}


def test_pieces_of_some_kinds_are_joined() -> None:
    heard = Heard([Piece("text", "a"), Piece("thinking", "b"), Piece("raw", "c")])
    assert heard.joined("text", "raw") == "ac"


def test_a_call_comes_in_pieces() -> None:
    heard = Heard()
    heard.add_call(0, "c", "f", '{"a"')
    heard.add_call(0, None, None, ": 1}")
    assert heard.calls == {0: {"id": "c", "name": "f", "arguments": '{"a": 1}'}}
