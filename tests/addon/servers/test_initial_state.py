"""The initial state of a reply: each rule by itself, and their order."""

import itertools
import re
from dataclasses import replace
from pathlib import Path

import pytest

from converter.addon.servers import initial_state as rules
from converter.addon.servers.initial_state import (
    RULES,
    Facts,
    Rule,
    initial_state,
    needs_prompt,
    state_after_prompt,
    thinking_is_off,
    turns_thinking_off,
)
from converter.core.model.initial_state import InitialState
from tests.support.rows import rows_of

TEXT, THINKING = InitialState.TEXT, InitialState.THINKING
LIKELY = InitialState.LIKELY_THINKING
MODELS = rows_of(__file__)
BEGUN = dict(zip(MODELS, (LIKELY, TEXT, None), strict=True))
READING = Path(__file__).parents[3] / "docs" / "reading.md"


@pytest.mark.parametrize(
    ("prompt", "begun"),
    [
        ("<|im_start|>assistant\n<think>\n", THINKING),
        ("<|im_start|>assistant\n", TEXT),
        ("<|im_start|>assistant\n<think>\n\n</think>\n\n", TEXT),
        ("what is <think>?<|im_end|>\n<|im_start|>assistant\n", TEXT),
        ("<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|><|START_THINKING|>", THINKING),
        ("]~b]ai\n<mm:think>", THINKING),
        ("", TEXT),
    ],
)
def test_the_rendered_prompt_tells_by_how_it_ends(prompt: str, begun: InitialState) -> None:
    assert state_after_prompt(prompt) is begun


def _continued(begun: object) -> dict[str, object]:
    turns = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": begun}]
    return {"messages": turns}


@pytest.mark.parametrize(
    ("content", "begun"),
    [
        ("The answer", TEXT),
        ("<think>hm", THINKING),
        ("<think>hm</think>So", TEXT),
        ("<think>a</think>b<think>c", THINKING),
        ("", None),
        (None, None),
        ([{"type": "text", "text": "<think>"}], None),
    ],
)
def test_a_reply_that_the_request_begins_goes_on_there(
    content: object, begun: InitialState | None
) -> None:
    assert rules.state_by_request(Facts(_continued(content))) is begun


def test_a_last_turn_of_the_user_begins_nothing() -> None:
    bodies: list[dict[str, object]] = [
        {"messages": [{"role": "user", "content": "<think>"}]},
        {"messages": ["<think>"]},
        {"messages": []},
        {"messages": "<think>"},
        {},
    ]
    assert [rules.state_by_request(Facts(body)) for body in bodies] == [None] * 5


@pytest.mark.parametrize(
    ("fields", "begun"),
    [
        ({"chat_template_kwargs": {"enable_thinking": False}}, TEXT),
        ({"chat_template_kwargs": {"thinking": False}}, TEXT),
        ({"chat_template_kwargs": {"thinking_mode": "disabled"}}, TEXT),
        ({"reasoning_effort": "none"}, TEXT),
        ({"reasoning_effort": "no_think"}, TEXT),
        ({"reasoning_effort": "off"}, TEXT),
        ({"thinking": {"type": "disabled"}}, TEXT),
        ({"thinking": {"type": "enabled"}}, None),
        ({"think": False}, TEXT),
        ({"chat_template_kwargs": {"enable_thinking": True}}, None),
        ({"reasoning_effort": "low"}, None),
        ({}, None),
    ],
)
def test_thinking_turned_off_begins_with_text(
    fields: dict[str, object], begun: InitialState | None
) -> None:
    assert rules.state_by_switches(Facts(fields)) is begun


@pytest.mark.parametrize(
    ("model", "begun"),
    [(model, BEGUN[habit]) for habit, models in MODELS.items() for model in models],
)
def test_the_name_of_a_model_tells_when_its_template_opens_the_thought(
    model: str, begun: InitialState | None
) -> None:
    assert rules.state_by_model(Facts({"model": model})) is begun


@pytest.mark.parametrize("name", ["thinking", "enable_thinking"])
@pytest.mark.parametrize(("value", "begun"), [(True, LIKELY), (False, TEXT), ("yes", TEXT)])
@pytest.mark.parametrize(
    "model", ["DeepSeek-V3.1", "Bielik-11B-v3.0", "MiniCPM5-1B", "Reka-Edge", "rwkv7-g1"]
)
def test_a_model_that_thinks_on_request_opens_the_thought_then(
    model: str, name: str, value: object, begun: InitialState
) -> None:
    body = {"model": model, "chat_template_kwargs": {name: value}}
    assert rules.state_by_model(Facts(body)) is begun


@pytest.mark.parametrize(
    ("model", "fields", "begun"),
    [
        ("MiniMax-M3", {"chat_template_kwargs": {"thinking_mode": "enabled"}}, LIKELY),
        ("MiniMax-M3", {"chat_template_kwargs": {"thinking_mode": "adaptive"}}, TEXT),
        ("MiniMax-M3", {"chat_template_kwargs": {"enable_thinking": True}}, TEXT),
        ("Hy3", {"reasoning_effort": "high"}, LIKELY),
        ("Hy3", {"chat_template_kwargs": {"reasoning_effort": "low"}}, LIKELY),
        ("Hy3", {"reasoning_effort": "no_think"}, TEXT),
        ("Hy3", {"reasoning_effort": ["high"]}, TEXT),
    ],
)
def test_what_asks_a_model_to_think_is_its_templates_word(
    model: str, fields: dict[str, object], begun: InitialState
) -> None:
    assert rules.state_by_model(Facts({"model": model, **fields})) is begun


@pytest.mark.parametrize(
    "model", ["qwq-32b", "DeepSeek-R1", "Qwen3-4B-Thinking-2507", "MiniMax-M2", "Step-3.5-Flash"]
)
def test_a_model_that_always_thinks_is_not_turned_off(model: str) -> None:
    body = {"model": model, "enable_thinking": False}
    assert rules.state_by_switches(Facts(body)) is None
    assert initial_state(Facts(body)) is LIKELY
    assert not thinking_is_off(body, InitialState.AUTO)
    assert not any(turns_thinking_off({**body, "model": name}) for name in (model, "gpt-oss-20b"))


OFF = {"reasoning_effort": "none"}


@pytest.mark.parametrize(
    ("body", "chosen", "off"),
    [
        ({}, InitialState.AUTO, False),
        ({}, TEXT, False),
        (OFF, InitialState.AUTO, True),
        (OFF, TEXT, True),
        ({"model": "any", **OFF}, TEXT, True),
        ({"model": "Qwen3.5-9B"}, InitialState.AUTO, False),
        ({"model": "Qwen3.5-9B"}, TEXT, True),
        ({"model": "Qwen3.5-9B", **OFF}, InitialState.AUTO, True),
        ({"model": "DeepSeek-V3.1"}, TEXT, False),
        ({"model": "bielik-11b-v3.0"}, TEXT, False),
        ({"model": "poolside/laguna", **OFF}, TEXT, False),
        ({"model": "MiniMax-M3", "thinking_mode": "disabled"}, InitialState.AUTO, False),
        ({"model": "GLM-4.7", "enable_thinking": False}, InitialState.AUTO, False),
    ],
)
def test_a_closer_at_the_head_is_text_where_the_prompt_has_closed_the_thought(
    body: dict[str, object], chosen: InitialState, off: bool
) -> None:
    assert thinking_is_off(body, chosen) is off


@pytest.mark.parametrize(
    ("whole", "corrected", "begun"),
    [
        (False, None, None),
        (False, THINKING, None),
        (True, None, TEXT),
        (True, TEXT, TEXT),
        (True, THINKING, THINKING),
    ],
)
def test_a_server_that_takes_thoughts_out_is_believed_until_it_was_wrong(
    whole: bool, corrected: InitialState | None, begun: InitialState | None
) -> None:
    facts = Facts(parses=whole, corrected=corrected)
    assert rules.state_by_server(facts) is begun


SAYS: dict[Rule, dict[InitialState, Facts]] = {
    rules.state_by_request: {
        TEXT: Facts(_continued("So")),
        THINKING: Facts(_continued("<think>hm")),
    },
    rules.state_by_server: {TEXT: Facts(parses=True)},
    rules.state_by_prompt: {TEXT: Facts(prompt=TEXT), THINKING: Facts(prompt=THINKING)},
    rules.state_by_correction: {TEXT: Facts(corrected=TEXT), THINKING: Facts(corrected=THINKING)},
    rules.state_by_switches: {TEXT: Facts({"think": False})},
    rules.state_by_model: {
        TEXT: Facts({"model": "DeepSeek-V3.1"}),
        LIKELY: Facts({"model": "Qwen3.5-9B"}),
    },
}
"""Facts by which a rule, and no other, says this."""


def _both(one: Facts, other: Facts) -> Facts:
    return Facts(
        {**other.body, **one.body},
        one.parses or other.parses,
        one.repeats_opener or other.repeats_opener,
        one.prompt or other.prompt,
        one.corrected or other.corrected,
    )


def test_here_is_every_rule_in_order() -> None:
    assert tuple(SAYS) == RULES


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_a_rule_decides_when_no_other_speaks(rule: Rule) -> None:
    assert {state: initial_state(facts) for state, facts in SAYS[rule].items()} == {
        state: state for state in SAYS[rule]
    }


ORDER = [
    (before, after, expected, against)
    for before, after in itertools.combinations(RULES, 2)
    for expected, against in itertools.product(SAYS[before], SAYS[after])
    if expected is not against
    and (before, after) != (rules.state_by_server, rules.state_by_correction)
]


@pytest.mark.parametrize(
    ("before", "after", "expected", "against"),
    ORDER,
    ids=lambda value: value.value if isinstance(value, InitialState) else value.__name__,
)
def test_the_rule_that_stands_first_decides(
    before: Rule, after: Rule, expected: InitialState, against: InitialState
) -> None:
    assert initial_state(_both(SAYS[before][expected], SAYS[after][against])) is expected


def test_a_correction_overrules_only_the_server() -> None:
    assert initial_state(Facts(parses=True, corrected=THINKING)) is THINKING
    assert initial_state(Facts(prompt=TEXT, corrected=THINKING)) is TEXT


@pytest.mark.parametrize(
    ("prompt", "corrected", "begun"),
    [
        (None, None, TEXT),
        (TEXT, None, TEXT),
        (THINKING, None, LIKELY),
        (THINKING, TEXT, TEXT),
        (TEXT, THINKING, THINKING),
        (None, THINKING, THINKING),
    ],
)
def test_an_opened_prompt_is_a_guess_where_the_server_may_repeat_the_opener(
    prompt: InitialState | None, corrected: InitialState | None, begun: InitialState
) -> None:
    """llama.cpp 11549 repeats it or not, by its own options, and tells neither."""
    body = {"model": "qwq"}  # whose name says that its template opens a thought
    facts = Facts(body, repeats_opener=True, prompt=prompt, corrected=corrected)
    assert initial_state(facts) is begun
    assert initial_state(replace(facts, parses=True)) is (corrected or TEXT)


def test_the_prompt_of_a_server_that_repeats_openers_is_waited_for() -> None:
    assert needs_prompt(Facts(repeats_opener=True))
    assert not needs_prompt(Facts(repeats_opener=True, corrected=THINKING))


def test_a_reply_begins_in_its_text_when_nothing_says_otherwise() -> None:
    assert initial_state(Facts()) is TEXT


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_prompt_is_waited_for_unless_an_earlier_rule_decides(rule: Rule) -> None:
    waits = RULES.index(rule) > RULES.index(rules.state_by_prompt)
    assert {needs_prompt(facts) for facts in SAYS[rule].values()} == {waits}


def test_a_request_waits_for_the_prompt_only_where_nothing_is_cached() -> None:
    assert needs_prompt(Facts())


def test_the_manual_lists_the_rules_by_name_and_in_order() -> None:
    listed = READING.read_text().partition("## Where a reply begins\n")[2]
    named = re.findall(r"^\d\. \*\*(\w+)", listed, re.MULTILINE)
    assert [f"state_by_{name}" for name in named] == [rule.__name__ for rule in RULES]
