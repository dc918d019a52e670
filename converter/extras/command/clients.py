"""The clients that `think-addon` starts, a row each: its program, environment and command line."""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

NO_KEY = "unused"
SHARE_OF_OUTPUT = 4
"""Of so many tokens of the window one may be the reply's: Claude Code keeps them free."""
MOST_OUTPUT = 32_000


@dataclass(frozen=True, slots=True)
class ClientFacts:
    """The facts that go into a client's settings.

    Attributes:
        window: tokens of context, None where unknown.
        sees: the server says that its model takes pictures.
    """

    proxy: str
    model: str
    window: int | None = None
    sees: bool = False

    @property
    def output(self) -> int | None:
        """Tokens that a reply may have."""
        return self.window and min(self.window // SHARE_OF_OUTPUT, MOST_OUTPUT)


@dataclass(frozen=True, slots=True)
class SavedSettings:
    """The settings that `--save` writes into a client's own file. `values`: by their keys; in JSON
    they may be nested.
    """

    format: Literal["JSON", "TOML", "YAML"]
    file: Callable[[], Path]
    values: Callable[[ClientFacts], Mapping[str, object]]


@dataclass(frozen=True, slots=True)
class Client:
    """A program.

    Attributes:
        install: the command that installs it.
        needs: its environment. An object is written to a file, whose path is the variable's value.
        arguments: its command line.
        options: options of a proxy that is started for it.
        alone: it works with a proxy of its own only.
        saved: its own file of settings.
    """

    program: str
    install: str
    needs: Callable[[ClientFacts], Mapping[str, object]]
    arguments: Callable[[ClientFacts], Sequence[str]] = lambda _: ()
    options: Mapping[str, str] = field(default_factory=dict)
    alone: bool = False
    saved: SavedSettings | None = None


def _claude(facts: ClientFacts) -> Mapping[str, object]:
    models = ("MODEL", "DEFAULT_OPUS_MODEL", "DEFAULT_SONNET_MODEL", "DEFAULT_HAIKU_MODEL")
    return {
        "ANTHROPIC_BASE_URL": facts.proxy,
        "ANTHROPIC_AUTH_TOKEN": NO_KEY,
        **{f"ANTHROPIC_{name}": facts.model for name in models},
        "CLAUDE_CODE_MAX_CONTEXT_TOKENS": facts.window,
        "CLAUDE_CODE_MAX_OUTPUT_TOKENS": facts.output,
        # a first prompt of 23,000 tokens, not 40,000; loaded tools keep the cache (2.1.332)
        "ENABLE_TOOL_SEARCH": "true",
    }


def _openai(facts: ClientFacts) -> Mapping[str, object]:
    address = f"{facts.proxy}/v1"
    return {
        "OPENAI_BASE_URL": address,
        "OPENAI_API_BASE": address,
        "OPENAI_API_KEY": NO_KEY,
        "OPENAI_MODEL": facts.model,
    }


def _all(facts: ClientFacts) -> Mapping[str, object]:
    # Claude Code alone asks its user about this key: other programs know no other variable
    keys = {"ANTHROPIC_API_KEY": NO_KEY, "OLLAMA_HOST": facts.proxy}
    return {**_claude(facts), **_openai(facts), **keys}


def _aider(facts: ClientFacts) -> Mapping[str, object]:
    """Return a file that describes the model as well. Without it aider looks for a description at
    GitHub, and asks its user at each start about a model that it does not know.
    """
    sizes = {"max_input_tokens": facts.window, "max_output_tokens": facts.output}
    described: dict[str, object] = {"litellm_provider": "openai", "mode": "chat"}
    described |= {name: size for name, size in sizes.items() if size}
    return {
        **_openai(facts),
        "AIDER_MODEL_METADATA_FILE": {f"openai/{facts.model}": described},
    }


def _opencode_config(facts: ClientFacts) -> Mapping[str, object]:
    model: dict[str, object] = {"name": facts.model, "reasoning": True}
    if facts.window:
        model["limit"] = {"context": facts.window, "output": facts.output}
    if facts.sees:
        model["modalities"] = {"input": ["text", "image"], "output": ["text"]}
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": f"{facts.proxy}/v1", "apiKey": NO_KEY},
        "models": {facts.model: model},
    }
    return {"model": f"local/{facts.model}", "provider": {"local": provider}}


def _opencode(facts: ClientFacts) -> Mapping[str, object]:
    return {"OPENCODE_CONFIG_CONTENT": json.dumps(_opencode_config(facts))}


def _codex_config(facts: ClientFacts) -> Mapping[str, object]:
    provider = {"name": "local", "base_url": f"{facts.proxy}/v1", "wire_api": "responses"}
    settings: dict[str, object] = {
        "model": facts.model,
        "model_provider": "local",
        "model_context_window": facts.window,
        "model_reasoning_summary": "auto",
        "web_search": "disabled",  # only OpenAI can run it
        **{f"model_providers.local.{name}": value for name, value in provider.items()},
    }
    return {name: value for name, value in settings.items() if value is not None}


def _codex(facts: ClientFacts) -> Sequence[str]:
    pairs = _codex_config(facts).items()
    return [word for name, value in pairs for word in ("-c", f"{name}={json.dumps(value)}")]


def _claude_settings(facts: ClientFacts) -> Mapping[str, object]:
    needs = _claude(facts).items()
    return {"env": {name: str(value) for name, value in needs if value is not None}}


def _aider_settings(facts: ClientFacts) -> Mapping[str, object]:
    return {
        "model": f"openai/{facts.model}",
        "openai-api-base": f"{facts.proxy}/v1",
        "openai-api-key": NO_KEY,
        "show-model-warnings": False,  # no description of the model is there
    }


def _folder(variable: str, usual: str) -> Path:
    """Return a folder that the user names by a variable, else the usual one in the home folder."""
    return Path(os.environ.get(variable) or Path.home() / usual)


_NO_BLANKS = {"think_blanks": "trim"}
"""For a client that shows a reply's first blanks as empty lines."""
CLIENTS: Mapping[str, Client] = {
    "claude": Client(
        "claude",
        "npm install -g @anthropic-ai/claude-code",
        _claude,
        options=_NO_BLANKS,
        saved=SavedSettings(
            "JSON",
            lambda: _folder("CLAUDE_CONFIG_DIR", ".claude") / "settings.json",
            _claude_settings,
        ),
    ),
    "codex": Client(
        "codex",
        "npm install -g @openai/codex",
        lambda _: {},
        _codex,
        options=_NO_BLANKS,
        saved=SavedSettings(
            "TOML", lambda: _folder("CODEX_HOME", ".codex") / "config.toml", _codex_config
        ),
    ),
    "opencode": Client(
        "opencode",
        "npm install -g opencode-ai",
        _opencode,
        saved=SavedSettings(
            "JSON",
            lambda: _folder("XDG_CONFIG_HOME", ".config") / "opencode" / "opencode.json",
            _opencode_config,
        ),
    ),
    "aider": Client(
        "aider",
        "python -m pip install aider-install && aider-install",
        _aider,
        lambda facts: ("--model", f"openai/{facts.model}"),
        saved=SavedSettings("YAML", lambda: Path.home() / ".aider.conf.yml", _aider_settings),
    ),
    "llm": Client(
        "llm",
        "pip install llm llm-anthropic",
        _all,
        options={**_NO_BLANKS, "think_models": "*="},
        alone=True,
    ),
    "run": Client("", "", _all),
}
"""By the word that starts it; `run` starts any program."""
