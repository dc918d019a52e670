"""`think-addon claude` (`codex`, `run` ...): start a client of the table in `clients.py` on a local
model, and a proxy if no proxy runs. `think-addon env` only prints the client's environment.

The client gets its settings by environment and command line. The user's files are not changed,
except by `--save` and `--unsave` (`saving.py`). A proxy that was started for a client ends with the
client.
"""

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO
from urllib.parse import urlsplit

from converter.addon import shell_lines
from converter.addon.servers.model_names import model_entries
from converter.addon.servers.server_key import KEY_VARIABLE, server_key
from converter.addon.start_lines import window_warning
from converter.core.dialects.error_words import server_message
from converter.core.dialects.model_facts import read
from converter.extras.command import saving
from converter.extras.command.addresses import (
    LOCAL,
    PORTS_TRIED,
    CommandError,
    UsageError,
    free_port,
    server_address,
)
from converter.extras.command.clients import CLIENTS, Client, ClientFacts
from converter.extras.command.doctor import facts_until_window
from converter.extras.command.link import ServerLink, find_server_behind, key_remedy, wants_key
from converter.extras.command.start import (
    ADDON,
    PORT,
    check_options,
    export_key,
    unset_defaults,
)

SECONDS_TO_END = 10.0
"""How long the client's proxy may take to end after SIGTERM, before it is killed."""
_PASSED_SIGNALS = (signal.SIGTERM, *filter(None, [getattr(signal, "SIGHUP", None)]))
"""The signals that the launcher passes on to the client while the client runs."""
_MISSING, _NOT_STARTED = 127, 126
"""A shell's exit codes for a program that is not installed, and for a program that the system
cannot start.
"""
_PATIENCE_FOR_OURS = 1.0
"""Seconds to wait for an answer from a port of this machine. A think-addon answers at once."""
_NO_LIST = (200, 404, 405, 501)
"""Status codes of a server that has no list of models, or (200) an empty list. For these codes the
user gets the launcher's own message, because the text of such a response (*Not Found*) would not
help. For any other status the user gets the server's message.
"""
_NOT_INHERITED = (
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "CLAUDE_CODE_USE_ANTHROPIC_AWS",
    "CLAUDE_CODE_USE_ANTHROPIC_GOOGLE_CLOUD",
    "CLAUDE_CODE_USE_BEDROCK",
    "CLAUDE_CODE_USE_FOUNDRY",
    "CLAUDE_CODE_USE_GATEWAY",
    "CLAUDE_CODE_USE_MANTLE",
    "CLAUDE_CODE_USE_VERTEX",
    "OPENAI_API_KEY",
    KEY_VARIABLE,
)
"""Variables that a client does not get. With a cloud's key or switch the client might send prompts
to the cloud: by `CLAUDE_CODE_USE_` Claude Code 2.1.332 uses a cloud in place of ANTHROPIC_BASE_URL.
The server's key (`KEY_VARIABLE`) is for the proxy alone.
"""
_OVERRIDABLE = (
    "CLAUDE_CODE_MAX_CONTEXT_TOKENS",
    "CLAUDE_CODE_MAX_OUTPUT_TOKENS",
    "ENABLE_TOOL_SEARCH",
)
"""Environment variables for which the user's value, if there is one, overrides the launcher's."""


_CLIENT_NAMES = {"claude": "Claude Code", "codex": "Codex"}
"""Subcommand -> the client's name in `start_lines.NEEDS`, which has the smallest context
window that each client can use.
"""
_USAGE = """\
usage: think-addon run [--url URL] [--key KEY] [--model NAME] [--set NAME=VALUE ...] -- PROGRAM ...

Start a program on a local model, and the proxy if none runs. These options stand first; all else is
the program's. Settings go into its environment and command line only."""
"""The usage of `think-addon run`, which is printed if no program is named."""


@dataclass(slots=True)
class LaunchArguments:
    """The launcher's own arguments."""

    url: str = ""
    """The address of the server, or of a running think-addon; empty to look for either on this
    machine.
    """
    key: str = ""
    """The server's API key, empty without one."""
    model: str = ""
    """The model's name; empty for the first model that the server lists."""
    proxy_options: list[str] = field(default_factory=list)
    """Options for the proxy that the launcher starts, as `["--set", "NAME=VALUE", ...]`."""
    save_flag: str = ""
    """The flag `--save` or `--unsave`, empty without such a flag."""


def main(name: str, arguments: Sequence[str]) -> int:
    """Start the client `name`, and a proxy if needed; return the client's exit status. Or write the
    client's settings (`--save`), or remove them (`--unsave`).
    """
    chosen, rest = _parsed_arguments(name, arguments)
    if chosen.save_flag == "--unsave":
        print(saving.unsave(name))
        return 0
    if chosen.save_flag:
        print(saving.save(name, client_facts(_require_proxy(chosen.url), chosen.model)))
        return 0
    client = CLIENTS[name]
    program, rest = (client.program, rest) if client.program else (rest[0], rest[1:])
    path = shutil.which(program)
    if not path:
        how = f": get it with `{client.install_command}`" if client.install_command else ""
        print(f"think-addon: {program} is not installed{how}", file=sys.stderr)
        return _MISSING
    # These signals end the launcher by `sys.exit`, so that the `with` blocks end the proxy and
    # remove the folder. While the client runs, `_run_program` sends the signals to the client.
    for number in _PASSED_SIGNALS:
        signal.signal(number, lambda got, _: sys.exit(128 + got))
    with (
        tempfile.TemporaryDirectory(prefix="think-addon-") as folder,
        _proxy_for(chosen, client) as proxy,
    ):
        facts = client_facts(proxy, chosen.model)
        named, where = _find_model(rest)
        # The user's `--model` is dropped: our variables or arguments name the same model, with the
        # provider's prefix that the client needs.
        if name != "run" and named == facts.model:
            del rest[where]
        if small := window_warning(_CLIENT_NAMES.get(name, ""), facts.window_tokens):
            print(f"think-addon: {small}: start the server with a larger one", file=sys.stderr)
        variables = {**inherited_values(proxy), **_variables(client.variables(facts), Path(folder))}
        return _run_program([path, *client.arguments(facts), *rest], variables)


def _require_proxy(url: str) -> str:
    """Return the address of the running proxy that `running_proxy` finds for `url`. Raises
    CommandError if it finds no proxy.
    """
    proxy, _ = running_proxy(url)
    if not proxy:
        raise CommandError(f"no proxy runs: start one with `think-addon {url or 'URL'}`")
    return proxy


def inherited_values(proxy: str) -> dict[str, str]:
    """Return this process's environment for a client, without `_NOT_INHERITED`.

    A company's proxy (`HTTPS_PROXY`) stays for the client's tools; `no_proxy` keeps the client's
    requests to `proxy` away from the company's proxy.
    """
    kept = {name: value for name, value in os.environ.items() if name not in _NOT_INHERITED}
    near = dict.fromkeys((urlsplit(proxy).hostname or LOCAL, "localhost"))
    for name in ("no_proxy", "NO_PROXY"):
        kept[name] = ",".join(filter(None, (kept.get(name), *near)))
    return kept


def print_environment(arguments: Sequence[str]) -> int:
    """Print how a client is started: its environment as `export` lines for a shell, its arguments
    as a comment. Return the exit status 0.
    """
    parser = argparse.ArgumentParser(
        "think-addon env",
        description="Print what a client is started with, as `export` lines for a shell:"
        ' eval "$(think-addon env claude)".',
        allow_abbrev=False,
    )
    about = "a proxy, or the server behind one that runs; else the first proxy that runs is taken"
    parser.add_argument("--url", default="", help=about)
    parser.add_argument("--model", default="", help="a model, in place of the server's first")
    parser.add_argument("name", choices=list(CLIENTS), help="the client; `run`: any program")
    chosen = parser.parse_args(arguments)
    url = server_address(chosen.url) if chosen.url else ""
    proxy = _require_proxy(url)
    client, facts, lines = CLIENTS[chosen.name], client_facts(proxy, chosen.model), list[str]()
    for name, value in _variables(client.variables(facts)).items():
        lines.append(f"export {name}={shell_lines.quoted(value)}")
    if rest := client.arguments(facts):
        lines.append(f"# {shell_lines.command([client.program, *rest])}")
    print("\n".join(lines))
    return 0


def _parsed_arguments(name: str, arguments: Sequence[str]) -> tuple[LaunchArguments, list[str]]:
    """Return the launcher's own arguments, which come first, and the client's arguments, which
    follow.

    `--url URL --set NAME=VALUE -p hello` -> `LaunchArguments(url="URL", proxy_options=["--set",
    "NAME=VALUE"])` and `["-p", "hello"]`. If only the client's arguments name a model, `model` has
    this name too, but not for `run`. The server's key goes into this process's environment.
    """
    chosen, rest = LaunchArguments(), list(arguments)
    if rest[:1] in (["--save"], ["--unsave"]):
        chosen.save_flag = rest.pop(0)
    while rest and rest[0] in ("--url", "--key", "--model", "--set"):
        option = rest.pop(0)
        if not rest:
            raise UsageError(f"{option} needs a value: think-addon {name} {option} VALUE")
        if option == "--set":
            chosen.proxy_options += [option, rest.pop(0)]
        else:
            setattr(chosen, option.removeprefix("--"), rest.pop(0))
    chosen.url = chosen.url and server_address(chosen.url)
    check_options(chosen.proxy_options[1::2])
    export_key(chosen.key or None)
    if rest[:1] == ["--"]:
        del rest[0]
    if name == "run" and rest in ([], ["--help"]):
        raise UsageError(_USAGE)
    if name != "run" and not chosen.model:
        chosen.model, _ = _find_model(rest)
    return chosen, rest


def _find_model(rest: Sequence[str]) -> tuple[str, slice]:
    """Return the model that the client's arguments `rest` name, without the provider, and the slice
    of the arguments that name it: `["--model", "openai/qwen3"]` -> `qwen3` and `slice(0, 2)`.
    Return an empty text and an empty slice if no argument names a model.
    """
    for at, word in enumerate(rest[: rest.index("--") if "--" in rest else None]):
        option, equals, value = word.partition("=")
        if option == "--model":
            where = slice(at, at + (1 if equals else 2))
            value = value or "".join(rest[where][1:])
            return value.removeprefix("openai/").removeprefix("local/"), where
    return "", slice(0)


def _variables(needs: Mapping[str, object], folder: Path | None = None) -> dict[str, str]:
    """Return a client's environment variables `needs` as text. A variable in `_OVERRIDABLE` keeps
    the value that it has in this process's environment, if any.

    A value that is a mapping is written as JSON to a file in `folder`, and the variable gets the
    file's path. Without `folder` such a variable is left out. So is each variable with the value
    None.
    """
    variables: dict[str, str] = {}
    kept = {name: os.environ[name] for name in _OVERRIDABLE if name in needs and name in os.environ}
    for name, value in {**needs, **kept}.items():
        if not isinstance(value, Mapping | None):
            variables[name] = str(value)
        elif value and folder:
            (folder / name).write_text(json.dumps(value))
            variables[name] = str(folder / name)
    return variables


def client_facts(proxy: str, wanted: str = "") -> ClientFacts:
    """Ask the server behind `proxy`, and return the facts for a client: proxy, model, the model's
    context window, and whether it reads pictures.

    The model is `wanted` if the server lists this model, or lists no models; else the first model
    of the list whose name can be printed. Raises CommandError if there is no such model, or the
    server wants an API key that it does not get.
    """
    behind = find_server_behind(ServerLink(proxy))
    reply = ServerLink(proxy).response("/v1/models")
    listed = reply and reply.value()
    models = [str(entry["id"]) for entry in model_entries(listed)]
    if wants_key(reply):
        raise CommandError(key_remedy(behind, server_key()))
    if not models and not wanted:
        reason = server_message(reply.body) if reply and reply.status not in _NO_LIST else ""
        remedy = f"{behind} lists no models: load one, or name one with --model NAME"
        raise CommandError(reason or remedy)
    model = wanted if wanted in models or not models else ""
    model = model or next(filter(str.isprintable, models), "")
    if not model:
        raise CommandError(f"{behind} lists no model whose name can be printed: got {models[0]!r}")
    try:
        facts = facts_until_window(ServerLink(behind, server_key()), model, listed)
    except CommandError:
        # Perhaps only the proxy, by its options, trusts the server's certificate. Then the list of
        # models, which came through the proxy, is the only source of facts.
        facts = read({"/v1/models": listed}, model)
    return ClientFacts(proxy, model, facts.window, bool(facts.sees))


def running_proxy(url: str, *, insecure: bool = False) -> tuple[str, str]:
    """Return the address of a running think-addon, and the address of the server behind it. Return
    two empty texts if none runs.

    `url`: the address of the think-addon, or of a server; a think-addon in front of this server is
    then searched on this machine. Empty: any think-addon on this machine will do. `insecure`: True
    if any certificate of the think-addon at `url` is accepted.

    All ports are asked at once, because the wait for a port that never answers takes a second.
    """
    if url and (behind := find_server_behind(ServerLink(url, insecure=insecure))):
        return url, behind
    addresses = [f"http://{LOCAL}:{port}" for port in range(PORT, PORT + PORTS_TRIED)]
    with ThreadPoolExecutor(PORTS_TRIED) as asking:
        for address, behind in zip(addresses, asking.map(_server_behind, addresses), strict=True):
            if behind.startswith("http") and url in ("", behind):
                return address, behind
    return "", ""


def _server_behind(address: str) -> str:
    """Return the server behind the think-addon at an address, empty if no think-addon answers."""
    try:
        return find_server_behind(ServerLink(address, patience_seconds=_PATIENCE_FOR_OURS))
    except CommandError:
        return ""


@contextmanager
def _proxy_for(chosen: LaunchArguments, client: Client) -> Iterator[str]:
    """Yield the address of a proxy for the client.

    A running proxy is used, unless the user gave options or a key, or the client needs a proxy of
    its own. Otherwise a new proxy starts in front of the same server, and ends with the `with`
    block. The new proxy gets the client's options, which the user's options override. It listens at
    random ports, so that `running_proxy` never returns it to another client.
    """
    insecure = any(word.startswith("ssl_") for word in chosen.proxy_options)
    running, behind = running_proxy(chosen.url, insecure=insecure)
    if running and not (chosen.proxy_options or chosen.key or client.needs_own_proxy):
        yield running
        return
    # Systems take ports from 32768 upwards for outgoing connections. A lower port stays free until
    # the new proxy listens.
    port = free_port("--port", random.randrange(20_000, 32_000), LOCAL)
    web_port = free_port("--web-port", port + 1, LOCAL)
    ports = {"listen_port": str(port), "web_port": str(web_port)}
    defaults = {**ports, "think_lessons": "true", **client.proxy_options}
    options = [*unset_defaults(defaults, chosen.proxy_options[1::2]), *chosen.proxy_options]
    arguments = [*filter(None, [behind or chosen.url]), "--end-with-input", *options]
    command = [sys.executable, "-P", "-m", "converter.command", *arguments]
    with (
        tempfile.TemporaryFile("w+") as log,
        subprocess.Popen(
            command,
            # The proxy ends when this pipe closes: at the end of this process, even by a kill.
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            env={**os.environ, "PYTHONPATH": str(ADDON.parent)},
            start_new_session=True,  # Ctrl-C in the terminal must not end the client's proxy.
        ) as process,
    ):
        try:
            yield _await_proxy(process, log)
        finally:
            process.terminate()
            try:
                process.wait(SECONDS_TO_END)
            except subprocess.TimeoutExpired:
                process.kill()


def _await_proxy(process: subprocess.Popen[str], log: IO[str]) -> str:
    """Wait until the proxy listens, print the address of its page, and return the proxy's address.
    Raises CommandError if the proxy ends before it listens.
    """
    assert process.stdout
    lines, proxy = list[str](), ""
    for line in process.stdout:
        lines.append(line)
        match line.split():
            case ["Proxy:", proxy, *_]:
                pass
            case ["Watch:" | "mitmweb:", page]:
                threading.Thread(target=process.stdout.read, daemon=True).start()
                print(f"think-addon: watch at {page}", file=sys.stderr)
                return proxy
    log.seek(0)
    reason = " ".join("".join([*lines, log.read()]).split())
    raise CommandError(f"the proxy did not start: {reason}")


def _run_program(command: Sequence[str], environment: Mapping[str, str]) -> int:
    """Run a program in this terminal, and pass signals on to it; return its exit status. Return
    `_MISSING` or `_NOT_STARTED` if it cannot be started.
    """
    # Ctrl-C is ignored in this process, because the terminal sends SIGINT to the program as well.
    # The handler is an empty function: SIG_IGN would be inherited, and the program would ignore
    # Ctrl-C.
    handlers = {signal.SIGINT: signal.signal(signal.SIGINT, lambda *_: None)}
    try:
        process = subprocess.Popen(command, env=environment)
        for number in _PASSED_SIGNALS:
            handlers[number] = signal.signal(number, lambda got, _: process.send_signal(got))
        status = process.wait()
    except OSError as error:  # A script's interpreter is missing, or the file does not run here.
        missing = isinstance(error, FileNotFoundError)
        reason = error.strerror or type(error).__name__
        reason = "the interpreter in its first line is missing" if missing else reason
        print(f"think-addon: {command[0]} cannot be started: {reason}", file=sys.stderr)
        return _MISSING if missing else _NOT_STARTED
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    return status if status >= 0 else 128 - status
