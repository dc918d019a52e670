"""Live means live: the server waits in the middle of its reply until the client has got all that
can be decided.
"""

from contextlib import ExitStack
from dataclasses import dataclass
from threading import Event

import pytest

from tests.support.clients import (
    ANTHROPIC,
    OPENAI,
    SECONDS,
    Client,
    Dialect,
    Live,
    headers_of,
    question,
)
from tests.support.frames import END, ROLE, delta, stream, text, whole
from tests.support.harness import Proxy
from tests.support.scripted_server import JSON, Framing, Reply, ScriptedServer

pytestmark = pytest.mark.slow


def ask(client: Client, dialect: Dialect) -> Live:
    response = client.send(dialect.path, question(stream=True))
    assert response.status == 200
    assert response.getheader("content-type", "").startswith("text/event-stream")
    return Live(response)


@dataclass(frozen=True)
class Pause:
    """The server stops after `first`; `arrives` must be with the client before it goes on with
    `second`.
    """

    name: str
    first: list[str]
    arrives: str
    second: list[str]
    thinking: str
    text: str


PAUSES = [
    Pause(
        "thinking",
        ["<think>", "I consider"],
        "I consider",
        [" it.</think>", "Done."],
        "I consider it.",
        "Done.",
    ),
    Pause(
        "text after thinking",
        ["<think>I consider it.</think>", "Done"],
        "Done",
        [" now."],
        "I consider it.",
        "Done now.",
    ),
    Pause(
        "an undecided opener",
        ["Hello <thi"],
        "Hello ",
        ["nk>deep</think> you"],
        "deep",
        "Hello  you",
    ),
    Pause(
        "line breaks that may end it",
        ["<think>deep\n"],
        "deep",
        ["\nwater\n</think>Done"],
        "deep\n\nwater",
        "Done",
    ),
]


@pytest.mark.parametrize("pause", PAUSES, ids=lambda pause: pause.name)
def test_what_is_decided_has_arrived_while_the_server_waits(
    client: Client, server: ScriptedServer, dialect: Dialect, pause: Pause
) -> None:
    go_on = Event()
    server.answer(Reply([ROLE, *text(*pause.first), go_on, *text(*pause.second), *END]))
    live = ask(client, dialect)
    before = live.until(pause.arrives.encode())
    assert b"<" not in before, "a tag, or what may become one, is held"
    go_on.set()
    reply = dialect.read_stream(live.rest())
    assert (reply.thinking, reply.text, reply.stop) == (
        pause.thinking,
        pause.text,
        dialect.finished,
    )


def test_every_single_piece_has_arrived_before_the_next_is_sent(
    client: Client, server: ScriptedServer, dialect: Dialect
) -> None:
    pieces_sent = [f"word{number}" for number in range(20)]
    pauses = [Event() for _ in pieces_sent]
    pieces: list[bytes | Event] = []
    for word, pause in zip(pieces_sent, pauses, strict=True):
        pieces += [*text(word), pause]
    middle = len(pieces) // 2
    server.answer(
        Reply([ROLE, *text("<think>"), *pieces[:middle], *text("</think>"), *pieces[middle:], *END])
    )
    live = ask(client, dialect)
    for word, pause in zip(pieces_sent, pauses, strict=True):
        live.until(word.encode())
        pause.set()
    reply = dialect.read_stream(live.rest())
    assert (reply.thinking, reply.text) == ("".join(pieces_sent[:10]), "".join(pieces_sent[10:]))


def test_a_whole_frame_does_not_wait_for_the_half_frame_behind_it(
    client: Client, server: ScriptedServer, dialect: Dialect
) -> None:
    go_on = Event()
    half = delta(content="second")
    server.answer(Reply([ROLE, *text("first"), half[:40], go_on, half[40:], *END]))
    live = ask(client, dialect)
    live.until(b"first")
    go_on.set()
    assert dialect.read_stream(live.rest()).text == "firstsecond"


def test_a_character_cut_in_the_middle_arrives_whole(
    client: Client, server: ScriptedServer, dialect: Dialect
) -> None:
    body = b"".join(stream("<think>\n🙂 你好\n</think>\n\n", "Grüße 🎉"))
    server.answer(Reply([body[offset : offset + 1] for offset in range(len(body))]))
    reply = dialect.read_stream(ask(client, dialect).rest())
    assert (reply.thinking, reply.text) == ("🙂 你好", "\n\nGrüße 🎉")


def test_a_ping_arrives_while_the_server_still_reads_the_prompt(
    client: Client, server: ScriptedServer, dialect: Dialect
) -> None:
    go_on = Event()
    server.answer(Reply([b":\n\n", go_on, *stream("Hello")]))
    live = ask(client, dialect)
    live.until(b":\n\n")
    go_on.set()
    assert dialect.read_stream(live.rest()).text == "Hello"


def test_replies_at_the_same_time_do_not_mix(proxy: Proxy, server: ScriptedServer) -> None:
    go_on = Event()
    server.answer(Reply([ROLE, *text("<think>deep"), go_on, *text("</think>Hello"), *END]))
    dialects = [OPENAI, ANTHROPIC, OPENAI, ANTHROPIC]
    with ExitStack() as stack:
        lives = [ask(stack.enter_context(Client(proxy.ports[0])), dialect) for dialect in dialects]
        for live in lives:
            live.until(b"deep")
        go_on.set()
        reply = [
            dialect.read_stream(live.rest()) for dialect, live in zip(dialects, lives, strict=True)
        ]
    assert [(one.thinking, one.text) for one in reply] == [("deep", "Hello")] * 4


@pytest.mark.parametrize(
    "path",
    [
        "/v1/embeddings",
        "/completion",
        "/api/other",
        "/v1/chat/completions/extra",
        "/v1/messages/batches",
    ],
)
def test_another_path_passes_untouched_and_unbuffered(
    client: Client, server: ScriptedServer, path: str
) -> None:
    go_on = Event()
    pieces = [
        b'event: delta\ndata: {"delta":"<think>\\nmark</think>"}\n\n',
        b"\xff\xfe no text at all",
        b'{"done":true}',
    ]
    server.answer(
        Reply(
            [pieces[0], go_on, *pieces[1:]], {"content-type": "text/event-stream", "x-own": "kept"}
        )
    )
    response = client.send(path + "?beta=true", question(stream=True), {"accept-encoding": "gzip"})
    live = Live(response)
    live.until(b"mark")
    go_on.set()
    assert live.rest() == b"".join(pieces)
    assert headers_of(response)["x-own"] == "kept"
    assert (server.requests[0].target, server.requests[0].body) == (
        path + "?beta=true",
        question(stream=True),
    )
    assert server.requests[0].headers["accept-encoding"] == "gzip"


@pytest.mark.parametrize(
    "framing",
    [Framing.LENGTH, Framing.CHUNKED, Framing.CLOSE],
    ids=lambda framing: framing.name.lower(),
)
def test_a_slow_whole_reply_arrives_complete(
    client: Client, server: ScriptedServer, dialect: Dialect, framing: Framing
) -> None:
    go_on = Event()
    body = whole("<think>\nslowly\n</think>\n\nDone.")
    server.answer(Reply([body[:60], go_on, body[60:]], JSON, framing=framing))
    client.begin(dialect.path, question(stream=False))
    assert server.came.wait(SECONDS)
    go_on.set()
    answer = client.answer()
    reply = dialect.read_whole(answer.body)
    assert (reply.thinking, reply.text) == ("slowly", "\n\nDone.")
    assert answer.headers["content-type"].startswith("application/json")
