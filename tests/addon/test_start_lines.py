"""Lines that ask a proxy or start a client on it."""

import json
import shlex

import pytest

from converter.addon.start_lines import (
    UNKNOWN_MODEL,
    client_lines,
    curl_line,
    first_model,
    proxy_url,
    window_warning,
)
from converter.core.dialects.table import ANTHROPIC

PROXY = "http://127.0.0.1:8080"


@pytest.mark.parametrize(
    ("host", "shown"),
    [
        ("127.0.0.1", "http://127.0.0.1:81"),
        ("", "http://127.0.0.1:81"),
        ("0.0.0.0", "http://127.0.0.1:81"),
        ("::", "http://127.0.0.1:81"),
        ("::1", "http://[::1]:81"),
        ("gpu-box", "http://gpu-box:81"),
    ],
)
def test_the_address_is_one_that_a_client_here_can_use(host: str, shown: str) -> None:
    assert proxy_url(host, 81) == shown


def test_the_model_is_the_first_whose_name_is_safe_to_paste() -> None:
    assert first_model(["a\nb", "it's", "c"]) == "it's"
    assert first_model(["\u202e"]) == UNKNOWN_MODEL


def test_a_question_survives_the_shell() -> None:
    parts = shlex.split(curl_line(PROXY, ANTHROPIC, 'it\'s "quoted"'))
    assert parts[:3] == ["curl", "-sN", f"{PROXY}/v1/messages"]
    assert parts[3:5] == ["-H", "content-type: application/json"]
    assert json.loads(parts[-1])["model"] == 'it\'s "quoted"'


def test_a_program_with_an_sdk_gets_the_address() -> None:
    _, program = client_lines(PROXY, "m", None)
    openai = f"OPENAI_BASE_URL={PROXY}/v1 OPENAI_API_KEY=unused"
    assert program == ("A program with an SDK", f"{openai} python my_program.py")


@pytest.mark.parametrize(
    ("window", "shown"),
    [
        (None, "claude --model 'my model'"),
        (65536, "CLAUDE_CODE_MAX_CONTEXT_TOKENS=65536 claude --model 'my model'"),
        (4096, None),
    ],
)
def test_claude_code_is_started_only_where_it_can_work(
    window: int | None, shown: str | None
) -> None:
    (title, line), _ = client_lines(PROXY, "my model", window)
    assert title == "Claude Code"
    if shown is None:
        assert line == "# Claude Code needs a window of about 40,000 tokens, not 4,096"
    else:
        assert line == f"ANTHROPIC_BASE_URL={PROXY} ANTHROPIC_API_KEY=unused {shown}"


@pytest.mark.parametrize(
    ("client", "window", "reason"),
    [
        ("Codex", 4096, "Codex needs a window of about 12,000 tokens, not 4,096"),
        ("Codex", 12_000, ""),
        ("Codex", None, ""),
        ("another", 4096, ""),
    ],
)
def test_a_window_that_is_too_small_is_reported(
    client: str, window: int | None, reason: str
) -> None:
    assert window_warning(client, window) == reason
