"""The library of recordings is what the shots say, each shows what its name says, and a shot can be
taken again.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from converter.addon.exchange.settings import OPTIONS, RECORDED
from converter.core.dialects.table import ANTHROPIC, Form
from converter.core.model.initial_state import InitialState
from converter.extras.recordings.library import Library
from converter.extras.recordings.recording import Recording
from tests.support.harness import VARIANTS
from tools.capture import FOLDER, Camera
from tools.shots import BY_NAME, CHAT, SHOTS, TAGS, TRANSFORMERS

pytestmark = pytest.mark.slow

LIBRARY = Library(FOLDER)
BYTES = 7_000_000
"""All that a clone has to carry of them; the last 300,000 are those in `SHOWN` of real servers."""


def _cuts_a_character(recording: Recording) -> bool:
    def cut(data: bytes) -> bool:
        try:
            data.decode()
        except UnicodeDecodeError:
            return True
        return False

    return any(cut(chunk.data) for chunk in recording.chunks)


def _thinks(recording: Recording) -> bool:
    return _thinks_in(recording.body)


def _thinks_in(body: bytes) -> bool:
    return b"reasoning_content" in body


SHOWN: dict[str, Callable[[Recording], object]] = {
    "llama-split-characters-stream": _cuts_a_character,
    "llama-client-left-stream": lambda recording: recording.ended.startswith("Client disconnected"),
    "llama-server-dropped-stream": lambda recording: (
        "peer closed" in recording.ended and b"[DONE]" not in recording.body
    ),
    "llama-spelled-cut-in-tag-whole": lambda recording: b'</th"' in recording.body,
    "llama-spelled-stream": lambda recording: b'"</think>"' not in recording.body,
    "llama-call-in-thought-whole": lambda recording: (
        b"</think>" not in recording.body and b'"tool_calls":' in recording.got.body
    ),
    "llama-call-cut-by-length-anthropic-whole": lambda recording: (
        b'"max_tokens"' in recording.got.body and b'"Oslo' not in recording.body
    ),
    "llama-unclosed-stop-whole": lambda recording: (
        recording.found.begins == "likely thinking" and not _thinks_in(recording.got.body)
    ),
    "llama-closer-in-code-whole": lambda recording: _thinks_in(recording.got.body),
    "llama-closer-first-whole": lambda recording: b"</think>" not in recording.got.body,
    "llama-closer-first-thinking-off-whole": lambda recording: b"</think>" in recording.got.body,
    "llama-opened-stream": lambda recording: (
        b"<think>" in recording.body and recording.found.begins == "text"
    ),
    "llama-opened-extracted-no-thought-stream": lambda recording: (
        recording.got.body == recording.body and not _thinks(recording)
    ),
    "llama-opened-extracted-no-thought-whole": lambda recording: (
        recording.got.body == recording.body and not _thinks(recording)
    ),
    "llama-prompted-stream": lambda recording: (
        b"<thinking>" in recording.sent.body and recording.found.prompted
    ),
    "llama-unread-whole": lambda recording: (
        recording.body.startswith(b'{"choices":[{"text":"<think>') and recording.awaited().as_text
    ),
    "llama-unread-tool-call-anthropic-stream": lambda recording: (
        b'"text":"<tool_call>"' in recording.body and b'"tool_use"' in recording.got.body
    ),
    "llama-steps-stream": lambda recording: recording.body.count(b'"</think>"') == 2,
    "llama-native-extracted-stream": lambda recording: recording.server_dialect is ANTHROPIC,
    "llama-too-long-anthropic-stream": lambda recording: recording.answered.status == 400,
    "vllm-too-long-anthropic-whole": lambda recording: recording.found.counted,
    "vllm-error-in-stream": lambda recording: (
        recording.answered.status == 200 and recording.body.startswith(b'data: {"error"')
    ),
    "vllm-newest-wrong-parsers-thinking-off-whole": lambda recording: (
        b'"reasoning":"' in recording.body and b'"reasoning_content":"' not in recording.got.body
    ),
    "vllm-newest-tool-text-whole": lambda recording: (
        b'"tool_choice":"none"' in recording.sent.body and b'"tool_calls":[' in recording.got.body
    ),
    "vllm-newest-native-tool-text-whole": lambda recording: (
        b'"tool_choice":{"type":"none"}' in recording.sent.body
        and b'"tool_use"' in recording.got.body
    ),
    "vllm-newest-reply-too-long-responses-whole": lambda recording: (
        b"context_length_exceeded" not in recording.got.body
    ),
    "sglang-newest-picture-left-out-whole": lambda recording: (
        b"[picture left out" in recording.sent.body and recording.answered.status == 200
    ),
    "mlx-lm-thinking-off-anthropic-whole": lambda recording: (
        b'"enable_thinking":false' in recording.sent.body
        and b'"thinking"' not in recording.got.body
    ),
    "vllm-newest-prefilled-whole": lambda recording: (
        b"</think>" in recording.body and recording.found.begins == "text"
    ),
    "vllm-newest-forbidden-call-whole": lambda recording: (
        b"<tool_call>" in recording.body and b"<tool_call>" not in recording.got.body
    ),
    "sglang-newest-two-choices-stream": lambda recording: (
        recording.body.index(b'"index":1') < recording.body.index(b'"index":0')
    ),
    "vllm-two-choices-stream": lambda recording: b'"index":1' in recording.body,
    "vllm-stop-string-whole": lambda recording: b'"stop_reason":"="' in recording.body,
    "vllm-r1-no-opener-stream": lambda recording: (
        b"<think>" not in recording.body and recording.found.begins == "thinking"
    ),
    "vllm-r1-native-first-guess-stream": lambda recording: b"</think>" in recording.got.body,
    "vllm-r1-native-learned-stream": lambda recording: (
        b"</think>" in recording.body
        and b"</think>" not in recording.got.body
        and recording.settings.start is InitialState.AUTO
    ),
    "vllm-parsers-reasoning-stream": lambda recording: b'{"reasoning":' in recording.body,
    "transformers-tags-stream": lambda recording: b"[DONE]" not in recording.body,
    "transformers-own-responses-cut-in-thought-stream": lambda recording: (
        b'"status":"incomplete"' not in recording.body and recording.body.count(b".delta") == 8
    ),
    "transformers-own-responses-tool-text-whole": lambda recording: (
        b"function_call" not in recording.body and recording.got.body.count(b"function_call") == 2
    ),
    "transformers-tool-text-stream": lambda recording: b"tool_calls" not in recording.body,
}
"""By what a recording shows that it is what its name says; a shot taken again may have missed it.
"""


FROM_WIRES = (
    "mlx-lm-",
    "ollama-2025-",
    "sglang-newest-",
    "vllm-mlx-",
    "vllm-newest-",
    "xinference-",
)
"""Recordings of servers that take minutes to start, made of the bytes that each of them sent."""


def test_every_shot_has_its_recording_and_the_other_way_round() -> None:
    shots = [name for name in LIBRARY.names() if not name.startswith(FROM_WIRES)]
    assert shots == sorted(shot.name for shot in SHOTS)


@pytest.mark.parametrize("name", SHOWN)
def test_a_recording_shows_what_its_name_says(name: str) -> None:
    assert SHOWN[name](LIBRARY.load(name))


@pytest.mark.parametrize("form", Form)
def test_a_reply_is_sent_as_its_name_says(form: Form) -> None:
    named = [
        LIBRARY.load(shot.name) for shot in SHOTS if shot.name.endswith(f"-{form.name.lower()}")
    ]
    assert named
    assert [
        found.name
        for found in named
        if found.answered.status == 200 and found.form_for(found.client) is not form
    ] == []


def test_a_complete_chat_completion_notes_the_server_that_made_it() -> None:
    named = {
        shot.name: "llama.cpp" if shot.server in VARIANTS else "vllm"
        for shot in SHOTS
        if shot.server != TRANSFORMERS and shot.options != BY_NAME
    }
    loaded = [LIBRARY.load(name) for name in named]
    chats = [
        found
        for found in loaded
        if found.sent.path == CHAT and found.answered.status == 200 and not found.ended
    ]
    assert chats
    assert {found.name: found.found.server for found in chats} == {
        found.name: named[found.name] for found in chats
    }


def test_the_library_is_small() -> None:
    files = [path for path in FOLDER.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < BYTES


def test_a_shot_is_taken_through_the_addon(tmp_path: Path) -> None:
    (shot,) = (shot for shot in SHOTS if shot.name == "llama-tags-anthropic-whole")
    Camera(tmp_path, tmp_path, tmp_path / "library").take_from_llama(TAGS, [shot])
    taken, kept = Library(tmp_path / "library").load(shot.name), LIBRARY.load(shot.name)
    # kept when Anthropic's own headers still went on to the server
    sent = replace(kept.sent, headers={"content-type": "application/json"})
    assert (taken.asked, taken.sent) == (kept.asked, sent)
    # kept when thoughts of earlier turns went back in tags
    defaults = {option.name: option.default for option in OPTIONS if option.name in RECORDED}
    assert taken.options == {**defaults, **kept.options, "history": defaults["history"]}
    assert taken.found == kept.found
    assert b'"thinking"' in taken.got.body
