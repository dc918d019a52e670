"""A request's parts are matched in the prompt that a chat template has made of them."""

import json

from converter.addon.transcript.context_parts import tokens_of

LOOK = ("look", "function", "Look at a file.\nSay what is there.", "string", "the file")
WRITE = ("write", "function", 'Write a "file".', "string", "the file")


def _tool(names: tuple[str, ...]) -> str:
    name, kind, about, type_, path = names
    parameters = {"path": {"type": type_, "description": path}}
    function = {"name": name, "description": about, "parameters": parameters}
    return json.dumps({"type": kind, kind: function})


def _letters(prompt: str) -> list[bytes]:
    """A tokenizer whose tokens are bytes: a part has as many as it is long."""
    return [bytes([byte]) for byte in prompt.encode()]


def test_each_part_has_the_tokens_of_its_text() -> None:
    prompt = "<sys>Be short.</sys><user>6 * 7</user><user>äß</user>"
    turns = [("  Be short.\n",), ("6 * 7",), ("äß",)]
    assert tokens_of(_letters(prompt), [], turns) == [9, 5, 4]


def test_a_token_is_of_the_part_in_which_it_begins() -> None:
    pieces = [b"<sys>", b"Be", b" short", b".</", b"sys>", b"6"]
    assert tokens_of(pieces, [], [("Be short.",), ("6",)]) == [3, 1]


def test_what_a_template_leaves_out_is_not_there() -> None:
    """A long thought of the first turn is not taken to be where the last one repeats it."""
    prompt = "<a>42</a><u>Why?</u><a><t>I said: six times seven is 42.</t>So it is.</a>"
    turns = [
        ("six times seven",),
        ("42",),
        ("Why?",),
        ("I said: six times seven is 42.",),
        ("So it is.",),
    ]
    assert tokens_of(_letters(prompt), [], turns) == [None, 2, 4, 30, 9]


def test_short_texts_stand_between_their_neighbours() -> None:
    prompt = "<tools>a b c</tools><u>b</u><a>of course, b</a><u>c</u>"
    tokens = tokens_of(_letters(prompt), [], [("b",), ("of course, b",), ("c",)])
    assert tokens == [1, 12, 1]


def test_a_repeated_text_counts_twice() -> None:
    prompt = "<u>go on</u><u>go on</u>"
    assert tokens_of(_letters(prompt), [], [("go on",)] * 3) == [5, 5, None]


def test_tools_are_counted_with_the_json_between_them() -> None:
    tools = f"{_tool(LOOK)}\n{_tool(WRITE)}"
    prompt = f"<sys>Be short. look!\n# Tools\n{tools}\n</sys><u>file</u>"
    look, write, *turns = tokens_of(
        _letters(prompt), [LOOK, WRITE], [("Be short. look!",), ("file",)]
    )
    assert turns == [15, 4]
    assert look is not None
    assert write is not None
    assert look == tools.index("write") - tools.index("look")
    assert 0 <= len(tools) - tools.index("write") - write <= len('"}}}}')


def test_arguments_match_however_they_are_written() -> None:
    call = ("look", "a.txt", "from the end")
    for written in (
        '{"name": "look", "arguments": {"path": "a.txt", "how": "from the end", "n": 5}}',
        "<function=look><parameter=path>a.txt</parameter><parameter=how>from the end</parameter>",
    ):
        prompt = f"<u>look</u><call>{written}</call>"
        text, called = tokens_of(_letters(prompt), [], [("look",), call])
        assert text == 4
        assert called == written.index("the end") + 7 - written.index("look")


def test_text_of_no_part_and_parts_of_no_text() -> None:
    assert tokens_of([], [()], [("",), (), ("x",)]) == [None] * 4
    assert tokens_of(_letters("?"), [], [("\ud83d",)]) == [1]
