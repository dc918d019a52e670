"""The laws over recordings that are as they should be, and over one fault for each law that only
this law has to find.
"""

import json
from collections.abc import Callable
from typing import Any

import pytest

from converter.addon.exchange.exchange import Answer, Exchange
from converter.addon.keep.notes import NotedFacts
from converter.core.dialects.table import ANTHROPIC
from converter.core.reply.rewriter import Rewriter
from converter.core.wire.sse import FrameDecoder
from converter.extras.recordings.recording import Recording
from laws.laws import ERROR_LAWS, LAWS, check, check_one, laws_of
from laws.laws_of_clients import NotInstalledError
from laws.variants import DRAWN
from tests.support.frames import DONE, END, ROLE, data, delta, finish, stream, text
from tests.support.native_streams import STREAMS
from tests.support.recordings_of import native, of_whole, recording, streamed
from tests.support.strategies import share_of

CALL = {
    "index": 0,
    "id": "c",
    "type": "function",
    "function": {"name": "f", "arguments": '{"a": 1}'},
}
ERROR = b'{"error":{"message":"no such model <think>","type":"invalid_request_error","code":404}}'
GOOD: dict[str, Callable[[], Recording]] = {
    "tags": lambda: streamed("<think>I add", " them.\n</thi", "nk>\n\nIt", " is 5."),
    "whole": lambda: of_whole("<think>\nI add\n</think>\nIt is 5."),
    "a thought in code": lambda: streamed("`<think>` is", " code"),
    "native thinking": lambda: recording(
        b"".join([ROLE, delta(reasoning_content="why\n"), *text("<think>", "so"), *END])
    ),
    "another name": lambda: recording(b"".join([ROLE, delta(reasoning="why"), *text("so"), *END])),
    "both names": lambda: streamed(
        "<think>a</think>b", options={"fields": ["reasoning", "reasoning_content"]}
    ),
    "a call": lambda: recording(
        b"".join(
            [ROLE, *text("<think>a</think>"), delta(tool_calls=[CALL]), finish("tool_calls"), DONE]
        )
    ),
    "opened by the template": lambda: streamed(
        "why</think>so", facts=NotedFacts(begins="thinking")
    ),
    "a lone closer": lambda: of_whole("why</think>so"),
    "cut off in a thought": lambda: recording(
        b"".join([ROLE, *text("<think>why"), finish("length"), DONE])
    ),
    "a stop string": lambda: recording(
        b"".join(
            [
                ROLE,
                *text("a"),
                data(
                    {
                        "choices": [
                            {"index": 0, "delta": {}, "finish_reason": "stop", "stop_reason": "###"}
                        ]
                    }
                ),
                DONE,
            ]
        )
    ),
    "markers": lambda: streamed("Let me think. a\n\n", "Now I'll say b", options={"markers": True}),
    "a block of the user's": lambda: recording(
        b"".join([ROLE, delta(plan="x"), *text("a"), *END]), options={"map": ["plan=plan:steps"]}
    ),
    "the server dropped it": lambda: recording(
        b"".join(stream("<think>a", "b</think>c"))[:700], ended="server disconnected"
    ),
    "nothing came": lambda: recording(b"", ended="server disconnected"),
    "an error in the stream": lambda: recording(
        b"".join([ROLE, *text("<think>a"), data({"error": {"message": "no"}}), DONE])
    ),
    "an error": lambda: recording(ERROR, "application/json", status=404),
    "a gateway's page": lambda: recording(
        b"<html><body>Bad gateway</body></html>", "text/html", status=502
    ),
    **{f"its own: {name}": lambda name=name: native(STREAMS[name][0]) for name in STREAMS},  # type: ignore[misc]
}


@pytest.mark.parametrize("name", GOOD)
def test_a_good_recording_breaks_no_law(name: str) -> None:
    assert [broken.message("") for broken in check(GOOD[name](), share_of(DRAWN))] == []


def test_a_recording_of_no_reply_has_no_laws_and_one_of_no_endpoint_is_an_error() -> None:
    counted = recording(
        b'{"input_tokens": 3}', "application/json", path="/v1/messages/count_tokens"
    )
    assert list(laws_of(counted)) == []
    with pytest.raises(ValueError, match="no request that the addon acts on"):
        check(recording(b"{}", path="/v1/other"))


type Change = Callable[[bytes, Any], bytes]


def spoil(monkeypatch: pytest.MonkeyPatch, change: Change) -> None:
    """Change every piece that goes out. `change` gets the piece and the rewriter."""
    feed, close = Rewriter.feed, Rewriter.close
    monkeypatch.setattr(
        Rewriter,
        "feed",
        lambda self, chunk, *at: [change(piece, self) for piece in feed(self, chunk, *at)],
    )
    monkeypatch.setattr(
        Rewriter, "close", lambda self: [change(piece, self) for piece in close(self)]
    )


def replaced(old: bytes, new: bytes) -> Change:
    return lambda piece, _: piece.replace(old, new)


SPOILED: list[tuple[int, str, Change]] = [
    (4, "tags", replaced(b"5", b"")),
    (4, "another name", replaced(b'"reasoning":"why"', b'"other":""')),
    (4, "a call", replaced(b'{\\"a\\": 1}', b'{\\"a\\": 2}')),
    (4, "tags", replaced(b'"system_fingerprint":"f"', b'"system_fingerprint":"g"')),
    (4, "a call", replaced(b'"stop_reason":"tool_use"', b'"stop_reason":"end_turn"')),
    (4, "a stop string", replaced(b'"stop_sequence":"###"', b'"stop_sequence":null')),
    (5, "tags", replaced(b"I add", b"\\n\\nI add")),
    (5, "whole", replaced(b"\\nIt is 5.", b"It is 5.")),
    (6, "tags", replaced(b"It", b"</think>It")),
    (9, "tags", replaced(b'"index":1', b'"index":2')),
    (9, "the server dropped it", replaced(b'"type":"error"', b'"type":"ping"')),
]


NO_STOP: Change = replaced(b'"stop_sequence":null', b'"stop_sequence":[]')
OF_SDKS = pytest.param(7, "tags", NO_STOP, marks=pytest.mark.slow)


@pytest.mark.parametrize(("number", "name", "change"), [*SPOILED, OF_SDKS])
def test_a_law_finds_its_fault(
    number: int, name: str, change: Change, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = GOOD[name]()
    spoil(monkeypatch, change)
    (law,) = (law for law in LAWS if law.number == number)
    (broken,) = check_one(law, good)
    assert (broken.recording, broken.law) == ("sample", str(law))
    assert broken.variant
    assert broken.difference


def test_law_9_finds_a_last_frame_that_is_lost_without_its_blank_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(FrameDecoder, "close", lambda _: [])
    (broken,) = check_one(LAWS[8], streamed("<think>a</think>b"), 0)
    assert "dead at byte" in broken.variant


def test_law_1_finds_what_depends_on_the_cuts(monkeypatch: pytest.MonkeyPatch) -> None:
    feed = Rewriter.feed
    monkeypatch.setattr(
        Rewriter, "feed", lambda self, chunk, *at: feed(self, chunk.replace(b"5.", b"6."), *at)
    )
    (broken,) = check_one(LAWS[0], GOOD["tags"]())
    assert "byte by byte" in broken.variant or "cut" in broken.variant
    assert broken.difference.startswith("event ")


def test_law_2_finds_what_depends_on_the_pieces_of_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("converter.core.reading.mark_search.MarkSearch.begun_length", lambda *_: 0)
    (broken,) = check_one(LAWS[1], GOOD["tags"]())
    assert "the words" in broken.variant


def test_law_3_finds_a_whole_reply_that_is_read_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("converter.core.dialects.anthropic.encoder._parsed_input", lambda _: {})
    (broken,) = check_one(LAWS[2], GOOD["a call"]())
    assert "against both whole" in broken.variant


def test_law_8_finds_what_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("converter.core.wire.json_text.rescue", lambda data: data.decode())
    (broken,) = check_one(LAWS[7], recording(b"".join(stream("a" * 300))), drawn=40)
    assert "UnicodeDecodeError" in broken.difference


def _break_errors(monkeypatch: pytest.MonkeyPatch, broken: Callable[[], Answer]) -> None:
    """Have Anthropic's clients get another answer for a server's error."""
    own = Exchange.error_answer

    def error_answer(self: Exchange, *arguments: Any) -> Answer | None:
        return broken() if self.client_dialect is ANTHROPIC else own(self, *arguments)

    monkeypatch.setattr(Exchange, "error_answer", error_answer)


@pytest.mark.parametrize("number", [4, pytest.param(7, marks=pytest.mark.slow)])
def test_error_laws_find_an_error_that_lost_its_message(
    number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    lost = json.dumps({"type": "error", "error": {"type": "api_error", "message": "lost"}})
    status = 200 if number == 7 else 404
    _break_errors(monkeypatch, lambda: Answer(status, "application/json", lost.encode()))
    (law,) = (law for law in ERROR_LAWS if law.number == number)
    (broken,) = check_one(law, GOOD["an error"]())
    assert broken.variant == "Anthropic client"


def test_a_missing_sdk_has_its_own_error_and_is_left_out_of_a_check(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "laws.sdk_reading", None)
    monkeypatch.delattr("laws.sdk_reading", raising=False)
    with pytest.raises(NotInstalledError, match="pip install anthropic ollama openai"):
        check_one(LAWS[6], GOOD["tags"]())
    assert check(GOOD["tags"]()) == []
