"""Counts that only the addon requested: the summary has them, the client has not."""

import json
from dataclasses import replace
from typing import Any

import pytest

from converter.addon.exchange import settings
from converter.addon.exchange.rewriting import rewriter_of
from converter.core.dialects.table import COMMON, Form, ReplyContext
from converter.core.reply.rewriter import Rewriter

USAGE = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
TIMINGS = {"prompt_n": 11, "predicted_n": 7}


def frame(choices: list[dict[str, Any]], **more: Any) -> bytes:
    head = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    return b"data: %b\n\n" % json.dumps({**head, "choices": choices, **more}).encode()


def choice(content: str = "", finish: str | None = None, index: int = 0) -> dict[str, Any]:
    delta = {"content": content} if content else {}
    return {"index": index, "delta": delta, "finish_reason": finish}


FRAMES = [frame([choice(word)]) for word in ("<think>a", "b</think>", "one ", "two ", "three")]
FINISH = frame([choice(finish="stop")])
COUNTS = frame([], usage=USAGE)
DONE = b"data: [DONE]\n\n"


def rewriter(fast: bool, counted: bool = False) -> Rewriter:
    chosen = replace(settings.read({}), fast=fast)
    context = ReplyContext(uncounted=not counted)
    return rewriter_of(chosen, COMMON, Form.STREAM, context=context)


def rewritten(body: bytes, through: Rewriter, step: int) -> bytes:
    pieces = [body[at : at + step] for at in range(0, len(body), step)]
    return b"".join([*(out for piece in pieces for out in through.feed(piece)), *through.close()])


@pytest.fixture(params=[1, 7, 10**6], ids=lambda step: f"by {step}")
def step(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.mark.parametrize("fast", [True, False])
def test_a_frame_of_counts_stays_away(fast: bool, step: int) -> None:
    body = b"".join([*FRAMES, FINISH, COUNTS, DONE])
    through, plain = rewriter(fast), rewriter(fast, counted=True)
    got, all_of_it = rewritten(body, through, step), rewritten(body, plain, step)
    assert got == all_of_it.replace(COUNTS, b"")
    assert through.summary.usage == plain.summary.usage is not None
    assert through.changed


@pytest.mark.parametrize("text", ["", "four"])
def test_counts_beside_text_or_a_finish_go_on(step: int, text: str) -> None:
    """As llama.cpp 11549 writes them for a text completion, whoever asks."""
    last = frame([choice(text, finish=None if text else "stop")], usage=USAGE)
    body = [*FRAMES, last, *([FINISH] if text else []), DONE]
    through = rewriter(fast=True)
    assert last in rewritten(b"".join(body), through, step)
    assert through.summary.usage is not None


def test_what_stands_beside_the_counts_goes_with_the_finish(step: int) -> None:
    """As llama.cpp 11549 writes it for a client that has not requested counts."""
    body = b"".join([*FRAMES, FINISH, frame([], usage=USAGE, timings=TIMINGS), DONE])
    *_, last, done, rest = rewritten(body, rewriter(fast=True), step).split(b"\n\n")
    parsed = json.loads(last.removeprefix(b"data: "))
    assert (parsed["timings"], parsed["choices"]) == (TIMINGS, [choice(finish="stop")])
    assert "usage" not in parsed
    assert (done, rest) == (DONE.strip(), b"")


@pytest.mark.parametrize(
    "body",
    [
        [*FRAMES, FINISH, DONE],
        [*FRAMES, FINISH],
        [*FRAMES, FINISH, b'data: {"error": {"message": "gone"}}\n\n'],
        [*FRAMES, FINISH, b": a comment\n\n", DONE],
        [
            frame([choice("one", index=1)]),
            *FRAMES,
            FINISH,
            frame([choice("two", index=1)]),
            frame([choice(finish="stop", index=1)]),
        ],
    ],
    ids=["end", "no end", "error", "comment", "two choices"],
)
def test_all_else_goes_on(body: list[bytes], step: int) -> None:
    plain = rewritten(b"".join(body), rewriter(fast=True, counted=True), step)
    assert rewritten(b"".join(body), rewriter(fast=True), step) == plain


def test_a_finish_goes_out_where_the_reply_breaks_off() -> None:
    through = rewriter(fast=True)
    assert FINISH not in b"".join(through.feed(b"".join([*FRAMES, FINISH])))
    assert b"".join(through.abort("gone")) == FINISH


def test_text_behind_a_finish_stays_behind_it(step: int) -> None:
    body = b"".join([*FRAMES, FINISH, *FRAMES[2:]])
    plain = rewritten(body, rewriter(fast=True, counted=True), step)
    assert rewritten(body, rewriter(fast=True), step) == plain
