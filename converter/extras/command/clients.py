"""`CLIENTS` has a row for each client that `think-addon` starts: its program, environment,
arguments, options for its proxy, and settings for `--save`. `ClientFacts` has the proxy and model
that the client gets. `launch.py` starts it, `saving.py` writes the settings for `--save`.
"""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

NO_KEY = "unused"
"""The API key that a client gets, because most clients do not start without one."""
SHARE_OF_OUTPUT = 4
"""The longest reply is the model's context window divided by this number. Claude Code keeps the
length of the longest reply free in the window, so a longer reply would leave less room for the
conversation.
"""
MOST_OUTPUT = 32_000
"""The most tokens of the longest reply, however large the model's context window is."""


@dataclass(frozen=True, slots=True)
class ClientFacts:
    """The facts about proxy and model that go into a client's settings."""

    proxy_url: str
    """The proxy's address, to which the client sends its requests."""
    model: str
    """The model's name, as the server lists it."""
    window_tokens: int | None = None
    """The number of tokens in the model's context window, None if unknown."""
    sees_pictures: bool = False
    """True if the server reports that its model reads pictures."""

    @property
    def output(self) -> int | None:
        """The most tokens that a reply may have (`SHARE_OF_OUTPUT`, `MOST_OUTPUT`); None if the
        context window is unknown.
        """
        return self.window_tokens and min(self.window_tokens // SHARE_OF_OUTPUT, MOST_OUTPUT)


@dataclass(frozen=True, slots=True)
class SavedSettings:
    """The settings that `--save` writes into a client's own file."""

    format: Literal["JSON", "TOML", "YAML"]
    """The language of the file."""
    file_path: Callable[[], Path]
    """A function that returns the path of the client's file."""
    values_for: Callable[[ClientFacts], Mapping[str, object]]
    """A function that returns the settings to write: key -> value. Values for a JSON file may be
    nested objects.
    """


@dataclass(frozen=True, slots=True)
class Client:
    """A client that `think-addon` starts."""

    program: str
    """The program's name; empty for `run`, whose arguments name the program."""
    install_command: str
    """The command that installs the program; empty for `run`."""
    variables: Callable[[ClientFacts], Mapping[str, object]]
    """A function that returns the client's environment variables. If a variable's value is a
    mapping, the mapping is written to a file as JSON, and the variable gets the file's path.
    """
    arguments: Callable[[ClientFacts], Sequence[str]] = lambda _: ()
    """A function that returns the client's arguments that come before the user's."""
    proxy_options: Mapping[str, str] = field(default_factory=dict)
    """The addon's options for a proxy that is started for this client: name -> value."""
    needs_own_proxy: bool = False
    """True if the client needs a proxy with these `proxy_options`, and so never uses one that runs
    already.
    """
    settings: SavedSettings | None = None
    """The settings for `--save`, None if the client has no file for them."""


def _claude_variables(facts: ClientFacts) -> Mapping[str, object]:
    """Return Claude Code's environment variables: name -> value, None for an unknown value."""
    models = ("MODEL", "DEFAULT_OPUS_MODEL", "DEFAULT_SONNET_MODEL", "DEFAULT_HAIKU_MODEL")
    return {
        "ANTHROPIC_BASE_URL": facts.proxy_url,
        "ANTHROPIC_AUTH_TOKEN": NO_KEY,
        **{f"ANTHROPIC_{name}": facts.model for name in models},
        "CLAUDE_CODE_MAX_CONTEXT_TOKENS": facts.window_tokens,
        "CLAUDE_CODE_MAX_OUTPUT_TOKENS": facts.output,
        # With this variable Claude Code 2.1.332 sends a tool's description only when the model
        # looks for the tool: the first prompt has 23,000 tokens in place of 40,000, and a tool that
        # is added later leaves the cached prompt valid.
        "ENABLE_TOOL_SEARCH": "true",
    }


def _openai_variables(facts: ClientFacts) -> Mapping[str, object]:
    """Return the environment variables that programs with an OpenAI SDK read."""
    address = f"{facts.proxy_url}/v1"
    return {
        "OPENAI_BASE_URL": address,
        "OPENAI_API_BASE": address,
        "OPENAI_API_KEY": NO_KEY,
        "OPENAI_MODEL": facts.model,
    }


def _all_variables(facts: ClientFacts) -> Mapping[str, object]:
    """Return the environment variables for any program, whichever API it speaks."""
    # Programs other than Claude Code read the key from ANTHROPIC_API_KEY. `_claude_variables` has
    # no such variable, because Claude Code asks its user whether it may use that key.
    keys = {"ANTHROPIC_API_KEY": NO_KEY, "OLLAMA_HOST": facts.proxy_url}
    return {**_claude_variables(facts), **_openai_variables(facts), **keys}


def _aider_variables(facts: ClientFacts) -> Mapping[str, object]:
    """Return aider's environment variables. AIDER_MODEL_METADATA_FILE has a mapping, from which the
    launcher makes a file that describes the model.

    Without such a file aider looks for a description at GitHub, and asks its user about an unknown
    model at each start.
    """
    sizes = {"max_input_tokens": facts.window_tokens, "max_output_tokens": facts.output}
    described: dict[str, object] = {"litellm_provider": "openai", "mode": "chat"}
    described |= {name: size for name, size in sizes.items() if size}
    return {
        **_openai_variables(facts),
        "AIDER_MODEL_METADATA_FILE": {f"openai/{facts.model}": described},
    }


def _opencode_config(facts: ClientFacts) -> Mapping[str, object]:
    """Return opencode's configuration, as in `opencode.json`, with the proxy as its provider."""
    model: dict[str, object] = {"name": facts.model, "reasoning": True}
    if facts.window_tokens:
        model["limit"] = {"context": facts.window_tokens, "output": facts.output}
    if facts.sees_pictures:
        model["modalities"] = {"input": ["text", "image"], "output": ["text"]}
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": f"{facts.proxy_url}/v1", "apiKey": NO_KEY},
        "models": {facts.model: model},
    }
    return {"model": f"local/{facts.model}", "provider": {"local": provider}}


def _codex_config(facts: ClientFacts) -> Mapping[str, object]:
    """Return Codex's settings by their keys in `config.toml`, with the proxy as its provider."""
    provider = {"name": "local", "base_url": f"{facts.proxy_url}/v1", "wire_api": "responses"}
    settings: dict[str, object] = {
        "model": facts.model,
        "model_provider": "local",
        "model_context_window": facts.window_tokens,
        "model_reasoning_summary": "auto",
        "web_search": "disabled",  # Only OpenAI's own servers can run Codex's web search.
        **{f"model_providers.local.{name}": value for name, value in provider.items()},
    }
    return {name: value for name, value in settings.items() if value is not None}


def _codex_arguments(facts: ClientFacts) -> Sequence[str]:
    """Return Codex's settings as arguments of its command line: `["-c", 'model="qwen3"', ...]`."""
    pairs = _codex_config(facts).items()
    return [word for name, value in pairs for word in ("-c", f"{name}={json.dumps(value)}")]


def _claude_settings(facts: ClientFacts) -> Mapping[str, object]:
    """Return the entries of Claude Code's `settings.json`: its environment variables in `env`."""
    needs = _claude_variables(facts).items()
    return {"env": {name: str(value) for name, value in needs if value is not None}}


def _aider_settings(facts: ClientFacts) -> Mapping[str, object]:
    """Return aider's settings by their keys in `.aider.conf.yml`."""
    return {
        "model": f"openai/{facts.model}",
        "openai-api-base": f"{facts.proxy_url}/v1",
        "openai-api-key": NO_KEY,
        # Without this setting aider would warn of an unknown model. The launcher needs no such
        # setting, because it gives aider a file that describes the model (`_aider_variables`).
        "show-model-warnings": False,
    }


def _config_folder(variable: str, usual: str) -> Path:
    """Return the folder that the environment variable names, else `usual` in the user's home."""
    return Path(os.environ.get(variable) or Path.home() / usual)


_NO_BLANKS = {"think_blanks": "trim"}
"""The proxy's options for a client that shows the blanks at the beginning of a reply as empty
lines.
"""
CLIENTS: Mapping[str, Client] = {
    "claude": Client(
        "claude",
        "npm install -g @anthropic-ai/claude-code",
        _claude_variables,
        proxy_options=_NO_BLANKS,
        settings=SavedSettings(
            "JSON",
            lambda: _config_folder("CLAUDE_CONFIG_DIR", ".claude") / "settings.json",
            _claude_settings,
        ),
    ),
    "codex": Client(
        "codex",
        "npm install -g @openai/codex",
        lambda _: {},
        _codex_arguments,
        proxy_options=_NO_BLANKS,
        settings=SavedSettings(
            "TOML", lambda: _config_folder("CODEX_HOME", ".codex") / "config.toml", _codex_config
        ),
    ),
    "opencode": Client(
        "opencode",
        "npm install -g opencode-ai",
        lambda facts: {"OPENCODE_CONFIG_CONTENT": json.dumps(_opencode_config(facts))},
        settings=SavedSettings(
            "JSON",
            lambda: _config_folder("XDG_CONFIG_HOME", ".config") / "opencode" / "opencode.json",
            _opencode_config,
        ),
    ),
    "aider": Client(
        "aider",
        "python -m pip install aider-install && aider-install",
        _aider_variables,
        lambda facts: ("--model", f"openai/{facts.model}"),
        settings=SavedSettings("YAML", lambda: Path.home() / ".aider.conf.yml", _aider_settings),
    ),
    "llm": Client(
        "llm",
        "pip install llm llm-anthropic",
        _all_variables,
        proxy_options={**_NO_BLANKS, "think_models": "*="},
        needs_own_proxy=True,
    ),
    "run": Client("", "", _all_variables),
}
"""Subcommand of `think-addon` -> the client that it starts; `run` starts any program."""
