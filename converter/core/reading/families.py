"""`FAMILIES` and `TABLE` have the marks around thinking, a row for each family of models: the marks
of a new model go here. `family_choice` selects the rows for a reply. Also `CLOSERS`, the usual
closers of `FAMILIES`, and `behind_closers`, which skips them in a text.

`docs/options.md` names the models. The sources are the chat templates that llama.cpp ships, the
parsers of vLLM and SGLang, and the filter list of Open WebUI.
"""

import re
from functools import partial

from converter.core.reading.rows import GAP, LINE, PARAGRAPH, SENTENCE, SUFFIX, Counts, pair, tag
from converter.core.reading.thought_row import Lone, ThoughtRow

_in_text = partial(ThoughtRow, counts=Counts.IN_TEXT)
"""Return a row of a family whose openers count anywhere in an answer."""
_at_start = partial(ThoughtRow, counts=Counts.AT_START)
"""Return a row of a family whose openers count only where a message begins."""
_at_paragraph = partial(ThoughtRow, counts=Counts.AT_PARAGRAPH)
"""Return a row of a family whose openers count at the beginning of a paragraph."""
_ANSWERS = (
    "<|channel|>final<|message|>",
    "<|channel|>commentary<|message|>",
    "<|channel|>answer<|message|>",
    f"<|channel|>final{GAP}<|message|>",
    f"<|channel|>commentary{GAP}<|message|>",
)
"""The headers with which gpt-oss begins an answer."""
FAMILIES = (
    _in_text("think", *tag("think"), ignored=("<|begin_of_box|>", "<|end_of_box|>")),
    _in_text("thinking", *tag("thinking"), attributes=True),
    _in_text("think-suffix", (f"<think:{SUFFIX}>",), (f"</think:{SUFFIX}>",)),
    _in_text("minimax", *tag("mm:think"), ignored=("[e~[",)),
    _in_text("seed", *tag("seed:think")),
    _in_text("mistral", *pair("[THINK]", "[/THINK]")),
    _in_text("kimi", *pair("◁think▷", "◁/think▷")),
    _in_text(
        "kimi-k3",
        ("<|open|>think<|sep|>",),
        (
            "<|close|>think<|sep|>",
            "<|close|>think<|open|>response<|sep|>",
            "<|open|>response<|sep|>",
            "<|close|>response<|sep|>",
        ),  # `response` opens the answer: it ends a thought whose own closer is missing
        torn=("<|open|>", "<|close|>"),
        ignored=(
            "<|open|>response<|sep|>",
            "<|close|>response<|sep|>",
            "<|close|>message<|sep|>",
            "<|end_of_msg|>",
        ),
    ),
    _in_text(
        "cohere",
        ("<|START_THINKING|>",),
        # TEXT and RESPONSE open the answer: they end a thought whose own closer is missing.
        ("<|END_THINKING|>", "<|START_TEXT|>", "<|START_RESPONSE|>"),
        ignored=(
            "<|START_TEXT|>",
            "<|END_TEXT|>",
            "<|START_RESPONSE|>",
            "<|END_RESPONSE|>",
            "<|END_OF_TURN_TOKEN|>",
        ),
    ),
    _in_text(
        "harmony",
        ("<|channel|>analysis<|message|>", f"<|channel|>analysis{GAP}<|message|>"),
        # The next header ends a thought too, because the model may leave `<|end|>` out. The bare
        # `<|start|>assistant` is for headers with other text behind it, such as a tool's name.
        ("<|end|>", "<|start|>assistant", *_ANSWERS, *(f"<|start|>{it}" for it in _ANSWERS)),
        # Not only complete headers are dropped, but also single tokens and pieces of headers: the
        # model sometimes writes a header wrongly, and its pieces must not stand in the answer.
        ignored=(
            "<|end|>",
            "<|start|>assistant",
            *_ANSWERS,
            *(f"<|start|>{it}" for it in _ANSWERS),
            "<|return|>",
            "<|channel|>commentary to=assistant",
            "<|start|>",
            "<|call|>",
        ),
        torn=("<|start|>", "<|channel|>"),
        # Behind ` to=NAME` the opener begins no thought: it belongs to the header of a call.
        not_behind=r"\bto=[\w.-]+\s*\Z",
    ),
    _in_text(
        "solar",
        *pair("<|think|>", "<|end|>"),
        ignored=("<|end|>", "<|begin|>assistant", "<|content|>", "<|flush|>"),
    ),
    _in_text("solar2", *pair("<|think:start|>", "<|think:end|>")),
    _in_text(
        "gemma",
        ("<|channel>",),
        ("<channel|>", "<|channel>response\n"),
        again=("<|channel>thought\n",),
        labels=("thought\n",),
        ignored=("<|channel>response\n", "<|channel>content\n", "<|channel>final\n", "<turn|>"),
        lone=Lone.NOTHING,
    ),
    _in_text("medgemma", *pair("<unused94>", "<unused95>"), labels=("thought\n",)),
    _in_text("apertus", *pair("<|inner_prefix|>", "<|inner_suffix|>")),
    _in_text("plamo", *pair("<|plamo:begin_think:plamo|>", "<|plamo:end_think:plamo|>")),
    _in_text(
        "inkling",
        ("<|content_thinking|>",),
        ("<|end_message|>", "<|content_text|>"),
        ignored=(
            "<|end_message|>",
            "<|content_text|>",
            f"<|message_model|>{SUFFIX}",  # SUFFIX is the recipient of the message
            "<|message_model|>",
            "<|content_model_end_sampling|>",
        ),
    ),
    _in_text(
        "openthoughts",
        *pair("<|begin_of_thought|>", "<|end_of_thought|>"),
        ignored=("<|begin_of_solution|>", "<|end_of_solution|>"),
    ),
    _in_text("ifm", *pair("<ifm|think>", "</ifm|think>")),
    _in_text("ifm-fast", *pair("<ifm|think_fast>", "</ifm|think_fast>")),
    _in_text("ifm-faster", *pair("<ifm|think_faster>", "</ifm|think_faster>")),
    _in_text("longcat", *tag("longcat_think")),
    _in_text("pangu", *pair("[unused16]", "[unused17]")),
    _in_text("budget", *tag("budget:thinking")),
    _in_text("reasoning_content", *tag("reasoning_content")),
    _in_text(
        "think-answer",
        *tag("think"),
        answer_tags=("<answer>", "</answer>"),
        model_pattern="hunyuan",
    ),
    _in_text(
        "think-response",
        *tag("think"),
        answer_tags=("<response>", "</response>"),
        model_pattern=r"granite-?3\.3|ernie",
    ),
    _in_text(
        "apriel",
        ("<thinking>",),
        ("</thinking>", "[BEGIN FINAL RESPONSE]"),
        attributes=True,
        ignored=("[BEGIN FINAL RESPONSE]", "[END FINAL RESPONSE]"),
        model_pattern="apriel",
    ),
    # This family is read only for models of this name, because some of its marks begin with a blank
    # or a letter: text must then be held at each blank of an answer.
    _in_text(
        "muse",
        (" to=self<|message|>", "to=self<|message|>"),
        ("<|eom|>", "<|start|>assistant"),
        shown=(" to=user<|message|>", "to=user<|message|>"),
        # The prompt ends with `<|start|>assistant`, so a reply begins with the rest of a header,
        # such as ` to=user<|message|>`.
        ignored=(
            "<|eom|>",
            "<|start|>assistant",
            f" to={SUFFIX}<|message|>",  # the header of the answer (to=user) or of a call
            f"to={SUFFIX}<|message|>",
            "<|message|>",
            "<|eot|>",
        ),
        model_pattern=r"\bmuse(?:\b|spark)|glimmer",
    ),
    _in_text(
        "reasoning", *tag("reasoning"), model_pattern=r"\bopenai\.gpt-oss|\bmoonshot(?:ai)?\.kimi"
    ),
    _in_text("thought", *tag("thought"), model_pattern="gemini|minimax|exaone-?deep"),
)
"""Families whose openers are tags or special tokens."""
WORD_FAMILIES = (
    _at_start(
        "granite",
        ("Here is my thought process:", "Here's my thought process:"),
        ("Here is my response:", "Here's my response:"),
        model_pattern=r"granite-?3\.2",
        lone=Lone.TEXT,
    ),
    _at_start(
        "apriel-phrase",
        *pair("Here are my reasoning steps:", "[BEGIN FINAL RESPONSE]"),
        # The prompt of Apriel 1.6 ends with the opener, so a reply begins in the thought. Behind
        # the answer the model writes `[END FINAL RESPONSE]`.
        ignored=("[END FINAL RESPONSE]",),
        model_pattern="apriel",
    ),
    _at_start(
        "gemma-words",
        *pair("thought\n", "<channel|>"),
        model_pattern=r"gemma-?4",
        lone=Lone.NOTHING,
    ),
    _at_start(
        "hyperclova",
        *pair("/think\n", "<|im_end|>\n<|im_start|>assistant\n"),
        ignored=("<|im_end|>",),
        model_pattern="hyperclova",
    ),
    _at_start(
        "harmony-words",
        ("analysis",),
        ("assistantfinal", "assistantcommentary"),
        model_pattern="gpt-?oss",
        lone=Lone.TEXT,
    ),
)
"""Families whose openers are words. They count only where a message begins (`Counts.AT_START`);
blanks may stand before them.
"""
TABLE = (*FAMILIES, *WORD_FAMILIES)
"""All families, except the one of phrases (`HEURISTIC`)."""
_LEADS = ("", "ok, ", "okay, ", "alright, ", "so ", "so, ")
"""The words that may stand before a closing phrase."""
_CLOSINGS = ("now i'll", "now i will", "let me proceed")
"""The phrases with which a model ends its thought and goes on to its answer."""
_STRUCTURE = ("# ", "## ", "### ", "#### ", "##### ", "###### ", "```", "~~~")
"""The beginnings of Markdown headings and fenced blocks."""
HEURISTIC = _at_paragraph(
    "heuristic",
    (
        f"{PARAGRAPH}let me think",
        f"{PARAGRAPH}i need to think",
        f"{PARAGRAPH}thinking:",
        f"{PARAGRAPH}my reasoning",
    ),
    (
        *(f"{SENTENCE}{lead}{closing}" for lead in _LEADS for closing in _CLOSINGS),
        *(f"{LINE}{head}" for head in _STRUCTURE),
    ),
    lone=Lone.TEXT,
)
"""A family of phrases, for models that do not mark their thoughts. The user must switch it on,
because it only guesses.

In doubt it takes a thought for text, because an answer that is hidden in a thought is lost. A
thought therefore begins only at the beginning of a paragraph. It ends at a closing phrase, which
may have a leading word ("okay, now I'll"), and before a heading or a fenced block, which stand in
answers and not in such thoughts.
"""
CLOSERS = tuple(dict.fromkeys(row.close for row in FAMILIES if row.close not in row.ignored))
"""The usual closer of each family of `FAMILIES`. A closer that is also an ignored mark of its
family (`<|end|>`) is left out, because it stands behind answers too.
"""
_ANY_CLOSER = "|".join(map(re.escape, sorted(CLOSERS, key=len, reverse=True)))
"""The pattern of one of `CLOSERS`, the longest first."""
_BLANKS_AND_CLOSERS = re.compile(rf"(?:\s++|{_ANY_CLOSER})*+")
"""The pattern of blanks and closers of thoughts, in any order."""


def behind_closers(text: str, offset: int) -> int:
    """Return the offset behind all blanks and closers of thoughts that stand at `offset`. Closers
    are skipped because a model that calls a tool in a thought may put the thought's closer anywhere
    in the call.
    """
    match = _BLANKS_AND_CLOSERS.match(text, offset)
    return match.end() if match else offset
