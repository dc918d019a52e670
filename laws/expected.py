"""Find the content that a client must get for a server's reply. `parts` reads a choice of the reply
by both oracles; `openai_texts` and `anthropic_blocks` write the parts as a client of that API gets
them. `reading_for` returns the addon's settings that the oracles need.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, takewhile

from converter.addon.exchange.rewriting import reading_of
from converter.core.dialects.table import Form
from converter.core.reading.beginning import Grammar, Mode
from converter.core.reading.family_choice import families_of
from converter.core.reading.reading import Reading
from converter.core.reading.repeated_thought import HEAD
from converter.core.reading.rows import GAP
from converter.core.reading.thought_row import Lone, ThoughtRow
from converter.core.reading.tool_calls.calls_read import Tools
from converter.extras.recordings.recording import Recording
from laws import call_oracle, oracle
from laws.oracle_blocks import Block
from laws.oracle_marks import mark_patterns
from laws.parsed_reply import STOPPED, WHOLE, ParsedChoice, Piece

_STARTS = {
    Mode.ANSWERING: "text",
    Mode.CLOSED: "closed",
    Mode.THINKING: "thinking",
    Mode.GUESSED: "guessed",
    Mode.UNDECIDED: "undecided",
}
"""How the addon reads the beginning of a reply -> the argument `start` of `oracle.read`."""
JOINT = "\n\n"
"""The blank line that joins thoughts in one field, and the texts before and behind a call."""


@dataclass(frozen=True, slots=True)
class Part:
    """A thought, a text or a call in the content that a client must get."""

    kind: str  # `text`, `thinking`, or `call` for a call that was read from text
    text: str  # what the client reads; of a call, the tool's name
    native: bool = False  # True for thinking that the server sent in a reasoning field; else False


def reading_for(recording: Recording, whole: bool) -> Reading:
    """Return the settings with which the addon reads a recording's text. `whole`: True if the reply
    is one body at the server or at the client, so that all of it is read before any is sent.
    """
    expected = recording.awaited().expected
    return reading_of(recording.settings, expected, whole)


def reading_for_client(recording: Recording, form: Form) -> Reading:
    """Return the addon's settings for a client that gets the reply in this form."""
    return reading_for(recording, Form.WHOLE in (recording.server_form, form))


def parts(choice: ParsedChoice, reading: Reading) -> list[Part]:
    """Return the parts of a choice in order. If the addon reads calls from text and the server sent
    no calls itself, a call in the answer is a part of kind `call`, and a thought lacks the calls at
    its end that the client gets as calls (`markup_in_thoughts`).
    """
    tools = reading.expected.calls.read
    read = _all_parts(choice, reading)
    if tools is None or choice.calls:
        return read
    gone = markup_in_thoughts(choice, reading)
    read = [
        replace(part, text=part.text[: -len(markup)]) if markup else part
        for part, markup in zip(read, gone, strict=True)
    ]
    return _joined_text(left for part in read for left in _split_at_calls(part, tools))


def calls_in_text(choice: ParsedChoice, reading: Reading) -> list[tuple[str, call_oracle.Call]]:
    """Return each tool call in the answer's text of a choice as a pair: its text and the call.
    Empty if the addon reads no calls from text, or if the server sent calls itself.
    """
    tools = reading.expected.calls.read
    if tools is None or choice.calls:
        return []
    return [
        (text[call.begin : call.end], call)
        for text in (part.text for part in _all_parts(choice, reading) if part.kind == "text")
        for call in call_oracle.calls(text, tools.schemas, not tools.wants_json)
    ]


def calls_in_thoughts(choice: ParsedChoice, reading: Reading) -> list[call_oracle.Call]:
    """Return the calls in a choice's thoughts that count, each once. Empty if the addon reads no
    calls from text, the server sent calls itself, or the reply was cut off. If the choice has an
    answer, a call does not count if other text than calls follows it in its thought: it is a draft,
    a call that the thought only considers.
    """
    tools, read = reading.expected.calls.read, _all_parts(choice, reading)
    if not tools or choice.calls or choice.finish not in WHOLE:
        return []
    answered = any(part.kind == "text" and part.text.strip() for part in read)
    counted: list[call_oracle.Call] = []
    for thought in (part.text for part in read if part.kind == "thinking"):
        for call in call_oracle.calls(thought, tools.schemas):
            draft = answered and without_calls(thought[call.end :], tools).strip()
            repeats = any(call_oracle.is_same_call(call, it.name, it.arguments) for it in counted)
            counted += [] if draft or repeats else [call]
    return counted


def markup_in_thoughts(choice: ParsedChoice, reading: Reading) -> list[str]:
    """Return for each part of `_all_parts` the text of the calls with which it ends, if it is a
    thought and the client gets them as calls; else an empty text. A client gets calls of thoughts
    only if the answer has none. A thought from a reasoning field (`native`) must also be the last
    part that is not blank.
    """
    read, tools = _all_parts(choice, reading), reading.expected.calls.read
    counts = not calls_in_text(choice, reading) and calls_in_thoughts(choice, reading)
    if tools is None or not counts:
        return ["" for _ in read]
    filled = [at for at, part in enumerate(read) if part.text.strip()]
    return [
        _last_calls(part.text, tools)
        if part.kind == "thinking" and not (part.native and at != filled[-1])
        else ""
        for at, part in enumerate(read)
    ]


def _last_calls(thought: str, tools: Tools) -> str:
    """Return the text of the calls with which a thought ends; empty if it ends in other text."""
    begin = len(thought)
    for call in reversed(call_oracle.calls(thought, tools.schemas)):
        if thought[call.end : begin].strip():
            break
        begin = call.begin
    return thought[begin:]


def without_calls(text: str, tools: Tools) -> str:
    """Return the text without its tool calls."""
    return call_oracle.without_calls(
        text, call_oracle.calls(text, tools.schemas, not tools.wants_json)
    )


def _split_at_calls(part: Part, tools: Tools) -> list[Part]:
    """Return the texts and calls in a part of text, in order; any other part alone in a list."""
    if part.kind != "text":
        return [part]
    calls = call_oracle.calls(part.text, tools.schemas, not tools.wants_json)
    out, offset = list[Part](), 0
    for call in calls:
        out += [Part("text", part.text[offset : call.begin]), Part("call", call.name)]
        offset = call.end
    return [*out, Part("text", part.text[offset:])]


def _all_parts(choice: ParsedChoice, reading: Reading) -> list[Part]:
    """Return a choice's parts in order; calls stay in their text. Once thinking has come in a
    reasoning field, tags (`<think>`) in later text open no thought.
    """
    tagged = list(takewhile(lambda piece: piece.kind != "thinking", choice.pieces))
    text = "".join(piece.text for piece in tagged if piece.kind == "text")
    blocks = _oracle_blocks(text, choice.finish, reading)
    read = [Part(block.kind, block.text) for block in blocks]
    read += [Part("text", piece.text) for piece in tagged if piece.kind == "raw"]
    behind = choice.pieces[len(tagged) :]
    content = takewhile(lambda piece: piece.kind in ("thinking", "text"), behind)
    again = repeated_thought(list(content), families_of(reading), _open_closers(text, reading))
    read += _without_stray_marks(
        _drop_text(_parts_of_pieces(behind), len(again)), families_of(reading)
    )
    read = _joined_text(read)
    if reading.trims_blanks:
        read = _without_blanks(read)
    if reading.expected.thoughts.hidden:
        read = [part for part in read if part.kind == "text"]
    return _joined_text(read)


def repeated_thought(
    pieces: Sequence[Piece], families: Sequence[ThoughtRow], open_closers: Sequence[str] = ()
) -> str:
    """Return the thought with which content begins, marks included, if its first `HEAD` characters
    repeat the thinking of a reasoning field; else an empty text. `open_closers`: if the content
    begins in a thought that was opened before it, the closers of this thought; else empty.
    """
    joined = {
        kind: "".join(piece.text for piece in pieces if piece.kind == kind)
        for kind in ("thinking", "text")
    }
    thinking = joined["thinking"].lstrip()[:HEAD]
    pairs = [("", open_closers)] if open_closers else [(row.opens, row.closes) for row in families]
    for openers, closers in pairs:
        opener, closer = ("|".join(mark_patterns(marks)) for marks in (openers, closers))
        match = re.match(rf"\s*(?:{opener})(.*?)({closer}|\Z)", joined["text"], re.DOTALL)
        same = match and match[1].strip()[:HEAD].rstrip() == thinking.rstrip() != ""
        if match and same and (match[2] or len(thinking) == HEAD):
            return match[0]
    return ""


def _open_closers(text: str, reading: Reading) -> Sequence[str]:
    """Return the closers of a thought that begins where `text` ends: `</think>`. Empty for none."""
    last = _oracle_blocks(f"{text}x", None, reading)[-1:]
    if not last or last[0].kind != "thinking" or last[0].text.strip() != "x":
        return ()
    opened = [row for row in families_of(reading) if text.rstrip().endswith(row.opens)]
    telling = [row for row in families_of(reading) if row.lone is not Lone.TEXT]
    return [mark for row in opened or telling for mark in row.closes]


def _without_stray_marks(read: Sequence[Part], families: Sequence[ThoughtRow]) -> list[Part]:
    """Return the parts, text changed by `without_stray_marks`, thinking as it is."""
    out: list[Part] = []
    for part in read:
        at_head = bool(out) and out[-1].native
        text = part.text if part.native else without_stray_marks(part.text, families, at_head)
        out.append(replace(part, text=text))
    return out


def without_stray_marks(text: str, families: Sequence[ThoughtRow], at_head: bool = True) -> str:
    """Return text without marks that a server left in it although it sent the thought in a field:
    closers (`</think>`) and the answer's opener (`<answer>`) at its beginning, the answer's closer
    at its end. `at_head`: False if the text does not follow a thought; then its beginning stays.
    """
    answers = [row.answer_tags for row in families if row.answer_tags]
    closers = [mark for row in families for mark in row.closes]
    marks = [mark for mark in closers if GAP not in mark]
    heads = "|".join(mark_patterns([*marks, *(opener for opener, _ in answers)])) or "(?!)"
    ends = "|".join(mark_patterns([closer for _, closer in answers])) or "(?!)"
    while at_head and (head := re.match(rf"(\s*)(?:{heads})", text)):
        text = head[1] + text[head.end() :]
    return re.sub(rf"(?:{ends})(\s*)\Z", r"\1", text)


def _drop_text(read: Iterable[Part], length: int) -> list[Part]:
    """Return the parts without the first `length` characters of text, which repeat a thought."""
    out = []
    for part in read:
        gone = 0 if part.native else min(length, len(part.text))
        length -= gone
        out.append(replace(part, text=part.text[gone:]))
    return out


def _without_blanks(read: Sequence[Part]) -> list[Part]:
    """Return the parts with blanks removed from text before and behind thinking. If the text behind
    thinking begins with line ends, the indent of its first line of words stays.
    """
    kinds = ["", *(part.kind for part in read), ""]
    out = []
    for part, before, behind in zip(read, kinds, kinds[2:], strict=False):
        text = part.text
        if part.kind == "text" and behind == "thinking":
            text = text.rstrip()
        if part.kind == "text" and before == "thinking":
            text = re.sub(r"\A(\s+\Z|\s*[\r\n]|\s+)", "", text)
        out.append(replace(part, text=text))
    return out


def _oracle_blocks(text: str, finish: str | None, reading: Reading) -> list[Block]:
    """Return the blocks that the oracle reads in a text. `finish`: the choice's finish reason."""
    return oracle.read(
        text,
        families_of(reading),
        _initial_state(text, reading),
        reading.attributes,
        reading.expected.calls.offered,
        reading.expected.wants_json,
        stopped=finish in STOPPED,
    )


def _initial_state(text: str, reading: Reading) -> str:
    """Return the argument `start` of `oracle.read`. If a thought is expected at the beginning,
    although a grammar constrains the answer, the text decides: with `Grammar.JSON`, one that begins
    as JSON (`{`) is the answer; with another grammar, the first mark decides (`undecided`).
    """
    start, grammar = _STARTS[reading.mode], reading.expected.grammar
    if start not in ("thinking", "guessed") or grammar is Grammar.NONE:
        return start
    if grammar is Grammar.JSON:
        return "text" if re.match(r"\s*[\[{\"]", text) else start
    return "undecided"


def _parts_of_pieces(pieces: Sequence[Piece]) -> list[Part]:
    """Return the pieces except calls as parts; neighbours of one kind and block become one part."""
    spoken = [piece for piece in pieces if piece.kind != "call"]
    runs = groupby(spoken, key=lambda piece: (piece.kind == "thinking", piece.block))
    return [
        Part("thinking" if native else "text", "".join(piece.text for piece in run), native)
        for (native, _), run in runs
    ]


def _joined_text(read: Iterable[Part]) -> list[Part]:
    """Return the parts that are not empty; neighbouring parts of text become one."""
    out: list[Part] = []
    for part in read:
        if out and part.kind == out[-1].kind == "text":
            out[-1] = Part("text", out[-1].text + part.text)
        elif part.text:
            out.append(part)
    return out


def openai_texts(read: Sequence[Part]) -> tuple[str, str]:
    """Return the thinking, without CR and LF at its ends, and the content of a chat completion."""
    tagged = JOINT.join(part.text for part in read if part.kind == "thinking" and not part.native)
    native = "".join(part.text for part in read if part.native)
    content, behind_call = "", False
    for part in read:
        if part.kind == "text":
            content += (JOINT if behind_call and content.strip() else "") + part.text
        behind_call = part.kind == "call" or (behind_call and part.kind != "text")
    return (tagged + native).strip("\r\n"), content


def anthropic_blocks(read: Iterable[Part], shown: bool = True) -> list[tuple[str, str]]:
    """Return kind and text of each block of a message with the parts `read`. Calls and blank blocks
    are left out. `shown`: False for a client that wants no thinking.
    """
    trimmed = [
        replace(part, text=part.text.strip("\r\n")) if part.kind == "thinking" else part
        for part in read
    ]
    kept = [part for part in trimmed if part.kind != "thinking" or (shown and part.text.strip())]
    blocks = [part for part in _joined_text(kept) if part.kind != "call"]
    return [(part.kind, part.text) for part in blocks if part.text.strip()]
