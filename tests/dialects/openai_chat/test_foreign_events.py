"""Events of another dialect, written with the fields of chat completions."""

from converter.dialects.openai_chat.foreign_events import ForeignEvents
from converter.dialects.openai_chat.frame_fields import NAME
from converter.model.events import (
    Block,
    End,
    Event,
    Finish,
    Opaque,
    OpaqueFrame,
    Own,
    Start,
    ToolCall,
    Usage,
    own_fields,
)

KIND, DONE = "chat.completion.chunk", b"data: [DONE]\n\n"


def _fields(event: Event) -> object:
    assert isinstance(event, Start | ToolCall | Usage)
    return own_fields(event.own, NAME)


def _begun() -> ForeignEvents:
    foreign = ForeignEvents(KIND, DONE)
    foreign.feed(Start("msg_1", "small"))
    return foreign


def test_a_foreign_head_says_the_role_once() -> None:
    foreign = ForeignEvents(KIND, DONE)
    start, first = foreign.feed(Start("msg_1", "small"))
    head = {"id": "msg_1", "object": KIND, "created": 0, "model": "small"}
    assert (_fields(start), first) == (head, Opaque(NAME, {"role": "assistant", "content": ""}, {}))
    assert len(foreign.feed(Start("msg_1", "small"))) == 1
    assert foreign.begun


def test_an_event_of_its_own_goes_through_as_it_is() -> None:
    own = Start("1", "small", Own(NAME, {"id": "1"}))
    foreign = ForeignEvents(KIND, DONE)
    assert foreign.feed(own) == [own]
    assert not foreign.begun


def test_calls_keep_the_index_that_they_were_judged_to_have() -> None:
    foreign = _begun()
    (call,) = foreign.feed(ToolCall(3, "c", "f", "{"))
    (more,) = foreign.feed(ToolCall(3, "", "", "}"))
    begun = {"index": 3, "id": "c", "type": "function", "function": {"name": "f", "arguments": "{"}}
    assert _fields(call) == {"tool_calls": begun}
    assert _fields(more) == {"tool_calls": {"index": 3, "function": {"arguments": "}"}}}


def test_counts_have_only_the_details_that_are_known() -> None:
    (counts,) = _begun().feed(Usage(3, 4, thinking=2))
    assert _fields(counts) == {
        "prompt_tokens": 3,
        "completion_tokens": 4,
        "total_tokens": 7,
        "completion_tokens_details": {"reasoning_tokens": 2},
    }


def test_a_stop_string_stands_where_servers_put_it() -> None:
    finish = Finish("stop", "END")
    assert _begun().feed(finish) == [Opaque(NAME, {}, {"stop_reason": "END"}), finish]
    assert ForeignEvents(KIND, DONE).feed(finish) == [finish]


def test_the_end_of_a_foreign_stream_is_this_dialects() -> None:
    assert _begun().feed(End(Own("anthropic", raw=b"x"))) == [End(Own(NAME, raw=DONE))]


def test_what_has_no_place_is_counted_and_a_comment_is_passed_on() -> None:
    foreign = _begun()
    comment = OpaqueFrame(Own("anthropic", raw=b": ping\n\n"), comment=True)
    assert foreign.feed(comment) == [OpaqueFrame(Own(NAME, raw=b": ping\n\n"), comment=True)]
    assert foreign.notes == []
    assert foreign.feed(OpaqueFrame(Own("anthropic", raw=b"data: {}\n\n"))) == []
    assert foreign.feed(Block("anthropic", {"type": "content_block_start"})) == []
    assert foreign.feed(Block("anthropic", {"type": "content_block_stop"})) == []
    assert foreign.notes == ["2 blocks or frames have no place in a chat completion, left out"]
