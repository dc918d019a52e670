"""A request's parts are found in what a chat template has made of them."""

from converter.addon.transcript.context_parts import tokens_of


def _letters(prompt: str) -> list[bytes]:
    """A tokenizer whose tokens are bytes: a part has as many as it is long."""
    return [bytes([byte]) for byte in prompt.encode()]


def test_each_part_has_the_tokens_of_its_words() -> None:
    prompt = "<sys>Be short.</sys><user>6 * 7</user><user>äß</user>"
    turns = [("  Be short.\n",), ("6 * 7",), ("äß",)]
    assert tokens_of(_letters(prompt), [], turns) == [9, 5, 4]


def test_the_same_words_said_twice_count_twice() -> None:
    prompt = "<u>go on</u><u>go on</u>"
    assert tokens_of(_letters(prompt), [], [("go on",)] * 3) == [5, 5, None]


def test_arguments_are_found_however_they_are_written() -> None:
    call = ("look", "a.txt", "from the end")
    for written in (
        '{"name": "look", "arguments": {"path": "a.txt", "how": "from the end", "n": 5}}',
        "<function=look><parameter=path>a.txt</parameter><parameter=how>from the end</parameter>",
    ):
        prompt = f"<u>look</u><call>{written}</call>"
        said, called = tokens_of(_letters(prompt), [], [("look",), call])
        assert said == 4
        assert called == written.index("the end") + 7 - written.index("look")


def test_words_of_no_part_and_parts_of_no_words() -> None:
    assert tokens_of([], [()], [("",), (), ("x",)]) == [None] * 4
    assert tokens_of(_letters("?"), [], [("\ud83d",)]) == [1]
