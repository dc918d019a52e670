"""Settings that `--save` writes into a client's own file, and `--unsave` takes out."""

import json
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from converter.extras.command import saving
from converter.extras.command.addresses import CommandError
from converter.extras.command.clients import CLIENTS, ClientFacts
from tests.support.rows import rows_of

ROWS = rows_of(__file__)

FACTS = ClientFacts("http://127.0.0.1:8080", "qwen", 65536)
ABLE = [name for name, client in CLIENTS.items() if client.settings]
USERS = {
    "claude": '{"env": {"MINE": "1"}, "theme": "dark"}',
    "codex": 'approval_policy = "never"\n\n[mcp_servers.x]\ncommand = "x"\n',
    "opencode": '{"provider": {"mine": {"name": "mine"}}}',
    "aider": "dark-mode: true\n",
}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))


def _file(name: str) -> Path:
    saved = CLIENTS[name].settings
    assert saved
    return saved.file_path()


def _meaning(name: str, text: str) -> object:
    if name == "codex":
        return tomllib.loads(text)
    return text if name == "aider" else json.loads(text)


@pytest.mark.parametrize("name", ABLE)
def test_what_was_saved_is_taken_back(name: str) -> None:
    line = saving.save(name, FACTS)
    assert f"think-addon {name} --unsave" in line
    assert f"{FACTS.proxy_url}" in _file(name).read_text()
    saving.unsave(name)
    assert not _file(name).exists()
    with pytest.raises(CommandError, match=f"nothing was saved for {name}"):
        saving.unsave(name)


@pytest.mark.parametrize("name", ABLE)
def test_the_users_own_entries_stay(name: str) -> None:
    _file(name).parent.mkdir(parents=True, exist_ok=True)
    _file(name).write_text(USERS[name])
    saving.save(name, FACTS)
    saving.save(name, replace(FACTS, model="larger"))  # again, for another model
    text = _file(name).read_text()
    assert "larger" in text
    assert "qwen" not in text
    assert _meaning(name, text) != _meaning(name, USERS[name])
    saving.unsave(name)
    assert _meaning(name, _file(name).read_text()) == _meaning(name, USERS[name])


@pytest.mark.parametrize(("name", "text"), ROWS["nothing that others wrote is replaced"])
def test_nothing_that_others_wrote_is_replaced(name: str, text: str) -> None:
    _file(name).parent.mkdir(parents=True, exist_ok=True)
    _file(name).write_text(text)
    with pytest.raises(CommandError, match=str(_file(name))):
        saving.save(name, FACTS)
    assert _file(name).read_text() == text
    with pytest.raises(CommandError, match="nothing was saved"):
        saving.unsave(name)


def test_an_entry_that_was_changed_since_stays() -> None:
    saving.save("claude", FACTS)
    text = _file("claude").read_text()
    _file("claude").write_text(text.replace('_MODEL": "qwen"', '_MODEL": "mine"', 1))
    assert "env.ANTHROPIC_MODEL" in saving.unsave("claude")
    assert json.loads(_file("claude").read_text()) == {"env": {"ANTHROPIC_MODEL": "mine"}}


def test_a_client_without_a_file_of_settings_is_refused() -> None:
    with pytest.raises(CommandError, match=r"claude, codex, opencode, aider\), got llm"):
        saving.save("llm", FACTS)
