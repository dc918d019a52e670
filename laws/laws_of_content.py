"""Check laws 4 to 6: a client gets all that the oracles read in the server's reply, but no mark."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from converter.core.dialects.table import OLLAMA, OPENAI_CHAT, RESPONSES, Form
from converter.core.reading.family_choice import families_of
from converter.core.reading.reading import Reading
from converter.core.wire.json_text import as_object
from converter.extras.recordings.recording import Recording
from laws.call_oracle import Call, is_same_call
from laws.client_view import completion_of, message_of
from laws.expected import (
    anthropic_blocks,
    calls_in_text,
    calls_in_thoughts,
    markup_in_thoughts,
    openai_texts,
    parts,
    reading_for,
    reading_for_client,
    repeated_thought,
)
from laws.failures import BrokenLawError, compare
from laws.limits import Case
from laws.marks import TextComparison, count_mark, literal_marks, without_blanks
from laws.parsed_reply import CALLED, ParsedChoice, ParsedReply
from laws.variants import IN_BLOCKS, IN_FIELDS, Variant, body_of, variants

type Json = dict[str, Any]
_CUT = ("length", "max_tokens")
"""The finish reasons of a reply that was cut off at the limit of tokens."""
_STOP_STRINGS = ("stop_reason", "matched_stop")
"""Fields of a choice in which servers report the stop string that ended the reply."""


def law_4(recording: Recording, _: int) -> None:
    """Check that a client gets all of the server's reply but the marks: text, calls, finishes and
    counts, and a chat completions client also all other fields.
    """
    case = Case(recording)
    for variant in variants(recording):
        if variant.dialect in IN_BLOCKS:
            _check_message_is_complete(case, variant)
        else:
            _check_completion_is_complete(case, variant)


def _check_text(case: Case, variant: Variant, choice: ParsedChoice, got: str) -> None:
    """Check that `got`, a client's thinking and text, is the choice's except marks and calls."""
    settings = case.recording.settings
    reading = reading_for_client(case.recording, variant.form)
    calls = [text for text, _ in calls_in_text(choice, reading)]
    calls += filter(None, markup_in_thoughts(choice, reading))
    every = [mark for row in families_of(reading) for mark in row.closes]
    again = [repeated_thought(choice.pieces, families_of(reading), it) for it in ((), every)]
    calls += filter(None, again)
    explanation = TextComparison(families_of(reading), settings.attributes, calls)
    sent, received = without_blanks(choice.joined("text", "raw", "thinking")), without_blanks(got)
    if offsets := explanation.first_difference(sent, received):
        compare(f"{variant}, the text", [sent[offsets[0] :]], [received[offsets[1] :]])


def _check_message_is_complete(case: Case, variant: Variant) -> None:
    """Check a message's text, if thinking is shown; if the reply is complete, also the message's
    calls, finish, stop string and count of tokens.
    """
    message, choice = message_of(case.recording, variant), case.reply.choice()
    if case.recording.awaited().request.shows_thinking and "content" in message:
        texts = (block.get("text", "") + block.get("thinking", "") for block in message["content"])
        if variant.dialect is not OLLAMA:
            _check_text(case, variant, choice, "".join(texts))
        elif message["in_order"]:  # `None` for a whole reply, which does not show the order
            _check_text(case, variant, choice, message["in_order"])
    if message.get("error") or not case.reply.complete:
        return
    called = _check_calls(case, variant, message)
    limit = case.recording.awaited().expected.limit
    in_thought = "thinking" in (message["content"] or [{}])[-1]
    cut = choice.finish in _CUT or (in_thought and case.reply.reaches(limit))
    compare(f"{variant}, whether it was cut off", [cut], [message["stop_reason"] == "max_tokens"])
    if case.recording.server_dialect is OPENAI_CHAT and not cut:
        _check_stop(case, variant, message, called)
    output = case.reply.output_tokens
    if type(output) is int and message["usage"]:
        compare(f"{variant}, the output tokens", [output], [message["usage"]["output_tokens"]])


def _check_calls(case: Case, variant: Variant, message: Json) -> bool:
    """Compare a message's calls with those that the server sent or the oracle read in its text.
    Return True if the message must have calls.
    """
    choice = case.reply.choice()
    blocks = [block for block in message["content"] if block["type"] == "tool_use"]
    got = [(block["name"], block["input"]) for block in blocks]
    received = [{"name": name, "arguments": json.dumps(arguments)} for name, arguments in got]
    sent = _typed_calls(case, [*choice.calls.values()], received)
    calls = [(call["name"], _parsed(call["arguments"])) for call in sent]
    read = _oracle_calls(case, variant, choice)
    _compare_read(variant, read, got)
    expected = calls + (got if read else [])
    if all(name and isinstance(arguments, dict) for name, arguments in expected):
        compare(f"{variant}, the calls", expected, got)
    if case.recording.server_dialect is OPENAI_CHAT and choice.finish not in _CUT:
        wants, ready = message["stop_reason"] == "tool_use", got and not _cut_by_stops(case, choice)
        compare(f"{variant}, whether the client is to call a tool", [bool(ready)], [wants])
    return bool(expected)


def _cut_by_stops(case: Case, choice: ParsedChoice) -> tuple[str, ...]:
    """Return the request's stop strings if one of them may have cut off the last call; else ()."""
    return reading_for(case.recording, whole=True).expected.stops if choice.cut_call else ()


def _check_stop(case: Case, variant: Variant, message: Json, called: bool) -> None:
    """Check the stop string that a message reports. If the message has calls, it is checked only if
    a stop string may have cut off the last call.
    """
    choice = case.reply.choice()
    of_call = _cut_by_stops(case, choice)
    if not of_call and (called or choice.finish in CALLED):
        return
    fields = [field for name in _STOP_STRINGS for field in choice.others.get(name, ())]
    stops = [field for field in fields if field and isinstance(field, str)]
    stops = stops or (list(of_call) if len(of_call) == 1 else [])
    # replies of Responses and Ollama have no field for a stop string
    stops = [] if variant.dialect in (RESPONSES, OLLAMA) else stops
    compare(f"{variant}, the stop string", [*stops, None][:1], [message["stop_sequence"]])


def _typed_calls(case: Case, sent: Sequence[Json], got: Sequence[Json]) -> list[Json]:
    """Return the calls `sent` by the server as the client should get them. A call has the arguments
    of its counterpart in `got`, the client's calls, where the addon may have converted values ("3"
    to 3): where both have the same text, and the tool's schema takes no string.
    """
    if not case.calls_read.typed_arguments or len(sent) != len(got):
        return [*sent]
    schemas = case.recording.awaited().expected.calls.schemas
    pairs = zip(sent, got, strict=True)
    return [_typed_call(call, other, schemas.get(call["name"], {})) for call, other in pairs]


def _typed_call(call: Json, other: Json, schema: Mapping[str, object]) -> Json:
    """Return `call` with the arguments of `other`, if the two differ only in types of values ("3",
    3), and the tool's `schema` allows no string for these values; else `call` as it is.
    """
    sent = Call(0, 0, call["name"], as_object(_parsed(call["arguments"])))
    received = _parsed(other["arguments"])
    if not (isinstance(received, dict) and is_same_call(sent, other["name"], received)):
        return call
    members = as_object(schema.get("properties"))
    wrong = [name for name in received if received[name] != sent.arguments[name]]
    if any(_takes_strings(members.get(name)) for name in wrong):
        return call
    return {**call, "arguments": other["arguments"]}


def _takes_strings(schema: object) -> bool:
    """Return True if a value's schema allows strings or has no type; a bare `$ref` allows none."""
    if not isinstance(schema, dict):
        return True
    unions = [one for name in ("anyOf", "oneOf") for one in schema.get(name, ())]
    if "$ref" in schema or unions:
        return any(map(_takes_strings, unions))
    return "string" in schema.get("type", "string")  # `type` is a name or a list of names


def _oracle_calls(case: Case, variant: Variant, choice: ParsedChoice) -> list[Call]:
    """Return the calls that the oracle reads in the text or, if it has none, in the thoughts."""
    reading = reading_for_client(case.recording, variant.form)
    in_text = [call for _, call in calls_in_text(choice, reading)]
    return in_text or calls_in_thoughts(choice, reading)


def _compare_read(variant: Variant, read: list[Call], got: Sequence[tuple[str, object]]) -> None:
    """Check that `got`, the client's calls, are those `read` by the oracle, if it read any."""
    matching = [is_same_call(call, *received) for call, received in zip(read, got, strict=False)]
    if read and not (all(matching) and len(read) == len(got)):
        compare(
            f"{variant}, the calls in the text", [(c.name, c.arguments) for c in read], list(got)
        )


def _parsed(written: str) -> object:
    """Return the value of a call's arguments: `{}` for an empty text, `None` if it is no JSON."""
    try:
        return json.loads(written or "{}")
    except (ValueError, RecursionError):
        return None


def _check_completion_is_complete(case: Case, variant: Variant) -> None:
    """Check that a completion has all calls, finishes, counts and fields; if streamed, all text
    too.
    """
    sent, got = case.reply, completion_of(case.recording, variant)
    # for a whole body without choices the client gets an error, which has other fields
    if sent.choices or variant.form is Form.STREAM:
        heads = (list(reply.frame_fields.items()) for reply in (sent, got))
        compare(f"{variant}, the fields of frames", *heads)
    got_reply = got if sent.usage else replace(got, usage={})  # without the addon's own estimate
    facts = map(_facts_beside_content, (sent, got_reply))
    compare(f"{variant}, counts and marks of the stream", *facts)
    for index, sent_choice in sent.choices.items():
        got_choice = got.choice(index)
        read = _oracle_calls(case, variant, sent_choice)
        got_choice_calls = list(got_choice.calls.values())
        got_calls = [(call["name"], _parsed(call["arguments"])) for call in got_choice_calls]
        _compare_read(variant, read, got_calls if read else [])
        sent_calls = _typed_calls(case, [*sent_choice.calls.values()], got_choice_calls)
        compare(f"{variant}, the calls", sent_calls, [] if read else got_choice_calls)
        called = (read or sent_choice.calls) and sent_choice.finish == "stop"
        finish = "tool_calls" if called else sent_choice.finish
        finish = "stop" if _cut_by_stops(case, sent_choice) else finish
        compare(f"{variant}, the finish", [finish], [got_choice.finish])
        compare(
            f"{variant}, fields beside the text",
            list(sent_choice.others.items()),
            list(got_choice.others.items()),
        )
        reading = reading_for_client(case.recording, variant.form)
        lost = sent_choice.thoughts_lost_in(
            got_choice, markup_in_thoughts(sent_choice, reading)[-1:]
        )
        compare(f"{variant}, the server's own names of thinking", [], lost)
        if variant.form is Form.STREAM:
            _check_text(case, variant, sent_choice, got_choice.joined("text", "raw", "thinking"))
    if stays_unchanged(case) and (out := body_of(case.recording, variant)) != case.recording.body:
        raise BrokenLawError(
            str(variant),
            f"nothing is to be changed, and yet the bytes differ\n  got: {out[:300]!r}",
        )


def _facts_beside_content(reply: ParsedReply) -> list[tuple[object, ...]]:
    """Return counts, comments and the end of a reply, as pairs to compare."""
    marks = ("usage", "comments", "done", "complete")
    return [(name, getattr(reply, name)) for name in marks]


def stays_unchanged(case: Case) -> bool:
    """Return True if a chat completions client must get the server's bytes unchanged. Among others,
    no text may begin a mark, no blanks may be held until more text comes, and the server must
    already send thinking in all fields in which the client is to get it.
    """
    settings, awaited = case.recording.settings, case.recording.awaited()
    expected = awaited.expected
    unclear = awaited.is_text_completion or expected.calls.read or expected.no_thought_due
    if unclear or not case.reply.complete:
        return False  # the addon rewrites these kinds of replies, or holds blanks in them
    if any(_cut_by_stops(case, each) for each in case.reply.choices.values()):
        return False
    if settings.markers or reading_for(case.recording, whole=False).inside:
        return False
    begins = {
        mark[0] for mark in literal_marks(families_of(reading_for(case.recording, whole=True)))
    }
    choices = list(case.reply.choices.values())
    named = all(not each.thoughts or set(settings.fields) <= set(each.thoughts) for each in choices)
    waits = any(each.thoughts and each.joined("text")[:1].isspace() for each in choices)
    waits = waits or any(each.first_text("thinking").isspace() for each in choices)
    return named and not waits and not any(begins & set(each.joined("text")) for each in choices)


def law_5(recording: Recording, _: int) -> None:
    """Check that the client gets thinking and text as the oracle reads them in the whole text."""
    case = Case(recording)
    for variant in variants(recording):
        reading = reading_for_client(recording, variant.form)
        if variant.dialect in IN_BLOCKS:
            _check_blocks_by_oracle(case, variant, reading)
            continue
        reply, name = completion_of(recording, variant), recording.settings.fields[0]
        for index, sent_choice in case.reply.choices.items():
            thinking, content = openai_texts(parts(sent_choice, reading))
            got_choice = reply.choice(index)
            got = (
                got_choice.thoughts.get(name, "").strip("\r\n"),
                got_choice.joined("text", "raw"),
            )
            names = ("thinking", "text")
            where = f"{variant}, choice {index}, against the oracle"
            expected = list(zip(names, (thinking, content), strict=True))
            compare(where, expected, list(zip(names, got, strict=True)))


def _check_blocks_by_oracle(case: Case, variant: Variant, reading: Reading) -> None:
    """Check that a message has the blocks of thinking and text that the oracle reads."""
    message = message_of(case.recording, variant)
    if "content" not in message:
        return
    shown = case.recording.awaited().request.shows_thinking
    shown_blocks = [each for each in message["content"] if each["type"] in ("text", "thinking")]
    got = [(block["type"], block[block["type"]]) for block in shown_blocks]
    if not shown:  # in place of its thought, the client gets an empty block
        got = [(kind, text) for kind, text in got if (kind, text) != ("thinking", "")]
    read = parts(case.reply.choice(), reading)
    expected = anthropic_blocks(read, shown)
    if variant.dialect in IN_FIELDS:  # blanks at a field's ends are not compared
        both = zip(("thinking", "text"), openai_texts(read), strict=True)
        expected = [block for block in both if block[1].strip() and (shown or block[0] == "text")]
        expected, got = ([(kind, text.strip()) for kind, text in each] for each in (expected, got))
    compare(f"{variant}, against the oracle", expected, got)


def law_6(recording: Recording, _: int) -> None:
    """Check that the client gets a mark only as often as the oracle reads it as text: in Markdown
    code, or in content that follows thinking in a reasoning field, for example.
    """
    case = Case(recording)
    for variant in variants(recording):
        reading = reading_for_client(recording, variant.form)
        for choice, texts in _received_texts(recording, variant):
            read = parts(case.reply.choice(choice), reading)
            blocks: Sequence[str] = [text for _, text in anthropic_blocks(read)]
            blocks = openai_texts(read) if variant.dialect in IN_FIELDS else blocks
            for mark in literal_marks(families_of(reading)):
                _check_mark(f"{variant}, choice {choice}", mark, texts, blocks)


def _check_mark(where: str, mark: str, texts: Sequence[str], allowed: Sequence[str]) -> None:
    """Check that `mark` stands in the client's `texts` no more often than in the `allowed` ones."""
    left, right = count_mark(mark, texts), count_mark(mark, allowed)
    if left > right:
        event = next(event for event, text in enumerate(texts) if count_mark(mark, [text]))
        message = f"event {event}: {mark!r} is sent {left} times where {right} are text"
        raise BrokenLawError(where, f"{message}\n  got: {texts[event][:200]!r}")


def _received_texts(recording: Recording, variant: Variant) -> Iterator[tuple[int, list[str]]]:
    """Yield the index of each choice, and the texts (thinking too) that the client gets for it."""
    if variant.dialect in IN_BLOCKS:
        blocks = message_of(recording, variant).get("content", ())
        yield 0, [str(block.get(block["type"], "")) for block in blocks]
        return
    for index, choice in completion_of(recording, variant).choices.items():
        name = recording.settings.fields[0]
        yield index, [choice.thoughts.get(name, ""), choice.joined("text", "raw")]
