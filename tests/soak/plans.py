"""The exchanges of a soak: a plan for each, drawn by its number alone."""

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass

from tests.faults.bench import FAULTS
from tests.faults.hostile_server import Do, Fault, Step, chunk, head, sent
from tests.faults.judge import FULL
from tests.support.frames import END, ROLE, data, delta, whole
from tests.support.rows import rows_of

ROWS = rows_of(__file__)

FAULTY = 0.05
"""The share of exchanges with a fault."""
PATHS = {
    "openai": "/v1/chat/completions",
    "anthropic": "/v1/messages",
    "responses": "/v1/responses",
}
MARK = "soak-"
"""Begins the text by which the server finds the plan of a request."""
_SLOW = 1.0
"""Seconds: faults that take longer are left to the bench, because a soak wants many exchanges."""
_LARGE = 1 << 20
"""Bytes of a fault: a frame of 5 MB, held up to its limit, would hide what memory does by itself.
"""
_VOCABULARY = ROWS["vocabulary"]


@dataclass(frozen=True)
class Plan:
    """One exchange. `steps`: the server's answer. `fault`: None for a good reply, which has
    `thinking` and `text` as all its content.
    """

    number: int
    dialect: str
    stream: bool
    steps: Sequence[Step]
    thinking: str = ""
    text: str = ""
    fault: Fault | None = None

    @property
    def path(self) -> str:
        return PATHS[self.dialect]

    @property
    def request(self) -> bytes:
        """The client's request."""
        question = f"{MARK}{self.number}-"
        body: dict[str, object] = {"model": "small", "stream": self.stream}
        if self.dialect == "responses":
            body["input"] = question
        else:
            body |= {"max_tokens": 200, "messages": [{"role": "user", "content": question}]}
        return json.dumps(body).encode()

    @property
    def name(self) -> str:
        fault = self.fault.name if self.fault else "good"
        return f"{self.number} {fault}: {self.dialect}, {'stream' if self.stream else 'whole'}"


def _tried(fault: Fault, stream: bool) -> bool:
    """Return True if this server can send the fault in time."""
    steps = fault.stream if stream else fault.whole
    seconds = sum(step for step in steps if isinstance(step, float))
    slow = seconds > _SLOW or Do.HANG in steps or fault.accept or fault.server
    large = sum(len(step) for step in steps if isinstance(step, bytes)) > _LARGE
    return bool(steps) and not slow and not large and fault.verdict != FULL


def faults(stream: bool) -> list[Fault]:
    """Return the faults of a soak."""
    return [fault for fault in FAULTS if _tried(fault, stream)]


_FAULTS = {stream: faults(stream) for stream in (True, False)}


def plan(number: int, faulty: float = FAULTY) -> Plan:
    """Return the plan of this number, always the same."""
    drawn = random.Random(number)
    dialect, stream = drawn.choice(list(PATHS)), drawn.random() < 0.7
    choice = _FAULTS[stream]
    if drawn.random() < faulty and choice:
        fault = drawn.choice(choice)
        return Plan(number, dialect, stream, fault.stream if stream else fault.whole, fault=fault)
    return _good(number, dialect, stream, drawn)


def _good(number: int, dialect: str, stream: bool, drawn: random.Random) -> Plan:
    thinking = f"{number}: {_sentences(drawn, drawn.randint(1, 60))}."
    text = f"{_sentences(drawn, drawn.randint(1, 200))} ({number})"
    native = drawn.random() < 0.4
    if not stream:
        fields = {"reasoning_content": thinking} if native else {}
        content = text if native else f"<think>{thinking}</think>{text}"
        return Plan(number, dialect, stream, [sent(whole(content, **fields))], thinking, text)
    frames = [ROLE]
    if native:
        frames += [delta(reasoning_content=piece) for piece in _cut(drawn, thinking)]
        frames += [delta(content=piece) for piece in _cut(drawn, text)]
    else:
        frames += [
            delta(content=piece) for piece in _cut(drawn, f"<think>{thinking}</think>{text}")
        ]
    steps = _paced(drawn, [*frames, *END])
    return Plan(number, dialect, stream, steps, thinking, text)


def _sentences(drawn: random.Random, count: int) -> str:
    return " ".join(drawn.choices(_VOCABULARY, k=count))


def _cut(drawn: random.Random, text: str) -> list[str]:
    """Return the text in pieces of a model's size."""
    pieces, at = [], 0
    while at < len(text):
        size = drawn.randint(1, 9)
        pieces.append(text[at : at + size])
        at += size
    return pieces


def _paced(drawn: random.Random, frames: Sequence[bytes]) -> list[Step]:
    """Return the frames as chunks, some joined, some cut, with pauses between some."""
    steps: list[Step] = [head()]
    body = b"".join(frames)
    if drawn.random() < 0.3:  # cut anywhere, as a network does
        at = 0
        while at < len(body):
            size = drawn.randint(1, 900)
            steps.append(chunk(body[at : at + size]))
            at += size
    else:
        steps += map(chunk, frames)
    pauses = drawn.sample(range(1, len(steps)), min(3, len(steps) - 1))
    for at in sorted(pauses, reverse=True):
        steps.insert(at, drawn.choice([0.0, 0.005, 0.05]))
    return [*steps, b"0\r\n\r\n"]


def long_stream(number: int, thinking: str, text: str, dialect: str) -> Plan:
    """Return the plan of a stream that begins, waits for all others of its kind, and goes on."""
    frames = [
        ROLE,
        *map(_content, ["<think>", thinking]),
        WAIT,
        _content("</think>"),
        _content(text),
    ]
    steps: list[Step] = [head()]
    steps += [step if step is WAIT else chunk(step) for step in [*frames, *END]]  # type: ignore[arg-type]
    return Plan(number, dialect, True, [*steps, b"0\r\n\r\n"], thinking, text)


WAIT = "waits for all others"


def _content(piece: str) -> bytes:
    return delta(content=piece)


__all__ = ["MARK", "WAIT", "Plan", "data", "long_stream", "plan"]
