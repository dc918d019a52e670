"""The marks that stand around thinking: one row per family of models.

Sources: the chat templates that llama.cpp ships, the parser registries of vLLM and SGLang, and the
filter list of Open WebUI.
"""

from dataclasses import dataclass

SUFFIX = "SUFFIX"
"""In a row's marks, any word of 1 to 32 ASCII letters, digits, `_` and `-`; the closer repeats the
opener's.
"""
GAP = "…"
"""In a row's marks, what models write between a header's first word and its last token: up to 48
characters, `<|constrain|>`, 48 more. It names no recipient, because that is a call's header.
"""


@dataclass(frozen=True, slots=True)
class ThinkTags:
    """One family of marks: a row.

    `ignored`: special tokens beside thinking; outside code they are no text. `again`: openers that
    say nothing when they come once more in a thought. `labels`: lines that may stand first in a
    thought and name its kind. `torn`: special tokens that begin marks of
    several tokens; a reply cut off within such a mark does not show what came of it. `answer_tags`:
    what an answer stands in; its opener goes directly behind a thought, its closer at the reply's
    end if the opener went. `model_pattern`: a regular expression, models whose names it finds
    switch the row on. `ambiguous_in_prose`: an answer may say the marks and mean nothing by it.
    `attributes`: has forms with attributes. `only_at_start`: the opener counts only where a message
    begins. `bare_close_means_thinking`: a closer without an opener tells of a whole reply that it
    began inside a thought. `unmatched_close_is_text`: one in a text is shown. `not_behind`: a
    regular expression, behind words that it finds the openers are text.
    """

    name: str
    open: str
    close: str
    models: str = ""
    also_open: tuple[str, ...] = ()
    also_close: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    again: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    torn: tuple[str, ...] = ()
    answer_tags: tuple[str, str] | None = None
    model_pattern: str = ""
    ambiguous_in_prose: bool = False
    attributes: bool = False
    only_at_start: bool = False
    bare_close_means_thinking: bool = True
    unmatched_close_is_text: bool = True
    not_behind: str = ""

    def __hash__(self) -> int:
        """Return a number by the name: caches look families up for each reply."""
        return hash(self.name)

    @property
    def openers(self) -> tuple[str, ...]:
        """All that begins a thought."""
        return (self.open, *self.also_open)

    @property
    def closers(self) -> tuple[str, ...]:
        """All that ends a thought of this family."""
        return (self.close, *self.also_close)


_ANSWERS = (
    "<|channel|>final<|message|>",
    "<|channel|>commentary<|message|>",
    "<|channel|>answer<|message|>",
    f"<|channel|>final{GAP}<|message|>",
    f"<|channel|>commentary{GAP}<|message|>",
)
FAMILIES = (
    ThinkTags(
        "think",
        "<think>",
        "</think>",
        "DeepSeek, Qwen3, QwQ, GLM, MiniMax-M1/M2, Kimi-K2, Nemotron, SmolLM3, MiMo, Olmo 3 ...",
        ignored=("<|begin_of_box|>", "<|end_of_box|>"),
    ),
    ThinkTags(
        "thinking", "<thinking>", "</thinking>", "Amazon Q, prompted agents", attributes=True
    ),
    ThinkTags(
        "think-suffix",
        f"<think:{SUFFIX}>",
        f"</think:{SUFFIX}>",
        "Hunyuan v3/v4, whose checkpoints name the suffix",
    ),
    ThinkTags("minimax", "<mm:think>", "</mm:think>", "MiniMax-M3", ignored=("[e~[",)),
    ThinkTags("seed", "<seed:think>", "</seed:think>", "Seed-OSS"),
    ThinkTags("mistral", "[THINK]", "[/THINK]", "Magistral, Ministral-3, Mistral Small 4"),
    ThinkTags("kimi", "◁think▷", "◁/think▷", "older Kimi thinking models"),
    ThinkTags(
        "kimi-k3",
        "<|open|>think<|sep|>",
        "<|close|>think<|sep|>",
        "Kimi-K3; the answer's marks may come without the thought's closer",
        also_close=(
            "<|close|>think<|open|>response<|sep|>",
            "<|open|>response<|sep|>",
            "<|close|>response<|sep|>",
        ),
        torn=("<|open|>", "<|close|>"),
        ignored=(
            "<|open|>response<|sep|>",
            "<|close|>response<|sep|>",
            "<|close|>message<|sep|>",
            "<|end_of_msg|>",
        ),
    ),
    ThinkTags(
        "cohere",
        "<|START_THINKING|>",
        "<|END_THINKING|>",
        "Command-A reasoning; the answer's marks may come without the thought's closer",
        also_close=("<|START_TEXT|>", "<|START_RESPONSE|>"),
        ignored=(
            "<|START_TEXT|>",
            "<|END_TEXT|>",
            "<|START_RESPONSE|>",
            "<|END_RESPONSE|>",
            "<|END_OF_TURN_TOKEN|>",
        ),
    ),
    ThinkTags(
        "harmony",
        "<|channel|>analysis<|message|>",
        "<|end|>",
        "gpt-oss; with `<|end|>` left out, or a tool's name in the next header",
        also_open=(f"<|channel|>analysis{GAP}<|message|>",),
        also_close=("<|start|>assistant", *_ANSWERS),
        # headers as they should be, then the rests of broken ones
        ignored=(
            "<|end|>",
            "<|start|>assistant",
            *_ANSWERS,
            "<|return|>",
            "<|channel|>commentary to=assistant",
            "<|start|>",
            "<|call|>",
        ),
        torn=("<|start|>", "<|channel|>"),
        not_behind=r"\bto=[\w.-]+\s*\Z",  # a recipient: the header is a call's
    ),
    ThinkTags(
        "solar",
        "<|think|>",
        "<|end|>",
        "Solar Open",
        ignored=("<|end|>", "<|begin|>assistant", "<|content|>", "<|flush|>"),
    ),
    ThinkTags("solar2", "<|think:start|>", "<|think:end|>", "Solar Open 2"),
    ThinkTags(
        "gemma",
        "<|channel>",
        "<channel|>",
        "Gemma 4; the channel's name `thought` and a line break may follow",
        also_close=("<|channel>response\n",),
        ignored=("<|channel>response\n", "<turn|>"),
        again=("<|channel>thought\n",),
        labels=("thought\n",),
        unmatched_close_is_text=False,
    ),
    ThinkTags(
        "medgemma",
        "<unused94>",
        "<unused95>",
        "MedGemma; the word `thought` and a line break may follow",
        labels=("thought\n",),
    ),
    ThinkTags("apertus", "<|inner_prefix|>", "<|inner_suffix|>", "Apertus"),
    ThinkTags("plamo", "<|plamo:begin_think:plamo|>", "<|plamo:end_think:plamo|>", "PLaMo 3"),
    ThinkTags(
        "inkling",
        "<|content_thinking|>",
        "<|end_message|>",
        "Inkling",
        also_close=("<|content_text|>",),
        ignored=(
            "<|end_message|>",
            "<|content_text|>",
            "<|message_model|>",
            "<|content_model_end_sampling|>",
        ),
    ),
    ThinkTags(
        "openthoughts",
        "<|begin_of_thought|>",
        "<|end_of_thought|>",
        "OpenThoughts, Sky-T1",
        ignored=("<|begin_of_solution|>", "<|end_of_solution|>"),
    ),
    ThinkTags("ifm", "<ifm|think>", "</ifm|think>", "K2-Horizon"),
    ThinkTags("ifm-fast", "<ifm|think_fast>", "</ifm|think_fast>", "K2-Horizon, low effort"),
    ThinkTags(
        "ifm-faster", "<ifm|think_faster>", "</ifm|think_faster>", "K2-Horizon, lowest effort"
    ),
    ThinkTags("longcat", "<longcat_think>", "</longcat_think>", "LongCat"),
    ThinkTags("pangu", "[unused16]", "[unused17]", "openPangu Embedded"),
    ThinkTags("budget", "<budget:thinking>", "</budget:thinking>", "gateways"),
    ThinkTags(
        "reasoning_content",
        "<reasoning_content>",
        "</reasoning_content>",
        "models prompted to write it",
    ),
    ThinkTags(
        "think-answer",
        "<think>",
        "</think>",
        "Hunyuan-A13B",
        answer_tags=("<answer>", "</answer>"),
        model_pattern="hunyuan",
        ambiguous_in_prose=True,
    ),
    ThinkTags(
        "think-response",
        "<think>",
        "</think>",
        "Granite 3.3, Ernie 4.5",
        answer_tags=("<response>", "</response>"),
        model_pattern=r"granite-?3\.3|ernie",
        ambiguous_in_prose=True,
    ),
    ThinkTags(
        "apriel",
        "<thinking>",
        "</thinking>",
        "Apriel 1.5",
        also_close=("[BEGIN FINAL RESPONSE]",),
        ignored=("[BEGIN FINAL RESPONSE]", "[END FINAL RESPONSE]"),
        model_pattern="apriel",
        ambiguous_in_prose=True,
        attributes=True,
    ),
    # not for all: a mark that begins with a blank or a letter would hold back words of any
    # answer
    ThinkTags(
        "muse",
        " to=self<|message|>",
        "<|eom|>",
        "Muse Glimmer; its prompt ends behind `<|start|>assistant`",
        also_open=("to=self<|message|>",),
        also_close=("<|start|>assistant",),
        ignored=(
            "<|eom|>",
            "<|start|>assistant",
            f" to={SUFFIX}<|message|>",  # of the answer, to=user, or of a call
            f"to={SUFFIX}<|message|>",
            "<|eot|>",
        ),
        model_pattern=r"\bmuse\b|glimmer",
        ambiguous_in_prose=True,
    ),
    ThinkTags(
        "reasoning",
        "<reasoning>",
        "</reasoning>",
        "Kimi-K2 and gpt-oss behind Bedrock, fine-tunes",
        model_pattern=r"\bopenai\.gpt-oss|\bmoonshot(?:ai)?\.kimi",
        ambiguous_in_prose=True,
    ),
    ThinkTags("reason", "<reason>", "</reason>", "fine-tunes", ambiguous_in_prose=True),
    ThinkTags(
        "thought",
        "<thought>",
        "</thought>",
        "EXAONE Deep, Gemini and MiniMax behind gateways, old fine-tunes",
        model_pattern="gemini|minimax|exaone-?deep",
        ambiguous_in_prose=True,
    ),
    ThinkTags("Thought", "<Thought>", "</Thought>", "old fine-tunes", ambiguous_in_prose=True),
)
PHRASES = (
    ThinkTags(
        "granite",
        "Here is my thought process:",
        "Here is my response:",
        "Granite 3.2",
        also_open=("Here's my thought process:",),
        also_close=("Here's my response:",),
        model_pattern=r"granite-?3\.2",
        ambiguous_in_prose=True,
        only_at_start=True,
        bare_close_means_thinking=False,
    ),
    ThinkTags(
        "apriel-phrase",
        "Here are my reasoning steps:",
        "[BEGIN FINAL RESPONSE]",
        "Apriel 1.5 and 1.6; the template of 1.6 has said the opener",
        ignored=("[END FINAL RESPONSE]",),
        model_pattern="apriel",
        ambiguous_in_prose=True,
        only_at_start=True,
    ),
    ThinkTags(
        "gemma-words",
        "thought\n",
        "<channel|>",
        "Gemma 4 whose `<|channel>` was left out",
        model_pattern=r"gemma-?4",
        ambiguous_in_prose=True,
        only_at_start=True,
        unmatched_close_is_text=False,
    ),
    ThinkTags(
        "hyperclova",
        "/think\n",
        "<|im_end|>\n<|im_start|>assistant\n",
        "HyperCLOVA X SEED Think 14B",
        ignored=("<|im_end|>",),
        model_pattern="hyperclova",
        ambiguous_in_prose=True,
        only_at_start=True,
    ),
    ThinkTags(
        "harmony-words",
        "analysis",
        "assistantfinal",
        "gpt-oss whose special tokens were left out: `analysis...assistantfinal...`",
        also_close=("assistantcommentary",),
        model_pattern="gpt-?oss",
        ambiguous_in_prose=True,
        only_at_start=True,
        bare_close_means_thinking=False,
    ),
)
"""Families whose openers are words: they count only where a message begins, nothing but blanks
before them.
"""
TABLE = (*FAMILIES, *PHRASES)
CLOSERS = tuple(dict.fromkeys(row.close for row in FAMILIES if not {row.close} & set(row.ignored)))
"""The closers that are no marks of anything else."""
