"""`think-addon doctor URL`: ask a server what it is and how its model thinks; say what follows."""

import argparse
from collections.abc import Iterator, Sequence

from converter.command import examined
from converter.command.addresses import USUAL_PORTS, CommandError, server_address
from converter.command.examined import Finding
from converter.command.heard import Heard
from converter.command.link import PATIENCE, ServerLink, link_to
from converter.command.local_server import (
    find_local_server,
    in_front_of,
    itself,
    listed_models,
)
from converter.model.conversation import ThinkingSwitch
from converter.observe.printable import one_line
from converter.servers.model_facts import SAID_AT, SHOWN_AT, ModelFacts, read
from converter.servers.probes import IDENTITY_PATHS, recognise
from converter.servers.profiles import Server, thinking_fields

QUESTION = "What is 12 * 7?"
TOOL_QUESTION = "What is the weather in Oslo? Call the tool."
TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather in a place.",
        "parameters": {
            "type": "object",
            "properties": {"place": {"type": "string"}},
            "required": ["place"],
        },
    },
}
MOST_TOKENS = 2048


def main(arguments: Sequence[str]) -> int:
    """Examine a server and print the findings; return the exit status."""
    chosen = parser().parse_args(arguments)
    address = server_address(chosen.url or find_local_server())
    link = link_to(address, chosen.key, chosen.patience, chosen.insecure)
    if server := in_front_of(link):
        raise CommandError(f"{address} is {itself(server)}: ask {server}")
    findings = []
    for finding in examine(link, chosen.model):
        findings.append(finding)
        mark = "!" if finding.wrong else " "
        print(f"{mark} {finding.about:<10}{one_line(finding.words)}", flush=True)
    print(f"\n{examined.command_line(link.address, findings)}")
    return 1 if any(finding.wrong for finding in findings) else 0


def parser() -> argparse.ArgumentParser:
    """Return the reader of the command line."""
    made = argparse.ArgumentParser(
        "think-addon doctor",
        description="Ask a server what it is and how its model thinks; say which options follow.",
        epilog="Exit codes: 0 all is well; 1 a line marked ! says what is not; 2 wrong use.",
    )
    ports = ", ".join(map(str, USUAL_PORTS))
    made.add_argument("url", nargs="?", metavar="URL", help=f"else local ports are tried: {ports}")
    made.add_argument("--model", help="which one to ask; else the first that the server lists")
    made.add_argument("--key", default="", help="the API key, for a server that wants one")
    made.add_argument("--insecure", action="store_true", help="take any certificate")
    patience = "for each reply (%(default)g)"
    made.add_argument("--patience", type=float, default=PATIENCE, metavar="SECONDS", help=patience)
    return made


def examine(link: ServerLink, asked_model: str | None) -> Iterator[Finding]:
    """Yield the findings as they come."""
    server = recognise({path: link.reply(path) for path in IDENTITY_PATHS})
    if server is None:
        words = "does not answer as a model server does; does it want a --key?"
        raise CommandError(f"{link.address} {words}")
    name = "unknown to the addon" if server.name == "generic" else server.name
    yield Finding("server", f"{name} at {link.address}")
    models = listed_models(link)
    model = asked_model or (models[0] if models else "")
    yield _listed(models, model)
    heard, asks_for_thinking = _thinks(link, server, model)
    if heard.refused:
        yield Finding("reply", heard.refused, wrong=True)
        return
    yield examined.thinking(heard, server, model, asks_for_thinking)
    yield examined.history(model)
    facts = model_facts(link, model, server)
    yield examined.context(facts.window, server)
    if told := examined.faculties(facts):
        yield told
    body = {**_question(model, TOOL_QUESTION), "tools": [TOOL]}
    yield examined.tools(link.hear(body, lambda reply: bool(reply.calls)), server)


def _listed(models: Sequence[str], model: str) -> Finding:
    if not models:
        return Finding("models", f"none are listed{f'; {model} is asked' if model else ''}")
    if model not in models:
        return Finding("models", f"{', '.join(models)}; not among them: {model}", wrong=True)
    more = f"; {model} is asked" if len(models) > 1 else ""
    return Finding("models", ", ".join(models) + more)


def _thinks(link: ServerLink, server: Server, model: str) -> tuple[Heard, bool]:
    """Ask a question; once more, with the server's switch for thinking, when no thinking comes."""
    body = _question(model, QUESTION)
    heard = link.hear(body, _answers)
    switches = thinking_fields(server, ThinkingSwitch("enabled"), None, model)
    if heard.refused or examined.shows_thinking(heard) or not switches:
        return heard, False
    again = link.hear({**body, **switches}, _answers)
    return (heard, False) if again.refused else (again, True)


def _question(model: str, words: str) -> dict[str, object]:
    named = {"model": model} if model else {}
    messages = [{"role": "user", "content": words}]
    return {**named, "stream": True, "max_tokens": MOST_TOKENS, "messages": messages}


def _answers(heard: Heard) -> bool:
    """Tell whether an answer has begun behind a thought: the rest of it says nothing new."""
    return bool(heard.fields and heard.text.strip())


def model_facts(link: ServerLink, model: str, server: Server | None = None) -> ModelFacts:
    """Return the server's facts of a model."""
    told = {path: link.get(path) for path in SAID_AT}
    if server and server.name == "ollama":
        told[SHOWN_AT] = link.get(SHOWN_AT, {"model": model})
    return read(told, model)


def facts_until_window(link: ServerLink, model: str, listed: object) -> ModelFacts:
    """Return what the server says of a model, asking no further once the window is known: one who
    waits for a start needs no more. `listed`: its list of models.
    """
    told = {"/v1/models": listed}
    for path in SAID_AT:
        if path not in told and read(told, model).window is None:
            told[path] = link.get(path)
    return read(told, model)
