"""The table of marks around thinking, a row for each family of models.

The sources are the chat templates that llama.cpp ships, the parsers of vLLM and SGLang, and the
filter list of Open WebUI.
"""

import re
from functools import partial

from converter.core.reading.rows import GAP, LINE, PARAGRAPH, SENTENCE, SUFFIX, Counts, pair, tag
from converter.core.reading.thought_row import PLAIN, Lone, ThoughtBody, ThoughtRow

# Functions that make a row. Each sets the positions at which the row's openers count (`Counts`).
_in_text = partial(ThoughtRow, counts=Counts.IN_TEXT)
_at_start = partial(ThoughtRow, counts=Counts.AT_START)
_at_paragraph = partial(ThoughtRow, counts=Counts.AT_PARAGRAPH)
_ANSWERS = (
    "<|channel|>final<|message|>",
    "<|channel|>commentary<|message|>",
    "<|channel|>answer<|message|>",
    f"<|channel|>final{GAP}<|message|>",
    f"<|channel|>commentary{GAP}<|message|>",
)
FAMILIES = (
    _in_text(
        "think",
        PLAIN,
        *tag("think"),
        models="DeepSeek, Qwen3, QwQ, GLM, MiniMax-M1/M2, Kimi-K2, Nemotron, SmolLM3, MiMo, "
        "Olmo 3 ...",
        ignored=("<|begin_of_box|>", "<|end_of_box|>"),
    ),
    _in_text(
        "thinking",
        ThoughtBody(attributes=True),
        *tag("thinking"),
        models="Amazon Q, prompted agents",
    ),
    _in_text(
        "think-suffix",
        PLAIN,
        (f"<think:{SUFFIX}>",),
        (f"</think:{SUFFIX}>",),
        models="Hunyuan v3/v4",  # the suffix depends on the checkpoint
    ),
    _in_text("minimax", PLAIN, *tag("mm:think"), models="MiniMax-M3", ignored=("[e~[",)),
    _in_text("seed", PLAIN, *tag("seed:think"), models="Seed-OSS"),
    _in_text(
        "mistral",
        PLAIN,
        *pair("[THINK]", "[/THINK]"),
        models="Magistral, Ministral-3, Mistral Small 4",
    ),
    _in_text("kimi", PLAIN, *pair("◁think▷", "◁/think▷"), models="older Kimi thinking models"),
    _in_text(
        "kimi-k3",
        PLAIN,
        ("<|open|>think<|sep|>",),
        (
            "<|close|>think<|sep|>",
            "<|close|>think<|open|>response<|sep|>",
            "<|open|>response<|sep|>",
            "<|close|>response<|sep|>",
        ),
        models="Kimi-K3",  # the answer's opener may come without the thought's closer
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
        PLAIN,
        ("<|START_THINKING|>",),
        ("<|END_THINKING|>", "<|START_TEXT|>", "<|START_RESPONSE|>"),
        models="Command-A reasoning",  # the answer's opener may come without the thought's closer
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
        PLAIN,
        ("<|channel|>analysis<|message|>", f"<|channel|>analysis{GAP}<|message|>"),
        ("<|end|>", "<|start|>assistant", *_ANSWERS, *(f"<|start|>{it}" for it in _ANSWERS)),
        # The model may leave `<|end|>` out, or write a tool's name into the next header.
        models="gpt-oss",
        # Whole headers of answers first, then pieces of broken headers.
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
        not_behind=r"\bto=[\w.-]+\s*\Z",  # behind a recipient the header is that of a call
    ),
    _in_text(
        "solar",
        PLAIN,
        *pair("<|think|>", "<|end|>"),
        models="Solar Open",
        ignored=("<|end|>", "<|begin|>assistant", "<|content|>", "<|flush|>"),
    ),
    _in_text("solar2", PLAIN, *pair("<|think:start|>", "<|think:end|>"), models="Solar Open 2"),
    _in_text(
        "gemma",
        ThoughtBody(again=("<|channel>thought\n",), labels=("thought\n",)),
        ("<|channel>",),
        ("<channel|>", "<|channel>response\n"),
        models="Gemma 4",  # the channel's name `thought` and a line break may follow
        ignored=("<|channel>response\n", "<|channel>content\n", "<|channel>final\n", "<turn|>"),
        lone=Lone.NOTHING,
    ),
    _in_text(
        "medgemma",
        ThoughtBody(labels=("thought\n",)),
        *pair("<unused94>", "<unused95>"),
        models="MedGemma",  # the word `thought` and a line break may follow
    ),
    _in_text("apertus", PLAIN, *pair("<|inner_prefix|>", "<|inner_suffix|>"), models="Apertus"),
    _in_text(
        "plamo",
        PLAIN,
        *pair("<|plamo:begin_think:plamo|>", "<|plamo:end_think:plamo|>"),
        models="PLaMo 3",
    ),
    _in_text(
        "inkling",
        PLAIN,
        ("<|content_thinking|>",),
        ("<|end_message|>", "<|content_text|>"),
        models="Inkling",
        ignored=(
            "<|end_message|>",
            "<|content_text|>",
            f"<|message_model|>{SUFFIX}",  # the suffix is the recipient
            "<|message_model|>",
            "<|content_model_end_sampling|>",
        ),
    ),
    _in_text(
        "openthoughts",
        PLAIN,
        *pair("<|begin_of_thought|>", "<|end_of_thought|>"),
        models="OpenThoughts, Sky-T1",
        ignored=("<|begin_of_solution|>", "<|end_of_solution|>"),
    ),
    _in_text("ifm", PLAIN, *pair("<ifm|think>", "</ifm|think>"), models="K2-Horizon"),
    _in_text(
        "ifm-fast",
        PLAIN,
        *pair("<ifm|think_fast>", "</ifm|think_fast>"),
        models="K2-Horizon, low effort",
    ),
    _in_text(
        "ifm-faster",
        PLAIN,
        *pair("<ifm|think_faster>", "</ifm|think_faster>"),
        models="K2-Horizon, lowest effort",
    ),
    _in_text("longcat", PLAIN, *tag("longcat_think"), models="LongCat"),
    _in_text("pangu", PLAIN, *pair("[unused16]", "[unused17]"), models="openPangu Embedded"),
    _in_text("budget", PLAIN, *tag("budget:thinking"), models="gateways"),
    _in_text(
        "reasoning_content", PLAIN, *tag("reasoning_content"), models="models prompted to write it"
    ),
    _in_text(
        "think-answer",
        PLAIN,
        *tag("think"),
        models="Hunyuan-A13B",
        answer_tags=("<answer>", "</answer>"),
        model_pattern="hunyuan",
    ),
    _in_text(
        "think-response",
        PLAIN,
        *tag("think"),
        models="Granite 3.3, Ernie 4.5",
        answer_tags=("<response>", "</response>"),
        model_pattern=r"granite-?3\.3|ernie",
    ),
    _in_text(
        "apriel",
        ThoughtBody(attributes=True),
        ("<thinking>",),
        ("</thinking>", "[BEGIN FINAL RESPONSE]"),
        models="Apriel 1.5",
        ignored=("[BEGIN FINAL RESPONSE]", "[END FINAL RESPONSE]"),
        model_pattern="apriel",
    ),
    # Only for models of this name: a mark that begins with a blank or a letter makes text wait at
    # every blank, in any answer.
    _in_text(
        "muse",
        ThoughtBody(shown=(" to=user<|message|>", "to=user<|message|>")),
        (" to=self<|message|>", "to=self<|message|>"),
        ("<|eom|>", "<|start|>assistant"),
        models="Muse Glimmer, Muse Spark",  # its prompt ends behind `<|start|>assistant`
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
        "reasoning",
        PLAIN,
        *tag("reasoning"),
        models="Kimi-K2 and gpt-oss behind Bedrock, fine-tunes",
        model_pattern=r"\bopenai\.gpt-oss|\bmoonshot(?:ai)?\.kimi",
    ),
    _in_text(
        "thought",
        PLAIN,
        *tag("thought"),
        models="EXAONE Deep, Gemini and MiniMax behind gateways, old fine-tunes",
        model_pattern="gemini|minimax|exaone-?deep",
    ),
)
WORD_FAMILIES = (
    _at_start(
        "granite",
        PLAIN,
        ("Here is my thought process:", "Here's my thought process:"),
        ("Here is my response:", "Here's my response:"),
        models="Granite 3.2",
        model_pattern=r"granite-?3\.2",
        lone=Lone.TEXT,
    ),
    _at_start(
        "apriel-phrase",
        PLAIN,
        *pair("Here are my reasoning steps:", "[BEGIN FINAL RESPONSE]"),
        models="Apriel 1.5 and 1.6",  # the chat template of 1.6 ends with the opener
        ignored=("[END FINAL RESPONSE]",),
        model_pattern="apriel",
    ),
    _at_start(
        "gemma-words",
        PLAIN,
        *pair("thought\n", "<channel|>"),
        models="Gemma 4 whose `<|channel>` was left out",
        model_pattern=r"gemma-?4",
        lone=Lone.NOTHING,
    ),
    _at_start(
        "hyperclova",
        PLAIN,
        *pair("/think\n", "<|im_end|>\n<|im_start|>assistant\n"),
        models="HyperCLOVA X SEED Think 14B",
        ignored=("<|im_end|>",),
        model_pattern="hyperclova",
    ),
    _at_start(
        "harmony-words",
        PLAIN,
        ("analysis",),
        ("assistantfinal", "assistantcommentary"),
        models="gpt-oss whose special tokens were left out",
        model_pattern="gpt-?oss",
        lone=Lone.TEXT,
    ),
)
"""Families whose openers are words. They count only at the beginning of a message; blanks may stand
before them.
"""
TABLE = (*FAMILIES, *WORD_FAMILIES)
_LEADS = ("", "ok, ", "okay, ", "alright, ", "so ", "so, ")
_CLOSINGS = ("now i'll", "now i will", "let me proceed")
_STRUCTURE = ("# ", "## ", "### ", "#### ", "##### ", "###### ", "```", "~~~")
HEURISTIC = _at_paragraph(
    "heuristic",
    PLAIN,
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
    models="those that mark their thoughts with phrases alone",
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
"""The usual closer of each family. A closer that is also an ignored mark of its family is left out.
"""
_SILENT = "|".join(map(re.escape, sorted(CLOSERS, key=len, reverse=True)))
_BLANKS_AND_CLOSERS = re.compile(rf"(?:\s++|{_SILENT})*+")


def behind_closers(text: str, offset: int) -> int:
    """Return the offset behind all blanks and closers of thoughts that begin at `offset`. Models
    that call a tool in a thought may put a closer anywhere in the call.
    """
    match = _BLANKS_AND_CLOSERS.match(text, offset)
    return match.end() if match else offset
