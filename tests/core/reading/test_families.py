"""Every family of the table: what its models write, wherever it is cut, streamed and whole, for
both kinds of client.
"""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from converter.addon.exchange.settings import Settings, read
from converter.core.dialects.table import OPENAI_CHAT, Form
from converter.core.reading.beginning import Mode
from converter.core.reading.engine.engine import STOP, Engine
from converter.core.reading.engine.mark_table import mark_table
from converter.core.reading.families import TABLE
from converter.core.reading.family_choice import choose, for_model, joined
from converter.core.reading.thought_row import ThoughtRow
from converter.core.wire.bounds import BLANKS_LIMIT
from laws import oracle
from laws.oracle_blocks import Block
from tests.support import frames
from tests.support.call_engine import held_by
from tests.support.read_back import anthropic_message, blocks_of, completion_of, rewrite
from tests.support.strategies import BLANKS, CODE, PIECES, cut, every_so_many, law

type Blocks = list[tuple[str, str]]
"""Blocks as received: `>` and a thought, or an empty string and text."""

WHY, SO = (">", "why"), ("", "so")
TEXT_MARK = "<|start|>assistant<|channel|>final<|message|>"
REPLIES: dict[str, dict[str, Blocks]] = {
    "think": {
        "<think>\nwhy\n</think>\n\nso": [WHY, ("", "\n\nso")],
        "<think>why</think><|begin_of_box|>so<|end_of_box|>": [WHY, SO],
        "`<|begin_of_box|>`": [("", "`<|begin_of_box|>`")],
        "<think>why</think><answer>so</answer>": [WHY, ("", "<answer>so</answer>")],
    },
    "thinking": {"<thinking>why</thinking>so": [WHY, SO], '<thinking thought="why"/>so': [WHY, SO]},
    "think-suffix": {
        "<think:0a1b2c3d>\nwhy\n</think:0a1b2c3d>so": [WHY, SO],
        "<think:a></think></think:b></think:a>so": [(">", "</think></think:b>"), SO],
        "<think:a>why</think:a><think:b>why</think:b>so": [WHY, WHY, SO],
        "<think:>so</think:>": [("", "<think:>so</think:>")],
    },
    "minimax": {"<mm:think>why</mm:think>so": [WHY, SO]},
    "seed": {"<seed:think>why</seed:think>so": [WHY, SO]},
    "mistral": {"[THINK]why[/THINK]so": [WHY, SO]},
    "kimi": {"◁think▷why◁/think▷so": [WHY, SO]},
    "kimi-k3": {
        "<|open|>think<|sep|>why<|close|>think<|sep|><|open|>response<|sep|>so<|close|>message<|sep|>": [WHY, SO],
        "<|open|>think<|sep|>why<|open|>response<|sep|>so": [WHY, SO],
        "<|open|>think<|sep|>why<|close|>response<|sep|>so": [WHY, SO],
        "<|open|>response<|sep|>so<|close|>response<|sep|><|end_of_msg|>": [SO],
        "<|open|>think<|sep|>why<|close|>think<|open|>response<|sep|>so<|close|>response<|sep|>": [WHY, SO],
        "<|open|>think<|sep|>why<|close|>": [WHY],
        "<|open|>think<|sep|>why<|close|>think": [WHY],
        "<|open|>think<|sep|>why<|close|>think<|sep|><|open|>": [WHY],
        "<|open|>think<|sep|>why<|close|>think<|sep|><|open|>resp": [WHY],
        "<|open|>response<|sep|>so<|close|>response": [SO],
        "<|open|>response<|sep|>so<|close|>response<|sep|><|close|>message": [SO],
        "so <|open|> so": [("", "so <|open|> so")],
        "so `<|open|>": [("", "so `<|open|>")],
        "so <|op": [("", "so <|op")],
        "<|open|>think<|sep|>why\n<|open|>tools<|sep|><|open|>call": [WHY, ("", "<|open|>tools<|sep|><|open|>call")],
    },
    "cohere": {
        "<|START_THINKING|>why<|END_THINKING|><|START_TEXT|>so<|END_TEXT|>": [WHY, SO],
        "<|START_THINKING|>why<|END_THINKING|><|START_RESPONSE|>so<|END_RESPONSE|>": [WHY, SO],
        "<|START_THINKING|>why<|START_TEXT|>so<|END_TEXT|>": [WHY, SO],
        "<|START_THINKING|>why\n<|START_RESPONSE|>so<|END_RESPONSE|>": [WHY, SO],
        "<|START_THINKING|>why\n<|START_ACTION|>[]<|END_ACTION|>": [WHY, ("", "<|START_ACTION|>[]<|END_ACTION|>")],
        "<|START_TEXT|>so<|END_TEXT|>": [SO],
        "<|START_THINKING|>why<|END_THINKING|>so<|END_OF_TURN_TOKEN|>": [WHY, SO],
        "<|START_THINKING|>why<|END_THINKING|><|START_ACTION|>[]<|END_ACTION|>": [WHY, ("", "<|START_ACTION|>[]<|END_ACTION|>")],
    },
    "harmony": {
        f"<|channel|>analysis<|message|>why<|end|>{TEXT_MARK}so<|return|>": [WHY, SO],
        f"<|start|>assistant<|channel|>analysis<|message|>why{TEXT_MARK}so": [WHY, SO],
        "<|channel|>analysis<|message|>why<|channel|>final<|message|>so": [WHY, SO],
        f"<|channel|>commentary<|message|>now <|end|>{TEXT_MARK}so": [("", "now so")],
        "<|channel|>analysis<|message|>why<|end|><|start|>assistant<|channel|>analysis<|message|>why<|end|>so": [WHY, WHY, SO],
        "<|channel|>final<|message|>`<|end|>` so": [("", "`<|end|>` so")],
        f"<|channel|>commentary to=assistant<|channel|>analysis<|message|>why<|end|>{TEXT_MARK}so": [WHY, SO],
        "<|channel|>analysis<|message|>why<|end|><|start|>assistant<|channel|>commentary to=assistant<|channel|>final<|message|>so": [WHY, SO],
        "<|start|><|channel|>analysis<|message|>why<|end|><|start|><|channel|>final<|message|>so<|end|>": [WHY, SO],
        "<|channel|>analysis<|message|>why<|end|><|call|>so<|return|>": [WHY, SO],
        " to=functions.run<|channel|>analysis <|constrain|>json<|message|>{}": [("", " to=functions.run<|channel|>analysis <|constrain|>json<|message|>{}")],
        "into=run<|channel|>analysis <|constrain|>json<|message|>why<|end|>so": [("", "into=run"), WHY, SO],
        "<|channel|>analysis<|message|>why<|end|><|start|>": [WHY],
        "<|channel|>analysis<|message|>why<|end|><|start|>assistant<|channel|>fin": [WHY],
        "<|channel|>analysis<|message|>why<|channel|>commentary to=functions.run<|message|>{}<|call|>": [
            WHY,
            ("", "<|channel|>commentary to=functions.run<|message|>{}<|call|>"),
        ],
    },
    "solar": {"<|think|>why<|end|><|begin|>assistant<|content|>so<|end|>": [WHY, SO]},
    "gemma": {
        "<|channel>thought\nwhy<channel|>so": [WHY, SO],
        "<|channel>thought<channel|>so": [SO],
        "<|channel>thought\nwhy<channel|>so<turn|>": [WHY, SO],
        "<|channel>thought\n<channel|>so<channel|>": [SO],
        "<|channel>thought\n<channel|>so<|channel>thought\n<channel|><channel|>": [SO],
        "<|channel><|channel>thought\n<channel|>so": [SO],
        "<|channel><|channel>thought\nwhy<channel|>so": [WHY, SO],
        "<|channel>plan<channel|>so": [(">", "plan"), SO],
        "<|channel>thoughts\nwhy<channel|>so": [(">", "thoughts\nwhy"), SO],
        "<|channel>why<channel|><|channel>why<channel|>so": [WHY, WHY, SO],
        "<|channel>thought\nwhy<|tool_call>call:run{}<tool_call|>": [WHY, ("", "<|tool_call>call:run{}<tool_call|>")],
        "so `<channel|>`": [("", "so `<channel|>`")],
        "<channel|>so": [SO],
        "<|channel>thought\nwhy<channel|>so<channel|>so": [WHY, ("", "soso")],
        "thought\nso": [("", "thought\nso")],
    },
    "medgemma": {
        "<unused94>thought\nwhy<unused95>so": [WHY, SO],
        "<unused94>why<unused95>so": [WHY, SO],
    },
    "apertus": {"<|inner_prefix|>why<|inner_suffix|>so": [WHY, SO]},
    "solar2": {"<|think:start|>why<|think:end|>so": [WHY, SO]},
    "longcat": {"<longcat_think>\nwhy\n</longcat_think>so": [WHY, SO]},
    "pangu": {"[unused16]why[unused17]so": [WHY, SO], "so [unused18]": [("", "so [unused18]")]},
    "hyperclova": {
        "/think\nwhy<|im_end|>\n<|im_start|>assistant\nso<|im_end|>": [WHY, SO],
        "so /think\nso": [("", "so /think\nso")],
    },
    "plamo": {"<|plamo:begin_think:plamo|>why<|plamo:end_think:plamo|>so": [WHY, SO]},
    "inkling": {
        "<|message_model|><|content_thinking|>why<|end_message|><|message_model|>f.a<|content_text|>so<|end_message|>": [WHY, SO],
        "<|content_thinking|>why<|content_text|>so<|end_message|><|content_model_end_sampling|>": [WHY, SO],
    },
    "openthoughts": {
        "<|begin_of_thought|>why<|end_of_thought|>\n<|begin_of_solution|>so<|end_of_solution|>": [WHY, ("", "\nso")],
    },
    "ifm": {"<ifm|think>why</ifm|think>so": [WHY, SO]},
    "ifm-fast": {"<ifm|think_fast>why</ifm|think_fast>so": [WHY, SO]},
    "ifm-faster": {"<ifm|think_faster>why</ifm|think_faster>so": [WHY, SO]},
    "budget": {"<budget:thinking>why</budget:thinking>so": [WHY, SO]},
    "reasoning_content": {"<reasoning_content>why</reasoning_content>so": [WHY, SO]},
    "think-answer": {
        "<think>\nwhy\n</think>\n<answer>\nso\n</answer>\n": [WHY, ("", "\n\nso\n\n")],
        "<think>why</think>so <answer>so</answer>": [WHY, ("", "so <answer>so</answer>")],
        "<think>why</think><answer>a </answer> so</answer>": [WHY, ("", "a </answer> so")],
        "<think>why</think>so</answer>": [WHY, ("", "so</answer>")],
        "<answer>so</answer>": [("", "<answer>so</answer>")],
        "<think>why</think><answer>`so</answer>": [WHY, ("", "`so")],
        "<think>why</think><answer>so</answ": [WHY, ("", "so</answ")],
        "<think>why</think><answer>so<think>why</think>so</answer>": [WHY, SO, WHY, SO],
        "<think>why</think><response>so</response>": [WHY, ("", "<response>so</response>")],
    },
    "think-response": {
        "<think>why</think><response>so</response>": [WHY, SO],
        "<think>why</think>\n\n\n<response>\nso\n</response>\n": [WHY, ("", "\n\n\n\nso\n\n")],
    },
    "apriel": {
        "<thinking>why[BEGIN FINAL RESPONSE]so[END FINAL RESPONSE]": [WHY, SO],
        "<thinking>why</thinking>\n[BEGIN FINAL RESPONSE]so": [WHY, ("", "\nso")],
    },
    "muse": {
        " to=self<|message|>why<|eom|><|start|>assistant to=user<|message|>so<|eot|>": [WHY, SO],
        "to=self<|message|>why<|start|>assistant to=user<|message|>so": [WHY, SO],
        " to=user<|message|>it is so to=me": [("", "it is so to=me")],
    },
    "reasoning": {"<reasoning>why</reasoning>so": [WHY, SO]},
    "thought": {"<thought>why</thought>so": [WHY, SO]},
    "granite": {
        "Here is my thought process:\nwhy\n\nHere is my response:so": [WHY, SO],
        "\nHere's my thought process: why\nHere's my response: so": [("", "\n"), (">", " why"), ("", " so")],
        "So. Here is my thought process: why": [("", "So. Here is my thought process: why")],
        "So. Here is my response: so": [("", "So. Here is my response: so")],
    },
    "apriel-phrase": {
        "Here are my reasoning steps:\nwhy\n[BEGIN FINAL RESPONSE]so[END FINAL RESPONSE]": [WHY, SO],
        "So. Here are my reasoning steps: a": [("", "So. Here are my reasoning steps: a")],
    },
    "gemma-words": {
        "thought\nwhy<channel|>so": [WHY, SO],
        "\nthought\nwhy<channel|>so<channel|>": [("", "\n"), WHY, SO],
        "So it is a thought\nof mine": [("", "So it is a thought\nof mine")],
        "thoughts\nso": [("", "thoughts\nso")],
    },
    "harmony-words": {
        "analysiswhyassistantfinalso": [WHY, SO],
        "an analysis": [("", "an analysis")],
        "The assistantfinal": [("", "The assistantfinal")],
    },
}  # fmt: skip
"""Replies as each family's models write them, and what is no reply of theirs."""
assert REPLIES.keys() == {family.name for family in TABLE}
CASES = [(family, reply) for family in TABLE for reply in REPLIES[family.name]]
MODELS = {
    "think-answer": "tencent/Hunyuan-A13B-Instruct",
    "think-response": "granite3.3:8b",
    "apriel": "Apriel-1.5-15b-Thinker",
    "muse": "muse-glimmer-30b",
    "reasoning": "openai.gpt-oss-20b-1:0",
    "thought": "gemini-3-pro",
    "granite": "granite3.2:8b",
    "apriel-phrase": "Apriel-1.6-15b-Thinker",
    "gemma-words": "google/gemma-4-31B-it",
    "harmony-words": "gpt-oss-20b",
    "hyperclova": "HyperCLOVAX-SEED-Think-14B",
}
"""A model by whose name each family is switched on that has one."""


def settings_for(family: ThoughtRow) -> Settings:
    """As users meet the family: on by itself, by the model's name, or else named."""
    if family.name in MODELS:
        default = read()
        return replace(default, tags=joined(default.tags, for_model(MODELS[family.name])))
    return read({"tags": ["auto", *([family.name] if family.ambiguous_in_prose else [])]})


def message(blocks: Blocks) -> list[tuple[str, str]]:
    """As the Messages API has it: no text of nothing but blanks (rule 13)."""
    return [("thinking" if kind else "text", text) for kind, text in blocks if text.strip()]


def completion(blocks: Blocks) -> dict[str, str]:
    thoughts = "\n\n".join(text for kind, text in blocks if kind)
    text = {
        "reasoning_content": thoughts,
        "content": "".join(text for kind, text in blocks if not kind),
    }
    return {name: value for name, value in text.items() if value}


def openai_texts(body: bytes, form: Form, settings: Settings) -> dict[str, str]:
    return (
        completion_of(b"".join(rewrite([body], OPENAI_CHAT, form, settings=settings)), form)
        .choices[0]
        .shown[0]
    )


def anthropic_blocks(
    body: bytes, server: Form, client: Form, settings: Settings
) -> list[tuple[str, str]]:
    return [
        (block["type"], block[block["type"]])
        for block in anthropic_message(body, server, client, settings)["content"]
    ]


def cuts(reply: str) -> Iterator[bytes]:
    """Yield the reply as streams: cut at each offset, or a share of them, and in characters."""
    for offset in every_so_many(range(len(reply))):
        yield b"".join(frames.stream(*filter(None, [reply[:offset], reply[offset:]])))
    yield b"".join(frames.stream(*reply))


@pytest.mark.parametrize(
    ("family", "reply"), CASES, ids=lambda value: getattr(value, "name", value)
)
def test_every_family_is_read_wherever_it_is_cut_by_every_client(
    family: ThoughtRow, reply: str
) -> None:
    settings, blocks = settings_for(family), REPLIES[family.name][reply]
    whole = frames.whole(reply)
    assert openai_texts(whole, Form.WHOLE, settings) == completion(blocks)
    for form in Form:
        assert anthropic_blocks(whole, Form.WHOLE, form, settings) == message(blocks)
    for body in cuts(reply):
        assert openai_texts(body, Form.STREAM, settings) == completion(blocks)
        assert anthropic_blocks(body, Form.STREAM, Form.STREAM, settings) == message(blocks)
    assert anthropic_blocks(body, Form.STREAM, Form.WHOLE, settings) == message(blocks)


@pytest.mark.parametrize("names", [["gemma"], ["gemma-words"], ["gemma", "gemma-words"]])
def test_gemmas_closer_alone_means_the_same_by_each_of_its_rows(names: list[str]) -> None:
    blocks = parse(["why<channel|>so"], names, Mode.UNDECIDED)
    assert [(block.kind, block.text) for block in blocks] == [("thinking", "why"), ("text", "so")]


def test_every_family_that_a_models_name_switches_on_is_tried_so() -> None:
    rows = [row for row in TABLE if row.model_pattern]
    assert {row.name for row in rows} == set(MODELS)
    assert all(row.ambiguous_in_prose for row in rows)


BEGUN = [
    ("think-answer", "why</think><answer>so</answer>", [("thinking", "why"), ("text", "so")]),
    ("think-suffix", "why</think:ab>so", [("thinking", "why"), ("text", "so")]),
    (
        "harmony",
        "\n<|channel|>analysis<|message|>why<|end|>so",
        [("thinking", "why"), ("text", "so")],
    ),
    ("harmony", f"why{TEXT_MARK}so", [("thinking", "why"), ("text", "so")]),
    (
        "inkling",
        "<|message_model|><|content_thinking|>why<|content_text|>so",
        [("thinking", "why"), ("text", "so")],
    ),
    (
        "granite",
        "Here is my thought process:why Here is my response:so",
        [("thinking", "why "), ("text", "so")],
    ),
    ("apriel-phrase", "why\n[BEGIN FINAL RESPONSE]so", [("thinking", "why"), ("text", "so")]),
    ("cohere", "why<|END_THINKING|><|START_TEXT|>so", [("thinking", "why"), ("text", "so")]),
]


@pytest.mark.parametrize(
    ("name", "reply", "blocks"), BEGUN, ids=lambda value: value if isinstance(value, str) else ""
)
def test_a_reply_that_begins_inside_the_thought_is_read_wherever_it_is_cut(
    name: str, reply: str, blocks: Blocks
) -> None:
    for offset in range(len(reply)):
        assert parse([reply[:offset], reply[offset:]], [name], Mode.THINKING) == [
            Block(*block) for block in blocks
        ]


@pytest.mark.parametrize(
    "reply",
    ["so<|end|>", "so<|eom|>", f"so{TEXT_MARK}so", "so<|return|>", "so<|open|>response<|sep|>so"],
)
def test_special_tokens_that_end_more_than_thoughts_do_not_tell_that_it_began_inside_one(
    reply: str,
) -> None:
    assert {block.kind for block in parse([reply], ["auto", "muse"], Mode.UNDECIDED)} == {"text"}


HELD = [
    ("think-answer", "<think>a</think>\n<answ", "<answ"),
    ("think-answer", "<think>a</think>so<answ", ""),
    ("think-answer", "<think>a</think><answer>so </answer>\n\n", "</answer>\n\n"),
    ("think-answer", "<think>a</think><answer>so </answer>\n\nbut", ""),
    ("think-answer", "<think>a</think>so </answer>", ""),
    ("granite", "\nHere", "Here"),
    ("granite", "\nThere", ""),
    ("granite", "So Here", ""),
    ("muse", "go to", " to"),
    ("auto", "Here is", ""),
    ("auto", "to=self", ""),
    ("auto", "a<think:0a1b", "<think:0a1b"),
    ("auto", "a<think:0a 1b", ""),
    ("auto", "a<|start|>assist", "<|start|>assist"),
]


@pytest.mark.parametrize(("name", "reply", "held"), HELD)
def test_no_more_is_held_than_it_takes_to_decide(name: str, reply: str, held: str) -> None:
    parser = Engine(mark_table(choose([name])))
    parser.feed(reply)
    assert held_by(parser) == held


@pytest.mark.parametrize("step", [1, 700, 100_000])
def test_blanks_behind_a_companion_are_held_to_the_limit_only(step: int) -> None:
    text = "<think>a</think><answer>so</answer>" + "\n" * (BLANKS_LIMIT + 1)
    pieces = [text[offset : offset + step] for offset in range(0, len(text), step)]
    assert parse(pieces, ["think-answer"])[1].text == "so</answer>" + "\n" * (BLANKS_LIMIT + 1)
    assert parse([text[:-1]], ["think-answer"])[1].text == "so" + "\n" * BLANKS_LIMIT


def parse(
    pieces: list[str],
    names: list[str],
    start: Mode = Mode.ANSWERING,
    tools_offered: bool = False,
    finish: str = STOP,
) -> list[Block]:
    parser = Engine(mark_table(choose(names), offered=tools_offered), start)
    emitted = [event for piece in pieces for event in parser.feed(piece)]
    return blocks_of(emitted + parser.flush(finish))


MODES_BY_START = {
    "text": Mode.ANSWERING,
    "closed": Mode.CLOSED,
    "thinking": Mode.THINKING,
    "guessed": Mode.GUESSED,
    "undecided": Mode.UNDECIDED,
}
SETS = [
    ["auto"],
    ["auto", *MODELS],
    ["auto", "think-answer"],
    ["think-response"],
    ["harmony-words", "harmony"],
    ["apriel", "muse"],
]
TOOL_TEXTS = [
    "<tool_call>",
    "</tool_call>",
    "<think>why<tool_call>{}</tool_call>",
    "<tool_calls>",
    "<TOOLCALL>",
    "<|tool_call_begin|>",
    "<|tool_call_end|>",
    "<|open|>tools<|sep|>",
    "<|channel|>commentary to=functions",
    "<|start|>assistant to=functions",
    "<|call|>",
    "{",
    "(",
    '"',
    "run",
]
HEADERS = [
    " to=functions.f",
    "<|channel|>final ",
    "<|channel|>analysis\n",
    "<|constrain|>",
    "<|message|>",
    "to=",
]
NAMED_SUFFIXES = ["<think:a>", "</think:a>", "<think:b1>", "</think:b1>", "<think:"]


def marks_of(families: tuple[ThoughtRow, ...]) -> list[str]:
    marks = [
        mark
        for row in families
        for mark in (*row.opens, *row.closes, *row.ignored, *row.labels, *(row.answer_tags or ()))
    ]
    return [*marks, *NAMED_SUFFIXES, *TOOL_TEXTS, *HEADERS]


@st.composite
def texts(draw: st.DrawFn, families: tuple[ThoughtRow, ...]) -> str:
    marks = st.sampled_from(marks_of(families))
    row = st.sampled_from(families).map(
        lambda row: row.open + "why" + row.close + (row.answer_tags or ("",))[0]
    )
    framed = st.sampled_from(["<answer>", "</answer>", "<response>", "</response>"])
    half = marks.flatmap(lambda mark: st.integers(1, len(mark)).map(lambda length: mark[:length]))
    other = st.sampled_from([*CODE, *BLANKS, *PIECES])
    return "".join(draw(st.lists(st.one_of(marks, row, framed, half, other), max_size=12)))


@law(800)
@given(
    st.data(),
    st.sampled_from(SETS),
    st.sampled_from(list(MODES_BY_START)),
    st.booleans(),
    st.sampled_from([STOP, "length"]),
)
def test_law_5_the_parser_and_the_oracle_agree_on_every_family(
    data: st.DataObject, names: list[str], start: str, tools_offered: bool, finish: str
) -> None:
    families = choose(names)
    text = data.draw(texts(families))
    mode = MODES_BY_START[start]
    expected = oracle.read(
        text, families, start, tools_offered=tools_offered, stopped=finish == STOP
    )
    assert parse(data.draw(cut(text)), names, mode, tools_offered, finish) == expected
