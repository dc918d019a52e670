"""The environment and the command line of each client."""

import json
from dataclasses import replace

import pytest

from converter.extras.command.clients import CLIENTS, ClientFacts

pytestmark = pytest.mark.slow

FACTS = ClientFacts("http://127.0.0.1:8080", "qwen", 65536)
UNKNOWN = ClientFacts("http://127.0.0.1:8080", "qwen")


def _needs(name: str, facts: ClientFacts) -> dict[str, object]:
    variables = CLIENTS[name].variables(facts)
    return {key: value for key, value in variables.items() if value is not None}


def test_claude_code_gets_the_servers_window() -> None:
    needs = _needs("claude", FACTS)
    assert needs["ANTHROPIC_BASE_URL"] == "http://127.0.0.1:8080"
    assert {needs["ANTHROPIC_MODEL"], needs["ANTHROPIC_DEFAULT_HAIKU_MODEL"]} == {"qwen"}
    assert needs["CLAUDE_CODE_MAX_CONTEXT_TOKENS"] == 65536
    assert needs["CLAUDE_CODE_MAX_OUTPUT_TOKENS"] == 16384


def test_a_window_that_no_server_tells_stays_unknown() -> None:
    assert not [name for name in _needs("claude", UNKNOWN) if "TOKENS" in name]
    assert not [word for word in CLIENTS["codex"].arguments(UNKNOWN) if "window" in word]
    assert "limit" not in str(_needs("opencode", UNKNOWN))


def test_codex_gets_all_on_its_command_line() -> None:
    assert _needs("codex", FACTS) == {}
    settings = dict(word.split("=", 1) for word in CLIENTS["codex"].arguments(FACTS)[1::2])
    assert json.loads(settings["model_providers.local.base_url"]) == "http://127.0.0.1:8080/v1"
    assert json.loads(settings["model_context_window"]) == 65536


def test_opencode_gets_its_whole_configuration() -> None:
    config = json.loads(str(_needs("opencode", FACTS)["OPENCODE_CONFIG_CONTENT"]))
    assert config["model"] == "local/qwen"
    assert config["provider"]["local"]["models"]["qwen"]["limit"]["context"] == 65536


def test_opencode_gets_the_sight_of_a_model_that_sees() -> None:
    sees = replace(FACTS, sees_pictures=True)
    for facts, expected in ((sees, ["text", "image"]), (FACTS, None)):
        config = json.loads(str(_needs("opencode", facts)["OPENCODE_CONFIG_CONTENT"]))
        model = config["provider"]["local"]["models"]["qwen"]
        assert model.get("modalities", {}).get("input") == expected


def test_every_client_but_claude_code_gets_a_key_of_anthropics() -> None:
    """Claude Code has its token, and asks its user about a key."""
    assert "ANTHROPIC_API_KEY" not in _needs("claude", FACTS)
    assert {_needs(name, FACTS)["ANTHROPIC_API_KEY"] for name in ("llm", "run")} == {"unused"}
