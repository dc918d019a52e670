"""Rules for where a reply will begin: in its text, or inside a thought that the chat template has
already opened in the prompt.

Most thinking models' templates open the thought themselves, so that their text shows a closer only.
`RULES` says what tells, best first; docs/reading.md lists the same rules by the same names. What
the user chose with `think_start` goes before all of them.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from converter.addon.servers.chat_templates import Switches, Template, always_thinks, template_of
from converter.core.dialects.server_fields import TEMPLATE, Use, used_as
from converter.core.model.initial_state import InitialState
from converter.core.model.raw_messages import (
    begun_message,
    content_of,
    messages_of,
    role_of,
)
from converter.core.reading.families import FAMILIES, TABLE
from converter.core.reading.thought_row import Lone
from converter.core.wire import json_text
from converter.core.wire.json_text import as_object

_WISHES = frozenset(used_as(Use.WISH))
_OFF = (False, "disabled", "none", "no_think")
_CLOSERS = {
    closer.strip() for family in TABLE if family.lone is not Lone.TEXT for closer in family.closes
}
_BEGUN = 1 << 17
"""Characters at the end of a begun turn that are searched for marks: more than a thought has."""
_OPENERS = tuple(opener.strip() for family in TABLE for opener in family.opens)


@dataclass(frozen=True, slots=True)
class Facts:
    """The facts of a reply before its first byte.

    Attributes:
        body: The chat completion that was requested.
        parses: The server takes the thought out of the text itself.
        repeats_opener: Most servers of this kind write the template's opener again.
        prompt: The state in which the prompt ends, as the server rendered it.
        corrected: The state in which such a reply began, after a wrong guess.
    """

    body: Mapping[str, object] = field(default_factory=dict)
    parses: bool = False
    repeats_opener: bool = False
    prompt: InitialState | None = None
    corrected: InitialState | None = None


def request(facts: Facts) -> InitialState | None:
    """Follow a last assistant turn that is to be continued: the reply begins where it ends."""
    begun = content_of(begun_message(facts.body))
    if not isinstance(begun, str) or not begun:
        return None
    end = begun[-_BEGUN:]
    inside = any(
        _last(end, family.opens) > _last(end, family.closes)
        for family in FAMILIES
        if not family.ambiguous_in_prose
    )
    return InitialState.THINKING if inside else InitialState.TEXT


def ends_in_closed_thought(body: Mapping[str, object]) -> bool:
    """Return True if the request ends with the beginning of its reply, behind a thought."""
    begun = content_of(begun_message(body))
    end = begun[-_BEGUN:] if isinstance(begun, str) else ""
    closed = any(closer in end for closer in _CLOSERS)
    return closed and request(Facts(body)) is InitialState.TEXT


def server(facts: Facts) -> InitialState | None:
    """Trust a server that takes thoughts out, whatever its template opens; a correction overrules
    it, and overrules the prompt where the server may repeat an opener.
    """
    if facts.parses:
        return facts.corrected or InitialState.TEXT
    return facts.corrected if facts.repeats_opener else None


def prompt(facts: Facts) -> InitialState | None:
    """Follow the prompt as the server rendered it. Of a server that repeats the opener it is a
    guess: llama.cpp 11549 leaves the opener out with `--skip-chat-parsing`, and takes the thought
    out with `--reasoning auto`, and tells neither. Without a prompt its text is whole.
    """
    if not facts.repeats_opener:
        return facts.prompt
    opened = facts.prompt is not None and facts.prompt.inside
    return InitialState.LIKELY_THINKING if opened else InitialState.TEXT


def correction(facts: Facts) -> InitialState | None:
    """Repeat the lesson of a wrong guess about this server, model and switch."""
    return facts.corrected


def switches(facts: Facts) -> InitialState | None:
    """Expect text when the request turns thinking off, of a model that can be told so."""
    return InitialState.TEXT if _is_switched_off(facts.body) else None


def _is_switched_off(body: Mapping[str, object]) -> bool:
    off = any(wish in _OFF for wish in _wishes(body))
    return off and not ((row := _row(body)) and row.always)


def model(facts: Facts) -> InitialState | None:
    """Go by the model's name, where it tells the habit of its template."""
    row = _row(facts.body)
    if row is None:
        return None
    opened = not row.switches or _is_set(facts.body, row.switches)
    return InitialState.LIKELY_THINKING if opened else InitialState.TEXT


def speaks_of_closers(body: Mapping[str, object]) -> bool:
    """Return True if a turn that is not the model's own, or a tool, holds a closer: then a reply
    may well speak of a closer.
    """
    turns = [turn for turn in messages_of(body) if role_of(turn) != "assistant"]
    written = json_text.write([turns, body.get("tools")]).decode()
    return any(closer in written for closer in _CLOSERS)


def asks_for_thinking(body: Mapping[str, object]) -> bool:
    """Return True if a request asks the model to think, by any switch that servers know."""
    return any(wish and wish not in _OFF for wish in _wishes(body))


def _wishes(body: Mapping[str, object]) -> list[object]:
    if TEMPLATE not in body and _WISHES.isdisjoint(body):
        return []  # as nearly all requests
    fields = {**body, **as_object(body.get(TEMPLATE))}
    wishes = [value for name, value in fields.items() if name in _WISHES]
    return [
        one.get("type", one.get("effort", True)) if isinstance(one, dict) else one for one in wishes
    ]


def _row(body: Mapping[str, object]) -> Template | None:
    return template_of(str(body.get("model") or "").lower())


type Rule = Callable[[Facts], InitialState | None]
RULES: tuple[Rule, ...] = (request, server, prompt, correction, switches, model)
"""In the order in which they are asked; the first that answers decides."""


def initial_state(facts: Facts) -> InitialState:
    """Return where the reply begins: in its text, unless a rule says otherwise."""
    return _first(RULES, facts) or InitialState.TEXT


def thinking_is_off(body: Mapping[str, object], chosen: InitialState) -> bool:
    """Return True if the prompt closes the thought, so that a closer at the reply's head closes
    nothing.

    The request may turn thinking off, or the user may, for a model whose template would open a
    thought. False for models whose templates then write a bare closer, because they may repeat it.
    """
    row = _row(body)
    if row and row.bare_closer:
        return False
    opens = row is not None and not row.switches
    is_chosen = chosen is InitialState.TEXT and opens
    return is_chosen or _is_switched_off(body)


def turns_thinking_off(body: Mapping[str, object]) -> bool:
    """Return True if a request turns thinking off, of a model that can be told so: then the server
    has no thought to send.
    """
    return _is_switched_off(body) and not always_thinks(str(body.get("model") or "").lower())


def needs_prompt(facts: Facts) -> bool:
    """Return True if the rendered prompt, not known yet, could still decide."""
    return facts.prompt is None and _first(RULES[: RULES.index(prompt)], facts) is None


def end_of_prompt(rendered: str) -> InitialState:
    """Return where a reply begins that goes on from this prompt."""
    opened = rendered.rstrip().endswith(_OPENERS)
    return InitialState.THINKING if opened else InitialState.TEXT


def begins_in_thought(facts: Facts, thinks: bool) -> bool:
    """Return True if the model begins with a thought, though the server may take that out of the
    text. `thinks`: the model is known to think by itself.
    """
    if (state := request(facts) or switches(facts)) is not None:
        return state.inside
    state = facts.prompt or facts.corrected
    return thinks or (state is not None and state.inside)


def _first(rules: Iterable[Rule], facts: Facts) -> InitialState | None:
    return next((state for rule in rules if (state := rule(facts))), None)


def _last(text: str, marks: Iterable[str]) -> int:
    return max(map(text.rfind, marks))


def _is_set(body: Mapping[str, object], wanted: Switches) -> bool:
    """Return True if a request sets one of these switches, in itself or for its template."""
    inner = as_object(body.get(TEMPLATE))
    return any(
        value in values
        for name, values in wanted.items()
        for value in (body.get(name), inner.get(name))
    )
