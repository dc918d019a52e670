"""`think-addon doctor URL`: ask a server what it is, and how its model thinks and calls tools;
print which options follow. `facts_until_window`, which asks for a model's facts, serves `launch`
and `announcement` too.
"""

import argparse
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from converter.addon import shell_lines
from converter.addon.servers import initial_state
from converter.addon.servers.initial_state import Facts
from converter.addon.servers.probes import IDENTITY_PATHS, ProbeReply, recognise_server
from converter.addon.servers.profiles import Server, thinking_fields
from converter.addon.servers.refusals import STATUSES, TOOL_CHOICE, refused_traits
from converter.addon.servers.server_key import KEY_VARIABLE, server_key
from converter.addon.start_lines import NEEDS
from converter.core.dialects.model_facts import SHOWN_AT, WINDOW_FIELDS, ModelFacts, read
from converter.core.dialects.table import COMMON, DIALECTS
from converter.core.model.conversation import ThinkingSwitch
from converter.core.reading.families import TABLE, WORD_FAMILIES
from converter.core.reading.family_choice import for_model
from converter.core.reading.mark_search import Mark, MarkSearch, pattern_of
from converter.core.reading.thought_row import Lone, ThoughtRow
from converter.core.reading.tool_calls.forms import OPENERS, SECTIONS
from converter.core.reading.unread_tag import Pair, tag_at_beginning
from converter.core.wire.printable import one_line
from converter.extras.command.addresses import USUAL_PORTS, CommandError, server_address
from converter.extras.command.link import (
    PATIENCE,
    ServerLink,
    StreamedReply,
    addon_at,
    find_local_server,
    find_server_behind,
    listed_models,
    wants_key,
)
from converter.extras.command.start import export_key

KEY_TYPED = f"read -rs {KEY_VARIABLE} && export {KEY_VARIABLE} &&"
"""The beginning of a shell line. It reads the key from the keyboard without echo, so that the key
is not in the shell's history.
"""
QUESTION = "What is 12 * 7?"
"""The question whose reply shows how the model thinks."""
TOOL_QUESTION = "What is the weather in Oslo? Call the tool."
"""The question whose reply shows how the model calls `TOOL`."""
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
"""The tool that a request offers together with `TOOL_QUESTION`."""
MOST_TOKENS = 2048
"""The most tokens that the model may generate for one question."""
_ENDPOINTS = "endpoints"
"""The topic of the finding that lists the dialects which the server speaks."""
IN_TEXT = "every client, since thinking stands in the text"
"""The clients that need the addon, and why, if the server sends thinking in the text."""
CALLS_IN_TEXT = "agents, since calls stand in the text"
"""The clients that need the addon, and why, if the server sends calls in the text."""
KNOWS_ITS_PROMPT = ("llama.cpp", "vllm", "sglang")
"""Servers that tell the addon how the chat template ends a prompt, say with `<think>`. The addon so
learns whether a reply begins in a thought, and the user needs no option for it.
"""
ENOUGH_TOKENS = 65536
"""The size of a context window that is large enough for all agents in `NEEDS`."""
MORE_CONTEXT = {
    "llama.cpp": f"llama-server -c {ENOUGH_TOKENS}",
    "vllm": f"vllm serve --max-model-len {ENOUGH_TOKENS}",
    "sglang": f"sglang --context-length {ENOUGH_TOKENS}",
    "ollama": f"OLLAMA_CONTEXT_LENGTH={ENOUGH_TOKENS} ollama serve",
    "lmstudio": f"lms load --context-length {ENOUGH_TOKENS}",
}
"""Server's name -> the command that starts the server, or loads the model, with a context window of
`ENOUGH_TOKENS`.
"""
CALLS_TOOLS = {
    "vllm": "vllm serve --enable-auto-tool-choice --tool-call-parser NAME",
    "sglang": "sglang --tool-call-parser NAME",
    "llama.cpp": "llama-server --jinja",
}
"""Server's name -> the command that starts the server with its parser of tool calls switched on."""
_CLOSED_TAG = re.compile(r"\s*<([A-Za-z][\w:.|-]{0,40})>(?=.*</\1>)", re.DOTALL)
"""Matches a tag at the beginning of a text, if the tag is closed later. The group is its name."""
_CALL_MARKS = MarkSearch(dict.fromkeys((*OPENERS, *SECTIONS), Mark.OPEN))
"""Finds marks that begin a tool call in a text, in any form."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the doctor's report."""

    topic: str
    """The topic, which is the line's first word, such as `thinking`."""
    text: str
    """The line's text after the topic."""
    addon_options: tuple[str, ...] = ()
    """The addon's options that the finding calls for, each as `NAME=VALUE`."""
    is_fault: bool = False
    """True if the user should mend something; the line is marked `!`."""
    needed_by: str = ""
    """A text that names the clients that need the addon because of this finding, and says why;
    empty if none does.
    """


def main(arguments: Sequence[str]) -> int:
    """Examine a server and print the findings. Return the exit status: 1 if a finding is a fault,
    else 0.
    """
    chosen = parser().parse_args(arguments)
    address = server_address(chosen.url or find_local_server())
    export_key(chosen.key)
    link = ServerLink(address, server_key(), chosen.patience, chosen.insecure)
    if server := find_server_behind(link):
        raise CommandError(f"{address} is {addon_at(server)}: ask {server}")
    findings = []
    for finding in examine(link, chosen.model):
        findings.append(finding)
        mark = "!" if finding.is_fault else " "
        print(f"{mark} {finding.topic:<10}{one_line(finding.text)}", flush=True)
    # The printed command does not have the key, because the report may be shown to other people. It
    # reads the key from the keyboard.
    typed = f"{KEY_TYPED} " if chosen.key else ""
    print(f"\n{typed}{proxy_command(link.address, findings)}")
    print(f"\n{conclusion(findings)}")
    return 1 if any(finding.is_fault for finding in findings) else 0


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line of `think-addon doctor`."""
    parser = argparse.ArgumentParser(
        "think-addon doctor",
        description="Ask a server what it is and how its model thinks; say which options follow.",
        epilog="Exit codes: 0 all is well; 1 a line marked ! says what is not; 2 wrong use.",
    )
    ports = ", ".join(map(str, USUAL_PORTS))
    parser.add_argument(
        "url", nargs="?", metavar="URL", help=f"else local ports are tried: {ports}"
    )
    parser.add_argument("--model", help="which one to ask; else the first that the server lists")
    parser.add_argument(
        "--key", help=f"the API key, for a server that wants one, or {KEY_VARIABLE}"
    )
    parser.add_argument("--insecure", action="store_true", help="take any certificate")
    patience = "for each reply (%(default)g)"
    parser.add_argument(
        "--patience", type=float, default=PATIENCE, metavar="SECONDS", help=patience
    )
    return parser


def examine(link: ServerLink, chosen_model: str | None) -> Iterator[Finding]:
    """Examine the server by several requests, and yield each finding as soon as it is known.
    Raises CommandError if no model server answers, or the server wants an API key, or it lists no
    models and refuses a question that names none.

    `chosen_model`: the user's model; None for the first that the server lists.
    """
    replies = {path: link.response(path) for path in IDENTITY_PATHS}
    server = recognise_server(replies)
    if any(map(wants_key, replies.values())):
        wanted = f"{link.address} wants {'another' if link.api_key else 'an'} API key"
        raise CommandError(f"{wanted}: {KEY_TYPED} think-addon doctor {link.address}")
    if server is None:
        raise CommandError(
            f"{link.address} does not answer as a model server does: give the address of one,"
            " or let me look for one here: think-addon doctor"
        )
    name = "unknown to the addon" if server.name == "generic" else server.name
    taken = ("ssl_insecure=true",) if link.insecure else ()
    yield Finding("server", f"{name} at {link.address}", taken)
    models = listed_models(link)
    model = chosen_model or (models[0] if models else "")
    yield _models_finding(models, model)
    streamed, asks_for_thinking = _ask_for_thinking(link, server, model)
    if streamed.refusal and not model:
        raise CommandError(
            f"{link.address} lists no models, and answers a question with {streamed.refusal!r}: "
            "give the address of a model server, or name a model with --model"
        )
    if streamed.refusal:
        yield Finding("reply", streamed.refusal, is_fault=True)
        return
    yield thinking_finding(streamed, server, model, asks_for_thinking)
    reported = {path: link.json_at(path) for path in WINDOW_FIELDS}
    if server.name == "ollama":
        reported[SHOWN_AT] = link.json_at(SHOWN_AT, {"model": model})
    facts = read(reported, model)
    yield window_finding(facts.window, server)
    if facts.abilities:
        yield Finding("abilities", ", ".join(facts.abilities))
    body = {**_question_body(model, TOOL_QUESTION), "tools": [TOOL]}
    called = link.stream(body, lambda reply: bool(reply.called_tools))
    # A server without a parser of calls may refuse a request with tools unless the request has
    # `tool_choice: none`. It is then asked again with that field, as the addon does.
    parses = TOOL_CHOICE not in refused_traits(min(STATUSES), called.refusal)
    if not parses:
        called = link.stream({**body, "tool_choice": "none"}, lambda _: False)
    yield tools_finding(called, server, parses)
    paths = (dialect.requests.path for dialect in DIALECTS if dialect is not COMMON)
    yield endpoints_finding({path: link.response(path, {}) for path in paths})


def endpoints_finding(replies: Mapping[str, ProbeReply | None]) -> Finding:
    """Return the finding that lists the dialects which the server speaks itself.

    `replies`: path of a dialect -> the server's response to an empty request. A server that has the
    path refuses such a request, but not with 404, 405 or 501.
    """
    missing = {
        path
        for path, reply in replies.items()
        # LM Studio answers an unknown path with status 200 and "Unexpected endpoint".
        if reply is None or reply.status in (404, 405, 501) or b"nexpected endpoint" in reply.body
    }
    served = {dialect.requests.path: dialect.label.title for dialect in DIALECTS}
    there = _join_names([title for path, title in served.items() if path not in missing], "and")
    lacking = [title for path, title in served.items() if path in missing]
    text = f"the server answers clients of {there} itself"
    text += f", but none of {_join_names(lacking, 'or')}" if lacking else ""
    needed = f"clients of {_join_names(lacking, 'and')}" if lacking else ""
    return Finding(_ENDPOINTS, text, needed_by=needed)


def _join_names(names: Sequence[str], last: str) -> str:
    """Return names as in a sentence: `A, B and C`. `last`: the word before the last name: `and`."""
    return f" {last} ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def conclusion(findings: Iterable[Finding]) -> str:
    """Return a sentence that says whether the user needs the addon, and why."""
    by_topic = {finding.topic: finding for finding in findings}
    if "reply" in by_topic:
        return "Whether you need think-addon is not known: the server gave no reply."
    if needed := [
        each.needed_by for topic, each in by_topic.items() if each.needed_by and topic != _ENDPOINTS
    ]:
        return f"You need think-addon for {'; '.join(needed)}."
    lacking = by_topic[_ENDPOINTS].needed_by if _ENDPOINTS in by_topic else ""
    text = "You do not need think-addon for this server and model, because thinking and calls "
    text += "arrive apart"
    return f"{text}; you need it for {lacking}." if lacking else f"{text}."


def _models_finding(models: Sequence[str], model: str) -> Finding:
    """Return the finding on the `models` that the server lists. `model`: the model that the doctor
    asks, empty for the server's default model. The finding is a fault if the server lists
    models, but not this one.
    """
    if not models:
        return Finding("models", f"none are listed{f'; {model} is asked' if model else ''}")
    if model not in models:
        return Finding("models", f"{', '.join(models)}; not among them: {model}", is_fault=True)
    more = f"; {model} is asked" if len(models) > 1 else ""
    return Finding("models", ", ".join(models) + more)


def _ask_for_thinking(link: ServerLink, server: Server, model: str) -> tuple[StreamedReply, bool]:
    """Ask the model a question. If no thinking comes, and the server has fields that switch
    thinking on, ask again with these fields. Return the reply to the second request and True.
    Return the first reply and False if there was no second request, or the server refused it.
    """
    body = _question_body(model, QUESTION)
    streamed = link.stream(body, _has_begun_answer)
    in_text = _first_mark(streamed.text) or _unknown_pair(streamed.text)
    switches = thinking_fields(server, ThinkingSwitch("enabled"), None, model)
    if streamed.refusal or streamed.thinking_by_field or in_text or not switches:
        return streamed, False
    again = link.stream({**body, **switches}, _has_begun_answer)
    return (streamed, False) if again.refusal else (again, True)


def _question_body(model: str, text: str) -> dict[str, object]:
    """Return the body of a chat completion that asks `text`."""
    named = {"model": model} if model else {}
    messages = [{"role": "user", "content": text}]
    return {**named, "stream": True, "max_tokens": MOST_TOKENS, "messages": messages}


def _has_begun_answer(streamed: StreamedReply) -> bool:
    """Return True if thinking came apart from the text, as in `reasoning_content`, and the answer
    has begun. The reply need not be read further, because the rest would show nothing new.
    """
    return bool(streamed.thinking_by_field and streamed.text.strip())


def facts_until_window(link: ServerLink, model: str, listed: object) -> ModelFacts:
    """Ask the server for facts of a model until its context window is known; return the facts.
    Further requests would only delay the start of a proxy or client, for which a person waits.

    `listed`: the server's list of models, which is read first.
    """
    replies = {"/v1/models": listed}
    for path in WINDOW_FIELDS:
        if path not in replies and read(replies, model).window is None:
            replies[path] = link.json_at(path)
    return read(replies, model)


def thinking_finding(
    streamed: StreamedReply, server: Server, model: str, asks_for_thinking: bool
) -> Finding:
    """Return the finding on the model's thinking: it came in a field of its own, in the text
    between marks, or not at all.

    `streamed`: the reply to `QUESTION`, from the model of this name. `asks_for_thinking`: True if
    fields of the request switched thinking on.
    """
    seconds = streamed.seconds_to_first_token
    when = f"; the first words came after {seconds:.1f} s" if seconds is not None else ""
    switched = ", when a client asks for it" if asks_for_thinking else ""
    if streamed.thinking_by_field:
        names = " and ".join(f"`{name}`" for name in streamed.thinking_by_field)
        return Finding("thinking", f"yes{switched}: the server sends it apart, as {names}{when}")
    if mark := _first_mark(streamed.text):
        family, opened = mark
        where = f"{family.open.strip()} and {family.close.strip()}"
        begun = "" if opened else "; the template has opened it, so only the closer comes"
        text = f"yes{switched}: in the text, between {where}{begun}{when}"
        options = _mark_options(family, opened, server, model)
        if not opened and server.name in KNOWS_ITS_PROMPT:
            text += "; the addon asks the server for its prompt's end, so no option is needed"
        elif not (opened or "think_start=thinking" in options):
            text += "; should a first reply be misread: --set think_start=thinking"
        return Finding("thinking", text, options, needed_by=IN_TEXT)
    if unread := _unknown_pair(streamed.text):
        text = f"in the text, between {unread[0]} and {unread[1]}; these options have it read"
        options = ("think_tags=auto", f"think_tags={' '.join(unread)}")
        return Finding("thinking", text, options, needed_by=IN_TEXT)
    return Finding(
        "thinking", f"none was seen{', though it was asked for' if asks_for_thinking else ''}{when}"
    )


def _unknown_pair(text: str) -> Pair | None:
    """Return the tags that seem to enclose a thought at the beginning of `text`, though no family
    has them: `"<mull>a</mull>b"` -> `("<mull>", "</mull>")`. Return None if there are no such tags.

    Any closed tag counts as a thought, because the answer to the short `QUESTION` has no tags.
    """
    closed = _CLOSED_TAG.match(text)
    return (f"<{closed[1]}>", f"</{closed[1]}>") if closed else tag_at_beginning(text)


def _first_mark(text: str) -> tuple[ThoughtRow, bool] | None:
    """Return the family of the first mark of thinking in `text`, and True if the mark is an opener.
    Return None if the text has no mark of any family.
    """
    matches = list[tuple[int, ThoughtRow, bool]]()
    for family in TABLE:
        # A mark that can be ordinary prose counts only at the beginning of the text.
        before = r"\A\s*" if family.ambiguous_in_prose or family in WORD_FAMILIES else ""
        closes = () if family.lone is Lone.TEXT else family.closes
        for mark in (*family.opens, *closes):
            if match := re.search(before + pattern_of(mark), text):
                matches.append((match.start(), family, mark in family.opens))
    first = min(matches, key=lambda each: each[0], default=None)
    return first[1:] if first else None


def _mark_options(family: ThoughtRow, opened: bool, server: Server, model: str) -> tuple[str, ...]:
    """Return the addon's options with which a model's thoughts of this family are read, `()` if the
    defaults suffice. `opened`: True if the reply has the family's opener, not only its closer.
    """
    is_read = not family.ambiguous_in_prose or family in for_model(model)
    tags = () if is_read else ("think_tags=auto", f"think_tags={family.name}")
    knows_beginning = server.name in KNOWS_ITS_PROMPT or initial_state.state_by_model(
        Facts({"model": model})
    )
    return tags if opened or knows_beginning else (*tags, "think_start=thinking")


def window_finding(size: int | None, server: Server) -> Finding:
    """Return the finding on the model's context window: its `size` in tokens (None: the server does
    not report it), and which agents need more.
    """
    if size is None:
        return Finding("context", "the server does not report it; agents need " + _needs(NEEDS))
    short = {client: tokens for client, tokens in NEEDS.items() if tokens > size}
    if not short:
        return Finding("context", f"{size:,} tokens: enough for {' and '.join(NEEDS)}")
    remedy = MORE_CONTEXT.get(server.name)
    start = f"; start it with: {remedy}" if remedy else ""
    return Finding("context", f"{size:,} tokens: too few for {_needs(short)}{start}", is_fault=True)


def _needs(needs: Mapping[str, int]) -> str:
    """Return clients with the context window that each needs: `Claude Code (about 40,000)`.

    `needs`: client -> tokens.
    """
    return " and ".join(f"{client} (about {tokens:,})" for client, tokens in needs.items())


def tools_finding(streamed: StreamedReply, server: Server, parses: bool = True) -> Finding:
    """Return the finding on tool calls: the server parsed the call, left it in the text or refused
    the request, or the model called no tool.

    `parses`: False if the server has no parser of calls, and `streamed` is its reply to a request
    with `tool_choice: none`.
    """
    remedy = CALLS_TOOLS.get(server.name)
    start = f"; start it with: {remedy}" if remedy else ""
    if streamed.refusal:
        return Finding("tools", f"refused: {streamed.refusal}{start}", is_fault=True)
    if streamed.called_tools:
        return Finding("tools", "as calls")
    written = _CALL_MARKS.search(streamed.text + "".join(streamed.thinking_by_field.values()))
    if not written:
        return Finding("tools", "the model called no tool, though a fitting one was offered")
    text = f"written into the text, with {written[0].strip()}: the addon reads them{start}"
    if not parses:
        text = (
            "the server reads no calls: the addon sends `tool_choice: none`, and reads them as text"
        )
    return Finding("tools", text, needed_by=CALLS_IN_TEXT)


def proxy_command(address: str, findings: Iterable[Finding]) -> str:
    """Return the command that starts the proxy with the options of all findings."""
    options = dict.fromkeys(option for finding in findings for option in finding.addon_options)
    arguments = (each for option in options for each in ("--set", option))
    return shell_lines.command(["think-addon", address, *arguments])
