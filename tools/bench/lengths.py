"""Print whether hostile input of four times the length costs more than four times as much.

    python -m tools.bench lengths [WORD ...]

Each case feeds one part of the core with text that a hostile client, or a model that repeats
itself, can cause. The figure is the processor time for four times a length, divided by that for
the length: about 4 if each character costs the same, 16 if the time grows with the square of the
length. `STEEP` is written beside figures above `AIM`.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from converter.core.dialects.reasoning_fields import ReasoningMerger
from converter.core.reading.engine.engine import Engine
from converter.core.reading.engine.mark_table import mark_table
from converter.core.reading.family_choice import AUTO, choose
from converter.core.reading.thought import Guess
from converter.core.reading.tool_calls.forms import OPENERS, SECTIONS
from converter.core.reading.tool_calls.head import Expectations
from converter.core.wire import json_text

AIM = 7.0
"""The largest figure that is not steep. It is well above 4, because such short times vary."""
REPETITIONS = 3
"""How often each length is measured; the smallest time counts."""
_PIECE_LENGTH = 64
"""How many characters are fed at once."""
_TOOLS = {"now": {}, "write_file": {"properties": {"content": {}, "tags": {"type": "array"}}}}
"""The offered tools, by name, with their schemas."""


def _merge_fields(size: int) -> None:
    """Feed a thought that comes twice, in two reasoning fields. `size`: characters of both."""
    merger = ReasoningMerger()
    for _ in range(size // 20):
        merger.feed("a", "0123456789")
        merger.feed("b", "0123456789")


def _guess_thought(size: int) -> None:
    """Read `size` line breaks in a reply that the addon only guesses to begin in a thought."""
    Guess().feed("x" + "\n" * size)


def _rescue_string(size: int) -> None:
    """Read JSON that is cut within a string of escaped quotes. `size`: about its length."""
    with suppress(json_text.UnreadableError):
        json_text.rescue(b'{"a":"' + b'say \\"b\\" ' * (size // 10))


def _call_reader(text: str, begun: str = "") -> Callable[[int], None]:
    """Return a function that takes a number of characters, and looks for calls in a text of about
    this length. The text is `begun`, then `text` again and again.
    """

    def work(size: int) -> None:
        expectations, calls = Expectations(_TOOLS), mark_table(choose([AUTO]), reads_calls=True)
        parser = Engine(calls, expectations=expectations, whole_calls=True)
        whole = begun + text * (size // len(text))
        for at in range(0, size, _PIECE_LENGTH):
            parser.feed(whole[at : at + _PIECE_LENGTH])
        parser.flush()

    return work


def _thought_reader(text: str) -> Callable[[int], None]:
    """Return a function that takes a number of characters, and looks for thoughts in a text of
    about this length. The text is `text` again and again.
    """

    def work(size: int) -> None:
        tags = mark_table(choose([AUTO]), offered=True)
        parser, whole = Engine(tags), text * (size // len(text))
        for at in range(0, size, _PIECE_LENGTH):
            parser.feed(whole[at : at + _PIECE_LENGTH])
        parser.flush()

    return work


_KEYED = "<tool_call><function=write_file><parameter=content>"
"""The beginning of a call of `write_file`. The value of its parameter `content` comes next."""
_VALUES = (
    *("</tool_call>", "</function>", "</parameter>", "<tool_call>", "</think> a"),
    "<parameter=tags>",
    "</function></tool_call> so\n",
)
"""Texts that look like the end of a parameter's value. Each is repeated within a value."""
_REPEATED = (
    "<tool_call>",
    "the <tool_call> mark\n",
    f"{_KEYED}</parameter></function></tool_call>",
)
"""Texts with a call's mark or an empty call, which are repeated in an answer or in a thought."""
_BEGUN = ('{"name": "now"', "\n", " now\n", "<", "`")
"""Texts that follow each repeated `<tool_call>`; a call could begin with any of them."""
CASES: Mapping[str, Callable[[int], None]] = {
    "one thought under two names": _merge_fields,
    "line breaks in a guessed thought": _guess_thought,
    "a cut string of JSON": _rescue_string,
    **{f"calls: {mark}": _call_reader(mark) for mark in (*OPENERS, *SECTIONS)},
    **{f"calls: {mark} begun": _call_reader(mark[:-1]) for mark in (*OPENERS, *SECTIONS)},
    **{f"calls: <tool_call>{begun!r}": _call_reader(f"<tool_call>{begun}") for begun in _BEGUN},
    **{f"a value: {mark!r}": _call_reader(mark, _KEYED) for mark in _VALUES},
    **{
        f"a value in a thought: {mark!r}": _call_reader(mark, f"<think>{_KEYED}")
        for mark in _VALUES
    },
    **{f"an answer: {mark!r}": _call_reader(mark) for mark in _REPEATED},
    **{f"a thought: {mark!r}": _call_reader(mark, "<think>") for mark in _REPEATED},
    **{
        f"thoughts: {mark!r}": _thought_reader(mark)
        for mark in ("<think>", "</think>", "<thinking a='")
    },
}
"""Name of a case -> the function that reads input of the case; its argument is the number of
characters.
"""


def _smallest_seconds(work: Callable[[int], None], size: int) -> float:
    """Call `work(size)` `REPETITIONS` times; return the processor seconds of the fastest call."""
    times = []
    for _ in range(REPETITIONS):
        began = time.process_time()
        work(size)
        times.append(time.process_time() - began)
    return min(times)


def main(arguments: Sequence[str]) -> int:
    """Print a line for each case; return 1 if a figure is above `AIM`, else 0.

    `arguments`: words; only cases whose name contains one of them are measured, or all for none.
    """
    steep = 0
    for name, work in CASES.items():
        if arguments and not any(word in name for word in arguments):
            continue
        size = 10_000
        while (short := _smallest_seconds(work, size)) < 0.005 and size < 1_000_000:
            size *= 4
        ratio = _smallest_seconds(work, 4 * size) / max(short, 1e-9)
        steep += ratio > AIM
        print(f"{ratio:5.1f} {'STEEP' if ratio > AIM else '':6}{4 * size:>9,} characters  {name}")
    return 1 if steep else 0
