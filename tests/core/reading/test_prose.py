"""Answers that talk about marks, quote them as code, or look like them: with the default settings
they pass unchanged.
"""

import json

import pytest

from converter.addon.exchange.settings import read
from converter.core.dialects.table import ANTHROPIC, OPENAI_CHAT, Form
from converter.core.reading.beginning import Mode
from converter.core.reading.engine.engine import Engine
from converter.core.reading.engine.mark_table import mark_table
from converter.core.reading.families import TABLE
from converter.core.reading.family_choice import choose
from converter.core.reading.rows import Counts
from laws.oracle_blocks import Block
from tests.core.reading.test_thoughts import parse
from tests.support import frames
from tests.support.read_back import blocks_of, rewrite
from tests.support.strategies import every_so_many

ANSWERS = [
    "DeepSeek-R1 writes its thoughts between `<think>` and `</think>`; strip them before you show the answer.",
    "Use `<think>` for reasoning. A bare `</think>` means that the template has written the opener already.",
    "The regular expression is:\n\n```python\nre.sub(r'<think>.*?</think>', '', text, flags=re.DOTALL)\n```\n\nMind the `?`.",
    "```\n<think>\nFirst I add the numbers.\n</think>\n42\n```\nThat is what the raw reply looks like.",
    "~~~xml\n<thinking thought=\"a > b\" confidence='0.7'/>\n~~~\n\nThe attribute is quoted.",
    "- In the template:\n  ```jinja\n  {{ '<think>\\n' }}\n  ```\n- In the parser: `</think>`.",
    "> Someone asked:\n> ```\n> <think>why?</think>\n> ```\n\nI would answer no.",
    "1. Write `<thinking>`.\n2. Write your thoughts.\n3. Write `</thinking>`.",
    "Both ``<think>`` and ``a ` <think>`` are spans of two backticks.",
    "````markdown\n```\n<think>\n```\n````\nA fence within a fence.",
    "An unclosed fence is code to the end:\n```xml\n<think>a</think>",
    "The tag is case-sensitive: <THINK> and <Think> are nothing, and < think> is nothing either.",
    "<thinker> is a custom element, <think-more> as well, and <think/> is empty XML.",
    "<reason>The order was late</reason> is how the ticket system marks the cause.",
    "<thought>This is a quotation element of our own schema.</thought>",
    "<Thought>Upper case</Thought>, the same in our older schema.",
    "<reasoning>Chain rule.</reasoning> Then <answer>2x</answer>.",
    "<answer>42</answer>",
    "The grader expects <answer>42</answer> and nothing else.",
    "<response>OK</response>",
    "<response status=\"200\"><body>fine</body></response>",
    "reasoning: the second premise does not follow.\nanswer: no.",
    "Reasoning:\n\n1. All men are mortal.\n2. Socrates is a man.\n\nAnswer: Socrates is mortal.",
    "thinking: a gerund, and here a noun.",
    "Let me think. A train leaves at noon.\n\nLet me think about the second one, too.\n\nNow I'll add them.",
    "I need to think about this more carefully before I answer.\n\nLet me proceed.",
    "Here is my thought process: first the units, then the sum.\n\nHere is my response: 12 km.",
    "I was asked how I did it. Here is my thought process: I guessed. Here's my response: sorry.",
    "Here's my thought process:\n\n- units\n- sum",
    "Here are my reasoning steps:\n\n1. units\n2. sum\n\nSo it is 12 km.",
    "Apriel ends its reasoning with `[BEGIN FINAL RESPONSE]`; what follows is the answer.",
    "```\nHere are my reasoning steps:\n...\n[BEGIN FINAL RESPONSE]\n```",
    "[BEGIN FINAL RESPONSE] is what Apriel writes, and [END FINAL RESPONSE] ends it.",
    "[think] and [/think] in lower case are nobody's marks; `[THINK]` is Mistral's.",
    "[THINKING] is a status that our agent shows.",
    "analysis of variance compares the means of several groups.",
    "analysis: the market fell.\nassistantfinal is what is left of two tokens.",
    "In harmony a message is `<|start|>assistant<|channel|>analysis<|message|>` ... `<|end|>`.",
    "```\n<|start|>assistant<|channel|>final<|message|>Hi<|return|>\n```\nis a whole turn.",
    "The channels are analysis, commentary and final; a token such as <|im_end|> ends a ChatML turn.",
    "`<|START_THINKING|>` and `<|START_TEXT|>` are Cohere's, `<|think|>` is Solar's, `◁think▷` was Kimi's.",
    "Muse writes to=self for its thoughts and to=user for what you see; to=self<|message|> is the header.",
    "In x < think and think > y the words are variables; a <b> and c </b> are HTML.",
    "std::vector<thinks> v; // a template of mine\nv.push_back(<think: 3>);",
    "<think:> and <think: a> have no suffix, and <think:much/too/odd> has none that counts.",
    "`<think:0a1b2c3d>` opens and `</think:0a1b2c3d>` closes, both with the suffix of the checkpoint.",
    "Escaped: &lt;think&gt; is how HTML shows it.",
    "An ifm tag is `<ifm|think_fast>`; <ifm> alone is none, nor is <ifm|thinking>.",
    "`<|begin_of_thought|>` to `<|end_of_thought|>`, then `<|begin_of_solution|>` to `<|end_of_solution|>`.",
    "`<|open|>think<|sep|>` is Kimi-K3's, and `<|open|>response<|sep|>` begins its answer. <|open|> alone is text.",
    "<think of a number, double it>",
    "<thinking about it> is no tag, and <thinking a=1> is none.",
    "A thought that ends in <thi",
    "Marks such as `<|channel>` and `<channel|>` look odd.",
    "  \n\n  Blanks before, and after.  \n\n",
]  # fmt: skip


def test_there_are_enough_of_them() -> None:
    assert len(set(ANSWERS)) == len(ANSWERS) >= 40


@pytest.mark.parametrize("answer", ANSWERS)
def test_prose_passes_unchanged_wherever_it_is_cut(answer: str) -> None:
    for offset in every_so_many(range(len(answer))):
        assert parse([answer[:offset], answer[offset:]]) == [Block("text", answer)]
    assert parse([*answer], Mode.UNDECIDED) == [Block("text", answer)]


@pytest.mark.parametrize("answer", ANSWERS)
def test_prose_passes_unchanged_for_every_client(answer: str) -> None:
    whole = frames.whole(answer)
    assert b"".join(rewrite([whole], OPENAI_CHAT, Form.WHOLE)) == whole
    for server, body in ((Form.WHOLE, whole), (Form.STREAM, b"".join(frames.stream(answer)))):
        message = json.loads(b"".join(rewrite([body], ANTHROPIC, server, Form.WHOLE, read())))
        assert message["content"] == [{"type": "text", "text": answer}]


@pytest.mark.parametrize("answer", ANSWERS)
def test_prose_behind_a_thought_passes_unchanged(answer: str) -> None:
    assert parse([*"<think>why</think>", *answer]) == [
        Block("thinking", "why"),
        Block("text", answer),
    ]


PROSE = [family.name for family in TABLE if family.counts is Counts.AT_START or family.answer_tags]


@pytest.mark.parametrize("name", PROSE)
def test_what_is_switched_on_by_name_is_still_text_in_the_middle(name: str) -> None:
    text = "So: Here is my thought process: a. Here is my response: b. An analysis. assistantfinal. <answer>c</answer> <response>"
    parser = Engine(mark_table(choose(["auto", name])))
    assert blocks_of([*parser.feed(text), *parser.flush()]) == [Block("text", text)]
