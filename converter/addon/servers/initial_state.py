"""Rules by which `initial_state` decides where a reply will begin: in its text, or inside a thought
that the prompt has opened. The rules read `Facts`; further functions find whether a request turns
thinking on or off.

The templates of most thinking models end the prompt with an opener, so that the reply has only the
closer. `RULES` has the rules, the surest first. docs/reading.md explains each by its name: the
function `state_by_prompt` is the rule **prompt**. If the user has set `think_start`, no rule is
used.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from converter.addon.servers.chat_templates import Template, template_of
from converter.core.dialects.server_fields import TEMPLATE, Use, fields_with_use
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

_SWITCH_NAMES = frozenset(fields_with_use(Use.WISH))
"""Names of the fields that turn thinking on or off, in a request or in its `chat_template_kwargs`.
"""
_OFF = (False, "disabled", "none", "no_think", "off")
"""The values with which the fields `_SWITCH_NAMES` turn thinking off."""
_CLOSERS = {
    closer.strip() for family in TABLE if family.lone is not Lone.TEXT for closer in family.closes
}
"""The closers of all families, except those that are plain text where no opener stands before them
(`Lone.TEXT`). Only the other closers can end a thought that the prompt has opened.
"""
_SEARCHED = 1 << 17
"""How many characters at the end of a request's last assistant turn are searched for marks."""
_OPENERS = tuple(opener.strip() for family in TABLE for opener in family.opens)
"""The openers of all families, without blanks around them."""


@dataclass(frozen=True, slots=True)
class Facts:
    """The facts that are known of a reply before its first byte arrives."""

    body: Mapping[str, object] = field(default_factory=dict)
    """The fields of the request: in chat completions, or in the client's dialect if the request is
    native.
    """
    parses: bool = False
    """True if the server sends this model's thoughts in a field of their own, outside of the text.
    """
    repeats_opener: bool = False
    """True if the server may begin the text with a copy of the opener that ends the prompt."""
    prompt: InitialState | None = None
    """Where the reply begins, as the end of the rendered prompt shows; `None`: the prompt is not
    known.
    """
    corrected: InitialState | None = None
    """Where an earlier reply really began, from the same server and model to a request with the
    same switches of thinking; `None`: no reply has shown it.
    """


def state_by_request(facts: Facts) -> InitialState | None:
    """Return the state at the end of the request's last turn if this turn is the assistant's,
    because the reply then continues the turn: inside a thought that the turn left open, or in text.
    `None` for any other last turn, and for one whose content is empty or a list of parts.
    """
    begun = content_of(begun_message(facts.body))
    if not isinstance(begun, str) or not begun:
        return None
    end = begun[-_SEARCHED:]
    inside = any(
        _last_offset(end, family.opens) > _last_offset(end, family.closes)
        for family in FAMILIES
        if not family.ambiguous_in_prose
    )
    return InitialState.THINKING if inside else InitialState.TEXT


def ends_in_closed_thought(body: Mapping[str, object]) -> bool:
    """Return True if the last turn is the assistant's and its thought is closed, so that the reply,
    which continues this turn, begins with the answer.
    """
    begun = content_of(begun_message(body))
    end = begun[-_SEARCHED:] if isinstance(begun, str) else ""
    closed = any(closer in end for closer in _CLOSERS)
    return closed and state_by_request(Facts(body)) is InitialState.TEXT


def state_by_server(facts: Facts) -> InitialState | None:
    """Return where the reply begins by the kind of its server; `None` if the kind does not show it.

    - A server that sends thoughts in a field of their own: where an earlier reply really began
      (`facts.corrected`); if no reply has shown it, in `TEXT`.
    - A server that may repeat the opener: where an earlier reply really began, because this is
      surer than the end of the prompt; if no reply has shown it, `None`.
    """
    if facts.parses:
        return facts.corrected or InitialState.TEXT
    return facts.corrected if facts.repeats_opener else None


def state_by_prompt(facts: Facts) -> InitialState | None:
    """Return where the reply begins by the end of the rendered prompt; `None` if that is not known.

    For a server that may repeat the opener, the result is never `None`: `LIKELY_THINKING` if the
    prompt is known to end with an opener, else `TEXT`. A thought is only likely, because it depends
    on the server's options, which the server does not report: llama.cpp 11549 repeats the opener
    (`--reasoning-format none`), does not repeat it (with `--skip-chat-parsing` too), or sends the
    thought in a field (`--reasoning-format auto`).
    """
    if not facts.repeats_opener:
        return facts.prompt
    opened = facts.prompt is not None and facts.prompt.inside
    return InitialState.LIKELY_THINKING if opened else InitialState.TEXT


def state_by_correction(facts: Facts) -> InitialState | None:
    """Return where an earlier reply to a request with the same switches of thinking really began;
    `None` if no reply has shown it.
    """
    return facts.corrected


def state_by_switches(facts: Facts) -> InitialState | None:
    """Return `TEXT` if the request turns thinking off, unless the model's template opens a thought
    all the same (`Template.always`); `None` for any other request.
    """
    return InitialState.TEXT if _is_switched_off(facts.body) else None


def _is_switched_off(body: Mapping[str, object]) -> bool:
    """Return True if the request turns thinking off, unless the model's template opens a thought
    all the same (`Template.always`).
    """
    off = any(wish in _OFF for wish in _switch_values(body))
    return off and not ((row := _opening_row(body)) and row.always)


def state_by_model(facts: Facts) -> InitialState | None:
    """Return where the reply probably begins by the model's row in `TEMPLATES`: `LIKELY_THINKING`
    if the model's template opens a thought for this request, else `TEXT`. `None` if the model has
    no row, or a row whose template never opens a thought.
    """
    row = _opening_row(facts.body)
    if row is None:
        return None
    inner = as_object(facts.body.get(TEMPLATE))
    opened = not row.switches or any(
        value in values
        for name, values in row.switches.items()
        for value in (facts.body.get(name), inner.get(name))
    )
    return InitialState.LIKELY_THINKING if opened else InitialState.TEXT


def mentions_closer(body: Mapping[str, object]) -> bool:
    """Return True if a closer stands in a turn that is not the assistant's, or in the description
    or schema of a tool. Then the reply may quote a closer, and a closer in the reply does not prove
    that the reply began inside a thought.
    """
    turns = [turn for turn in messages_of(body) if role_of(turn) != "assistant"]
    written = json_text.write([turns, body.get("tools")]).decode()
    return any(closer in written for closer in _CLOSERS)


def asks_for_thinking(body: Mapping[str, object]) -> bool:
    """Return True if the request, or its `chat_template_kwargs`, turns thinking on."""
    return any(wish and wish not in _OFF for wish in _switch_values(body))


def _switch_values(body: Mapping[str, object]) -> list[object]:
    """Return the values of the switches of thinking in a request and its `chat_template_kwargs`:
    `{"reasoning_effort": "low", "thinking": {"type": "enabled"}}` -> `["low", "enabled"]`.
    """
    if TEMPLATE not in body and _SWITCH_NAMES.isdisjoint(body):
        return []  # most requests have no switch: they need no merged copy of their fields
    fields = {**body, **as_object(body.get(TEMPLATE))}
    wishes = [value for name, value in fields.items() if name in _SWITCH_NAMES]
    return [
        one.get("type", one.get("effort", True)) if isinstance(one, dict) else one for one in wishes
    ]


def _opening_row(body: Mapping[str, object]) -> Template | None:
    """Return the row of the request's model if its template opens thoughts; else `None`."""
    row = template_of(str(body.get("model") or ""))
    return row if row and row.opens else None


type Rule = Callable[[Facts], InitialState | None]
RULES: tuple[Rule, ...] = (
    state_by_request,
    state_by_server,
    state_by_prompt,
    state_by_correction,
    state_by_switches,
    state_by_model,
)
"""The rules about where a reply begins, the surest first. The first result that is not `None`
decides.
"""


def initial_state(facts: Facts) -> InitialState:
    """Return where the reply begins, as the first rule with a result decides; in its text if no
    rule has one.
    """
    return _first_result(RULES, facts) or InitialState.TEXT


def thinking_is_off(body: Mapping[str, object], chosen: InitialState) -> bool:
    """Return True if the reply has no thought, so that a closer in the reply is plain text.

    Thinking is off in two cases:

    - The request turns it off, unless the model's template opens a thought all the same.
    - The user's option `think_start` (`chosen`) says that replies begin in text, but the model's
      template opens a thought by default: then thinking must be turned off at the server.

    Always False if the model's template, with thinking off, writes a closer into the prompt
    (`Template.bare_closer`), because the model may repeat that closer.
    """
    row = _opening_row(body)
    if row and row.bare_closer:
        return False
    opens = row is not None and not row.switches
    return (chosen is InitialState.TEXT and opens) or _is_switched_off(body)


def turns_thinking_off(body: Mapping[str, object]) -> bool:
    """Return True if a request turns thinking off, and the model is not one that always thinks. The
    server then has no thought to send.
    """
    template = template_of(str(body.get("model") or ""))
    return _is_switched_off(body) and not (template and template.always)


def needs_prompt(facts: Facts) -> bool:
    """Return True if the server should be asked how the prompt ends: this is not known yet, and no
    surer rule (a rule before `state_by_prompt` in `RULES`) has a result.
    """
    return (
        facts.prompt is None and _first_result(RULES[: RULES.index(state_by_prompt)], facts) is None
    )


def state_after_prompt(rendered: str) -> InitialState:
    """Return where the reply to a rendered prompt begins: `THINKING` if the prompt ends with an
    opener (`<|assistant|><think>`), else `TEXT`.
    """
    opened = rendered.rstrip().endswith(_OPENERS)
    return InitialState.THINKING if opened else InitialState.TEXT


def begins_in_thought(facts: Facts, thinks: bool) -> bool:
    """Return True if the model is expected to begin its reply with a thought, which the server may
    send in the text or in a field of its own. `thinks` is True if the model is known to think
    although no instruction tells it to (`KnownServers.thinks`).
    """
    if (state := state_by_request(facts) or state_by_switches(facts)) is not None:
        return state.inside
    state = facts.prompt or facts.corrected
    return thinks or (state is not None and state.inside)


def _first_result(rules: Iterable[Rule], facts: Facts) -> InitialState | None:
    """Return the result of the first rule whose result is not `None`; `None` if there is no such
    rule.
    """
    return next((state for rule in rules if (state := rule(facts))), None)


def _last_offset(text: str, marks: Iterable[str]) -> int:
    """Return the offset of the last mark in a text, -1 if the text has none of the marks."""
    return max(map(text.rfind, marks))
