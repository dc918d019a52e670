"""Quirks of real servers: a stream named after each quirk, and its content."""

from dataclasses import dataclass, field

from tests.support.frames import DONE, END, HEAD, ROLE, TOKENS, USAGE, data, delta, finish, text

type Block = tuple[str, object]
type Fields = dict[str, object]
type Stop = tuple[str, str | None]

DEEP_HELLO: list[Block] = [("thinking", "deep"), ("text", "Hello")]
HELLO: list[Block] = [("text", "Hello")]
CALLED: Stop = ("tool_use", None)
CUT: Stop = ("max_tokens", None)


@dataclass(frozen=True)
class Quirk:
    """A stream and its content: (type, text or input) of each block, stop reason, and counts."""

    steps: list[bytes]
    blocks: list[Block]
    stop: Stop = ("end_turn", None)
    usage: Fields = field(default_factory=lambda: {"input_tokens": 7, "output_tokens": 5})


def frame(*choices: Fields, **fields: object) -> bytes:
    return data({**HEAD, "object": "chat.completion.chunk", "choices": choices, **fields})


def choice(reason: str | None = None, outer: Fields | None = None, **fields: object) -> Fields:
    return {"index": 0, "delta": fields, "finish_reason": reason, **(outer or {})}


def sent(*steps: bytes) -> list[bytes]:
    """A stream with its usual head and end."""
    return [ROLE, *steps, *END]


def ended(reason: str = "stop", usage: Fields | None = None, **outer: object) -> list[bytes]:
    """An end with fields beside the finish."""
    return [frame(choice(reason, outer)), frame(usage=usage or TOKENS), DONE]


def call(index: int, arguments: str = "", **named: str) -> Fields:
    """A piece of a call; the first of a call has its id and name."""
    head = {"id": named["id"], "type": "function"} if "id" in named else {}
    name = {"name": named["name"]} if "name" in named else {}
    return {"index": index, **head, "function": {**name, "arguments": arguments}}


def calls(*entries: Fields) -> list[bytes]:
    return [delta(content=None, tool_calls=[entry]) for entry in entries]


def called(*entries: Fields) -> list[bytes]:
    """A stream of calls."""
    return [ROLE, *calls(*entries), *ended("tool_calls")]


ANSWER = text("<think>deep</think>", "Hello")
FIRST = [call(0, id="a", name="look"), call(0, '{"at": '), call(0, '"sky"}')]
SECOND = [call(1, id="b", name="look"), call(1, '{"at": '), call(1, '"sea"}')]
PAIRS = list(zip(FIRST, SECOND, strict=True))
ONE_CALL: list[Block] = [("tool_use", {"at": "sky"})]
BOTH_CALLS: list[Block] = [*ONE_CALL, ("tool_use", {"at": "sea"})]
CACHED = {**TOKENS, "prompt_tokens_details": {"cached_tokens": 4}}
COUNTED = {**TOKENS, "completion_tokens_details": {"reasoning_tokens": 3}}
NO_ROLE = delta(role="assistant", content=None)

THOUGHTS = {
    "vllm: the field is `reasoning`": Quirk(
        sent(delta(reasoning="\nde"), delta(reasoning="ep\n"), *text("\n\nHello")),
        [("thinking", "deep"), ("text", "\n\nHello")],
    ),
    "vllm: reasoning and content in one delta": Quirk(
        sent(delta(reasoning="deep", content="Hello")), DEEP_HELLO
    ),
    "sglang: content null beside reasoning": Quirk(
        [
            NO_ROLE,
            delta(reasoning_content="deep", content=None),
            delta(reasoning_content=None, content="Hello"),
            *END,
        ],
        DEEP_HELLO,
    ),
    "llama.cpp: the first content is null": Quirk([NO_ROLE, *ANSWER, *END], DEEP_HELLO),
    "llama.cpp: an empty pair before the answer": Quirk(
        sent(*text("<think>\n\n</think>\n\nThe", " end")), [("text", "\n\nThe end")]
    ),
    "a closer without an opener, streamed": Quirk(
        sent(*text("deep", "</think>", "Hello")), [("text", "deep</think>Hello")]
    ),
    "pings before the first event": Quirk([b": ping\n\n", b":\n\n", *sent(*ANSWER)], DEEP_HELLO),
    "pings in between": Quirk(
        sent(*text("<thi"), b": ping\n\n", *text("nk>deep</think>Hello")), DEEP_HELLO
    ),
    "lines that end in CR LF": Quirk(
        [step.replace(b"\n", b"\r\n") for step in sent(*ANSWER)], DEEP_HELLO
    ),
    "vllm: two choices, of which one is a client's": Quirk(
        sent(
            delta(1, role="assistant", content=""),
            *text("<think>de"),
            delta(1, content="<think>other"),
            *text("ep</think>"),
            delta(1, content="</think>Bye"),
            *text("Hello"),
            finish("length", 1),
        ),
        DEEP_HELLO,
    ),
    "thinking only": Quirk(sent(*text("<think>deep</think>")), [("thinking", "deep")]),
    "nothing said": Quirk(sent(), []),
    "blanks only": Quirk(sent(*text("\n\n")), []),
}
ENDS = {
    "llama.cpp: timings beside the choices": Quirk(
        [ROLE, *ANSWER, finish(), frame(usage=TOKENS, timings={"prompt_n": 7}), DONE], DEEP_HELLO
    ),
    "transformers: no [DONE], usage on the last chunk": Quirk(
        [
            frame({"index": 0, "delta": {"role": "assistant"}}),
            frame({"index": 0, "delta": {"content": "<think>deep</think>Hello"}}),
            frame(choice("stop"), usage=TOKENS),
        ],
        DEEP_HELLO,
    ),
    "vllm: the finish rides on a content chunk": Quirk(
        [ROLE, *text("<think>deep</think>Hel"), frame(choice("stop", content="lo")), USAGE, DONE],
        DEEP_HELLO,
    ),
    "the finish rides on the closing tag": Quirk(
        [ROLE, *text("<think>de", "ep"), frame(choice("stop", content="</think>")), USAGE, DONE],
        [("thinking", "deep")],
    ),
    "vllm: stop_reason is the string that matched": Quirk(
        [ROLE, *ANSWER, *ended(stop_reason="END")], DEEP_HELLO, ("stop_sequence", "END")
    ),
    "vllm: stop_reason is a token": Quirk([ROLE, *ANSWER, *ended(stop_reason=151645)], DEEP_HELLO),
    "sglang: matched_stop is the string": Quirk(
        [ROLE, *ANSWER, *ended(matched_stop="END")], DEEP_HELLO, ("stop_sequence", "END")
    ),
    "sglang: matched_stop is a token": Quirk([ROLE, *ANSWER, *ended(matched_stop=2)], DEEP_HELLO),
    "length wins over a stop string": Quirk(
        [ROLE, *ANSWER, *ended("length", stop_reason="END")], DEEP_HELLO, CUT
    ),
    "a filter": Quirk([ROLE, *ANSWER, *ended("content_filter")], DEEP_HELLO, ("refusal", None)),
    "cached tokens": Quirk(
        [ROLE, *text("Hello"), *ended(usage=CACHED)],
        HELLO,
        usage={"input_tokens": 3, "cache_read_input_tokens": 4, "output_tokens": 5},
    ),
    "reasoning tokens": Quirk(
        [ROLE, delta(reasoning="deep"), *text("Hello"), *ended(usage=COUNTED)],
        DEEP_HELLO,
        usage={"output_tokens": 5, "output_tokens_details": {"thinking_tokens": 3}},
    ),
    "sglang: usage on every chunk": Quirk(
        [
            frame(choice(role="assistant", content=""), usage={**TOKENS, "completion_tokens": 0}),
            frame(choice(content="Hello"), usage={**TOKENS, "completion_tokens": 2}),
            *ended(),
        ],
        HELLO,
    ),
    "vllm: usage null until the last chunk": Quirk(
        [
            frame(choice(role="assistant", content=""), usage=None),
            frame(choice(content="Hello"), usage=None),
            *ended(),
        ],
        HELLO,
    ),
    "no usage at all": Quirk(
        [ROLE, *text("Hello"), finish(), DONE], HELLO, usage={"output_tokens": 0}
    ),
}
CALLS = {
    "tool deltas with content null": Quirk(
        [ROLE, *text("<think>deep</think>"), *calls(*FIRST), *ended("tool_calls")],
        [("thinking", "deep"), *ONE_CALL],
        CALLED,
    ),
    "blanks between the thought and the call": Quirk(
        [ROLE, *text("<think>deep</think>", "\n\n"), *calls(*FIRST), *ended("tool_calls")],
        [("thinking", "deep"), *ONE_CALL],
        CALLED,
    ),
    "parallel calls with alternating pieces": Quirk(
        called(*(entry for pair in PAIRS for entry in pair)), BOTH_CALLS, CALLED
    ),
    "two pieces in one delta": Quirk(
        [ROLE, *(delta(tool_calls=list(pair)) for pair in PAIRS), *ended("tool_calls")],
        BOTH_CALLS,
        CALLED,
    ),
    "all calls at index 0 with ids of their own": Quirk(
        called(*FIRST, *({**entry, "index": 0} for entry in SECOND)), BOTH_CALLS, CALLED
    ),
    "a whole call in one piece": Quirk(
        called(call(0, '{"at": "sky"}', id="a", name="look")), ONE_CALL, CALLED
    ),
    "a call without arguments": Quirk(
        called(call(0, "", id="a", name="look")), [("tool_use", {})], CALLED
    ),
    "a call that ends with `stop`": Quirk([ROLE, *calls(*FIRST), *ended()], ONE_CALL, CALLED),
    "text after a call": Quirk(
        [ROLE, *calls(*FIRST), *text("Done."), *ended("tool_calls")],
        [*ONE_CALL, ("text", "Done.")],
        CALLED,
    ),
    "no call, but a finish for one": Quirk([ROLE, *ANSWER, *ended("tool_calls")], DEEP_HELLO),
}
QUIRKS: dict[str, Quirk] = THOUGHTS | ENDS | CALLS
