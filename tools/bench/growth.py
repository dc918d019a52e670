"""Print whether a frame or character of a long reply costs more than one of a short reply.

    python -m tools.bench.growth

The rewriter reads replies of N units (frames, characters ...) and of 4N units, without any proxy.
All figures are ratios of processor time:

- *against JSON*: the reply through the rewriter, against the least work that any proxy must do: to
  split the same chunks into frames, and to read and write each frame's JSON.
- *4N*: a unit of the reply of 4N units, against one of N units. 1 is wanted; more means that the
  cost of a unit grows with the length.
- *spread*: the slowest run at N against the fastest. The nearer to 1, the more exact the others.
"""

import argparse
import gc
import json
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import batched

from converter.addon.exchange import settings
from converter.addon.exchange.rewriting import rewriter_of
from converter.core.dialects.table import ANTHROPIC
from converter.core.reply.rewriter import Rewriter
from tests.support.frames import DONE, ROLE, USAGE, data, delta, text, whole
from tests.support.frames_of import OPENAI, STREAM, WHOLE, call, rewriter

PIECE = 16
"""How many characters each frame of a long text has."""
TOKENS = [" The", " answer", " is", " said", " slowly", ",", " word", " for", " word", ".\n"]
"""The tokens that replies repeat."""
HEADING = f"{'case':52}{'against JSON':>14}{'4N':>8}{'spread':>8}"
"""The heading of the table."""

type Chunks = list[bytes]
type RewriterMaker = Callable[[], Rewriter]
"""A function that returns a new rewriter."""

TO_OPENAI: RewriterMaker = partial(rewriter, OPENAI)
"""Makes a rewriter of a chat completions stream, for a client of the same API."""
TO_ANTHROPIC: RewriterMaker = partial(rewriter, ANTHROPIC)
"""Makes a rewriter of a chat completions stream, for a client of the Messages API."""
TO_ANTHROPIC_WHOLE: RewriterMaker = partial(rewriter, ANTHROPIC, STREAM, WHOLE)
"""Makes a rewriter of a chat completions stream, for a Messages client that wants a whole reply."""
WHOLE_TO_OPENAI: RewriterMaker = partial(rewriter, OPENAI, WHOLE)
"""Makes a rewriter of a whole chat completion, for a client of the same API."""
WHOLE_TO_ANTHROPIC: RewriterMaker = partial(rewriter, ANTHROPIC, WHOLE, WHOLE)
"""Makes a rewriter of a whole chat completion, for a client of the Messages API."""
FROM_THOUGHT: RewriterMaker = partial(rewriter, OPENAI, start="thinking")
"""Makes a rewriter of a chat completions stream that begins inside a thought."""


def own_endpoint_rewriter() -> Rewriter:
    """Return a rewriter of a Messages stream for a client of the same API."""
    return rewriter_of(settings.read(), ANTHROPIC, STREAM, STREAM, server=ANTHROPIC)


def tokens(count: int) -> list[str]:
    """Return the first `count` texts of `TOKENS`; if they are too few, they are repeated."""
    return [TOKENS[number % len(TOKENS)] for number in range(count)]


def streamed(*frames: bytes, finish: str = "stop") -> Chunks:
    """Return the chunks of a chat completions stream: the frame with the role, then `frames`, then
    the frames with finish reason and usage, and `[DONE]`.
    """
    return [ROLE, *frames, delta(finish=finish), USAGE, DONE]


def _pieces(text: str) -> list[str]:
    """Return the text in pieces of `PIECE` characters."""
    return ["".join(part) for part in batched(text, PIECE)]


def long_text(unit: str, before: str = "", after: str = "") -> Callable[[int], Chunks]:
    """Return a function that takes a number N and returns the chunks of a stream.

    The stream's text is `before`, N times `unit`, and `after`. The units are cut into pieces of
    `PIECE` characters, a frame each.
    """
    return lambda size: streamed(*text(before, *_pieces(unit * size), after))


def long_whole(unit: str, before: str = "", after: str = "") -> Callable[[int], Chunks]:
    """Return a function that takes a number N and returns a whole reply.

    The reply's text is `before`, N times `unit`, and `after`.
    """
    return lambda size: [whole(before + unit * size + after)]


def thinking(size: int) -> Chunks:
    """Return a stream of `size` tokens: one half a thought between tags, the other an answer."""
    return streamed(*text("<think>", *tokens(size // 2), "</think>", *tokens(size // 2)))


def own_field(size: int) -> Chunks:
    """Return a stream of `size` tokens of thinking, all in the field `reasoning_content`."""
    return streamed(*(delta(reasoning_content=word) for word in tokens(size)))


def chunks_of_one_byte(size: int) -> Chunks:
    """Return the same stream as the function `thinking`, in chunks of one byte each."""
    return [bytes([byte]) for frame in thinking(size) for byte in frame]


def arguments(unit: str, before: str = '{"a":"', after: str = '"}') -> Callable[[int], Chunks]:
    """Return a function that takes a number N and returns a stream with one tool call.

    The call's arguments are `before`, N times `unit`, and `after`.
    """

    def reply(size: int) -> Chunks:
        """Return the stream for `size` units."""
        text = (call(0, arguments=piece) for piece in _pieces(before + unit * size + after))
        return streamed(call(0, "f", "", id="a"), *text, finish="tool_calls")

    return reply


def alternating_calls(size: int) -> Chunks:
    """Return a stream of two tool calls with `size` pieces of arguments: one of the first call, one
    of the second, and so on.
    """
    begun = [call(index, "f", '{"a":"', id=f"{index}") for index in (0, 1)]
    return streamed(
        *begun, *(call(number % 2, arguments="word") for number in range(size)), finish="tool_calls"
    )


def native_message(size: int) -> Chunks:
    """Return the stream of a server that speaks the Messages API: `size` tokens of text."""
    return [
        _named("message_start", message={"id": "m", "model": "small", "content": []}),
        _named("content_block_start", index=0, content_block={"type": "text", "text": ""}),
        *(
            _named("content_block_delta", index=0, delta={"type": "text_delta", "text": word})
            for word in tokens(size)
        ),
        _named("content_block_stop", index=0),
        _named("message_delta", delta={"stop_reason": "end_turn"}, usage={"output_tokens": size}),
        _named("message_stop"),
    ]


def _named(kind: str, **fields: object) -> bytes:
    """Return a frame of a Messages stream. `kind`: the event's name and `type`."""
    return f"event: {kind}\n".encode() + data({"type": kind, **fields})


@dataclass(frozen=True)
class Case:
    """A line of the table: replies of one kind, and the rewriter that reads them."""

    name: str
    """The name in the table."""
    reply: Callable[[int], Chunks]
    """Takes a number of units (tokens, repeated texts) and returns the chunks of such a reply."""
    make_rewriter: RewriterMaker
    """Returns a new rewriter for such a reply."""
    scale: float = 1
    """The reply has `scale` times as many units as `--size` says: more if units cost little, so
    that the time can be measured; fewer if they cost much.
    """

    def work(self, chunks: Chunks) -> None:
        """Feed the reply to a new rewriter. Raises AssertionError if it notes a fault of the addon."""
        through = self.make_rewriter()
        for chunk in chunks:
            through.feed(chunk)
        through.close()
        assert not [note for note in through.notes if "fault of the addon" in note], through.notes


CASES = [
    Case("thinking and text, OpenAI", thinking, TO_OPENAI),
    Case("thinking and text, Anthropic", thinking, TO_ANTHROPIC),
    Case("thinking and text, Anthropic, asked for whole", thinking, TO_ANTHROPIC_WHOLE),
    Case(
        "text that needs no change, OpenAI", lambda size: streamed(*text(*tokens(size))), TO_OPENAI
    ),
    Case("the server's own field, OpenAI", own_field, TO_OPENAI),
    Case("the server's own field, Anthropic", own_field, TO_ANTHROPIC),
    Case("Messages to Messages", native_message, own_endpoint_rewriter),
    Case("chunks of one byte, OpenAI", chunks_of_one_byte, TO_OPENAI),
    Case("all in one chunk, OpenAI", lambda size: [b"".join(thinking(size))], TO_OPENAI),
    Case("openers in a row, OpenAI", long_text("<think>"), TO_OPENAI),
    Case("openers in a row in code, OpenAI", long_text("<think>", "`"), TO_OPENAI),
    Case("empty thoughts in a row, OpenAI", long_text("<think></think>"), TO_OPENAI),
    Case(
        "an attribute's quote that never closes, OpenAI",
        long_text("word", '<thinking thought="'),
        TO_OPENAI,
        4,
    ),
    Case(
        "many quotes that never close, OpenAI",
        long_text("<thinking thought='\"" + "word" * 2100),
        TO_OPENAI,
        0.01,
    ),
    Case("attributes without end, OpenAI", long_text(' a="b"', "<thinking"), TO_OPENAI, 4),
    Case("newlines held in a thought, OpenAI", long_text("\n", "<think>a", "b"), TO_OPENAI, 16),
    Case("newlines before a thought, OpenAI", long_text("\n", "", "b"), FROM_THOUGHT, 16),
    Case(
        "newlines held in a thought, Anthropic", long_text("\n", "<think>a", "b"), TO_ANTHROPIC, 16
    ),
    Case("newlines before an answer, Anthropic", long_text("\n", "", "b"), TO_ANTHROPIC, 16),
    Case(
        "newlines after a thought, Anthropic",
        long_text("\n", "<think>a</think>", "b"),
        TO_ANTHROPIC,
        16,
    ),
    Case("backticks, OpenAI", long_text("`a`` \n"), TO_OPENAI, 4),
    Case("tool arguments, OpenAI", arguments("word"), TO_OPENAI, 8),
    Case("tool arguments, Anthropic", arguments("word"), TO_ANTHROPIC, 8),
    Case("tool arguments of escapes, Anthropic", arguments("\\n"), TO_ANTHROPIC, 8),
    Case("tool arguments of blanks, Anthropic", arguments(" ", "{"), TO_ANTHROPIC, 8),
    Case("tool arguments of one number, Anthropic", arguments("1", '{"a":', "}"), TO_ANTHROPIC, 8),
    Case("tool arguments of many levels, Anthropic", arguments("[", '{"a":', ""), TO_ANTHROPIC, 8),
    Case(
        "tool arguments that are no object, Anthropic",
        arguments("word", "no ", ""),
        TO_ANTHROPIC,
        8,
    ),
    Case(
        "tool arguments after their end, Anthropic", arguments("word", "{} ", ""), TO_ANTHROPIC, 8
    ),
    Case("two calls whose pieces alternate, Anthropic", alternating_calls, TO_ANTHROPIC),
    Case("a whole text, OpenAI", long_whole("word ", "<think>a</think>"), WHOLE_TO_OPENAI, 200),
    Case(
        "a whole text, Anthropic", long_whole("word ", "<think>a</think>"), WHOLE_TO_ANTHROPIC, 200
    ),
    Case("whole thoughts, OpenAI", long_whole("<think>a</think>b"), WHOLE_TO_OPENAI, 8),
    Case("whole thoughts, Anthropic", long_whole("<think>a</think>b"), WHOLE_TO_ANTHROPIC, 8),
    Case("whole openers in code, OpenAI", long_whole("<think>", "`"), WHOLE_TO_OPENAI, 8),
]
"""The replies whose cost is measured."""


def parse_frames(chunks: Iterable[bytes]) -> None:
    """Do the least work that any proxy must do: split the chunks into frames, and read and write
    the JSON of each.
    """
    buffer = bytearray()
    searched = 0
    for chunk in chunks:
        buffer += chunk
        begin = 0
        while (end := buffer.find(b"\n\n", max(begin, searched))) >= 0:
            _parse_and_write(buffer[begin:end])
            begin = searched = end + 2
        del buffer[:begin]
        searched = max(0, len(buffer) - 1)
    _parse_and_write(buffer)


def _parse_and_write(frame: bytearray) -> None:
    """Read the JSON of a frame, and write it again."""
    payload = frame.partition(b"data: ")[2] or frame
    if payload and payload != b"[DONE]":
        json.dumps(json.loads(payload), ensure_ascii=False).encode()


def measured_seconds(work: Callable[[], object], runs: int) -> list[float]:
    """Call `work` `runs` times; return the processor seconds of each call, the smallest first."""
    measured = []
    for _ in range(runs):
        begun = time.process_time()
        work()
        measured.append(time.process_time() - begun)
    return sorted(measured)


def measured_row(case: Case, size: int, runs: int) -> str:
    """Measure a case; return its line of the table.

    `size`: the number of units, which is multiplied by `Case.scale`; `runs`: how often each length
    is measured.
    """
    gc.collect()
    short = max(1, int(size * case.scale))
    chunks = case.reply(short)
    once = measured_seconds(partial(case.work, chunks), runs)
    four = measured_seconds(partial(case.work, case.reply(4 * short)), runs)
    least, json_only = (
        once[0] or 1e-9,
        measured_seconds(partial(parse_frames, chunks), runs)[0] or 1e-9,
    )
    ratios = (least / json_only, four[0] / least / 4, once[-1] / least)
    return f"{case.name:52}{ratios[0]:14.1f}{ratios[1]:8.2f}{ratios[2]:8.2f}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table: all cases, or with `--only TEXT` those whose name contains the text."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--size", type=int, default=1000, help="N")
    parser.add_argument("--only", default="", help="cases whose name holds this")
    parser.add_argument("--runs", type=int, default=3, help="of each case; the quickest counts")
    chosen = parser.parse_args(arguments)
    print(HEADING)
    for case in (case for case in CASES if chosen.only in case.name):
        print(measured_row(case, chosen.size, chosen.runs), flush=True)


if __name__ == "__main__":
    main()
