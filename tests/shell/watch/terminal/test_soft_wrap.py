"""Long lines of a transcript, broken for a page that wraps nothing."""

import json

import pytest

from converter.shell.watch.terminal.soft_wrap import GOES_ON, WIDTH, wrapped

PROSE = "word " * 60
LINE = "call(" + "name, " * 30 + ")"


def test_long_lines_are_broken_at_blanks_and_stay_what_they_are() -> None:
    written = f"assistant:\n  thinking:\n    # {PROSE}\n  text: |\n    {PROSE}\n\n    short\n"
    lines = wrapped(written).split("\n")
    assert max(map(len, lines)) <= WIDTH
    assert [line for line in lines[2:5] if not line.startswith("    # word")] == []
    assert wrapped("short\n") == "short\n"
    assert " ".join(wrapped(f"a {PROSE}").split()) == " ".join(f"a {PROSE}".split())


CODE = {
    "fenced": "assistant:\n  text: |\n    ```python\n    {}\n    ```\n",
    "fenced in a thought": "assistant:\n  thinking:\n    # ```\n    # {}\n    # ```\n",
    "fenced in a question": "user: |\n  ~~~\n  {}\n  ~~~\n",
    "a result": "tool:\n  result call_1: |\n    {}\n",
    "an argument": "assistant:\n  call write:  # call_1\n    content: |\n      {}\n",
    "what could not be read": "rest: |\n  {}\n",
}


@pytest.mark.parametrize("written", CODE.values(), ids=CODE)
def test_a_line_of_code_is_told_from_its_next(written: str) -> None:
    lines = wrapped(written.format(LINE)).split("\n")
    assert max(map(len, lines)) <= WIDTH
    pieces = [line for line in lines if "name" in line]
    assert [GOES_ON in piece for piece in pieces] == [False] + [True] * (len(pieces) - 1)
    assert " ".join(piece.strip(" #").removeprefix(GOES_ON) for piece in pieces).replace(
        " ", ""
    ) == LINE.replace(" ", "")


AFTER = {
    "a fence": "assistant:\n  text: |\n    ```\n    a\n    ```\n    {}\n",
    "a fence that nobody closed": "assistant:\n  text: |\n    ```\n    a\n  text: |\n    {}\n",
    "a thought with an open fence": "assistant:\n  thinking:\n    # ```\n  thinking:\n    # {}\n",
    "a result": "tool:\n  result call_1: |\n    a\n\nassistant:\n  text: |\n    {}\n",
    "what only looks like a result": "user: |\n  result: |\n  {}\n",
}


@pytest.mark.parametrize("written", AFTER.values(), ids=AFTER)
def test_prose_after_code_is_prose(written: str) -> None:
    assert GOES_ON not in wrapped(written.format(PROSE))


def test_what_belongs_to_a_key_stands_deeper_than_it() -> None:
    names = json.dumps({f"name_{number}": number for number in range(9)})
    lines = wrapped(f"assistant:\n  call look:\n    at: {names}\ntimings: {names}\n").splitlines()
    assert lines[3].startswith('      "name_')
    assert lines[-1].startswith('  "name_')
    assert not any(line.endswith(":") for line in lines[2:])


def test_a_word_that_is_cut_is_told_from_two() -> None:
    lines = wrapped("text: |\n  " + "x" * 200 + "\n").split("\n")[1:-1]
    assert [line.startswith(f"  {GOES_ON}x") for line in lines] == [False, True, True]
    assert max(map(len, lines)) <= WIDTH


@pytest.mark.parametrize("written", ["", "\n", "a", "a\n", "a\n\nb\n"])
def test_lines_that_fit_stay_and_empty_ones_get_a_height(written: str) -> None:
    assert wrapped(written) == written.replace("\n\n", "\n \n")


@pytest.mark.parametrize("length", range(WIDTH - 10, WIDTH + 10))
def test_each_line_of_a_broken_thought_is_one_of_it(length: int) -> None:
    line = "    # " + ("word " * WIDTH)[: length - 6].rstrip()
    broken = wrapped(f"thinking:\n{line}\n").splitlines()[1:]
    assert [
        piece for piece in broken if not piece.startswith("    # w") or len(piece) > WIDTH
    ] == []
    assert len(broken) == 1 + (len(line) > WIDTH)


def test_json_keeps_its_words_when_it_is_broken() -> None:
    value = json.dumps({"a": ["word " * 10] * 10})
    assert "".join(wrapped(value).split()) == "".join(value.split())
