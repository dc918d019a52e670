"""End-of-turn tokens: they go where an answer ends, and stay anywhere else."""

import pytest

from converter.core.model.events import End, Event, Finish, Text, Thinking, ToolCall
from converter.core.reading.turn_end import TOKENS, TurnEnd

FINISH = Finish("stop")


def text_of(events: list[Event]) -> str:
    stage = TurnEnd()
    out = [emitted for event in [*events, FINISH] for emitted in stage.feed(event)]
    assert out[-1] is FINISH
    return "".join(event.text for event in out if isinstance(event, Text))


@pytest.mark.parametrize("token", TOKENS)
def test_a_token_goes_however_it_is_cut(token: str) -> None:
    whole = f"So: 84.{token}\n"
    assert text_of([Text(whole)]) == "So: 84."
    for at in range(len(whole)):
        assert text_of([Text(whole[:at]), Text(whole[at:])]) == "So: 84."


@pytest.mark.parametrize(
    "text",
    [
        "a <|im_end|> b",
        "<|im_end|>\n<|im_start|>assistant",
        "a < b",
        "a <",
        "a <|im_",
        "<|IM_END|>",
        "</s>",
        "a \n",
        "x" * 300 + "<",
    ],
)
def test_all_else_stays(text: str) -> None:
    assert text_of([Text(text)]) == text
    assert text_of([Text(each) for each in text]) == text


def test_several_tokens_go() -> None:
    assert text_of([Text("a<|im_end|>"), Text("<|endoftext|>\n")]) == "a"
    assert text_of([Text("<|eot_id|>")]) == ""
    assert text_of([Text("a<|eom_id|>"), ToolCall(0, "call_1", "look", "")]) == "a"


def test_what_waits_comes_before_what_follows() -> None:
    stage = TurnEnd()
    assert stage.feed(Text("a<|im_end|>", refusal=True)) == [Text("a<|im_end|>", refusal=True)]
    thought = Thinking("b<|im_end|>")
    assert [*stage.feed(Text("a <")), *stage.feed(thought)] == [Text("a "), Text("<"), thought]
    assert stage.plain(Text) == (Text, "<")
    assert stage.plain(Thinking) == (Thinking, "")
    stage.feed(Text("<"))
    assert stage.plain(Text) is None
    assert stage.close() == [Text("<")]
    assert stage.feed(End()) == [End()]
