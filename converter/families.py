"""Which marks stand around thinking: one row per family of models.

Sources: the chat templates that llama.cpp ships, the parser registries of vLLM and SGLang, and the filter list of Open WebUI.
"""

from dataclasses import dataclass

SUFFIX = "SUFFIX"
"""In a row's marks, any word of 1 to 32 ASCII letters, digits, `_` and `-`; the closer repeats the opener's."""


@dataclass(frozen=True, slots=True)
class ThinkTags:
    """One family of marks.

    `swallowed`: special tokens beside thinking; outside code they are no text. `companion`: what an answer stands in; its opener
    goes directly behind a thought, its closer at the reply's end if the opener went. `asked`: a regular expression, models whose
    names it finds switch the row on. `prose`: an answer may say the marks and mean nothing by it. `attributes`: has forms with
    attributes. `at_head`: the opener counts only where a message begins. `lone`: a closer without an opener tells of a whole reply
    that it began inside a thought.
    """

    name: str
    open: str
    close: str
    models: str = ""
    also_open: tuple[str, ...] = ()
    also_close: tuple[str, ...] = ()
    swallowed: tuple[str, ...] = ()
    companion: tuple[str, str] | None = None
    asked: str = ""
    prose: bool = False
    attributes: bool = False
    at_head: bool = False
    lone: bool = True

    @property
    def openers(self) -> tuple[str, ...]:
        """All that begins a thought."""
        return (self.open, *self.also_open)

    @property
    def closers(self) -> tuple[str, ...]:
        """All that ends a thought of this family."""
        return (self.close, *self.also_close)


FAMILIES = (
    ThinkTags(
        "think", "<think>", "</think>", "DeepSeek, Qwen3, QwQ, GLM, MiniMax-M1/M2, Kimi-K2, Nemotron, SmolLM3, MiMo, Olmo 3 ..."
    ),
    ThinkTags("thinking", "<thinking>", "</thinking>", "Amazon Q, prompted agents", attributes=True),
    ThinkTags("think-suffix", f"<think:{SUFFIX}>", f"</think:{SUFFIX}>", "Hunyuan v3/v4, whose checkpoints name the suffix"),
    ThinkTags("minimax", "<mm:think>", "</mm:think>", "MiniMax-M3"),
    ThinkTags("seed", "<seed:think>", "</seed:think>", "Seed-OSS"),
    ThinkTags("mistral", "[THINK]", "[/THINK]", "Magistral, Ministral-3, Mistral Small 4"),
    ThinkTags("kimi", "◁think▷", "◁/think▷", "older Kimi thinking models"),
    ThinkTags(
        "kimi-k3",
        "<|open|>think<|sep|>",
        "<|close|>think<|sep|>",
        "Kimi-K3; the answer's marks may come without the thought's closer",
        also_close=("<|open|>response<|sep|>", "<|close|>response<|sep|>"),
        swallowed=("<|open|>response<|sep|>", "<|close|>response<|sep|>", "<|close|>message<|sep|>", "<|end_of_msg|>"),
    ),
    ThinkTags(
        "cohere",
        "<|START_THINKING|>",
        "<|END_THINKING|>",
        "Command-A reasoning",
        swallowed=("<|START_TEXT|>", "<|END_TEXT|>", "<|START_RESPONSE|>", "<|END_RESPONSE|>"),
    ),
    ThinkTags(
        "harmony",
        "<|channel|>analysis<|message|>",
        "<|end|>",
        "gpt-oss; with `<|end|>` left out, or a tool's name in the next header",
        also_close=("<|start|>assistant", "<|channel|>final<|message|>", "<|channel|>commentary<|message|>"),
        swallowed=(
            "<|end|>",
            "<|start|>assistant",
            "<|channel|>final<|message|>",
            "<|channel|>commentary<|message|>",
            "<|return|>",
        ),
    ),
    ThinkTags(
        "solar", "<|think|>", "<|end|>", "Solar Open", swallowed=("<|end|>", "<|begin|>assistant", "<|content|>", "<|flush|>")
    ),
    ThinkTags("gemma", "<|channel>thought\n", "<channel|>", "Gemma 4"),
    ThinkTags("apertus", "<|inner_prefix|>", "<|inner_suffix|>", "Apertus"),
    ThinkTags("plamo", "<|plamo:begin_think:plamo|>", "<|plamo:end_think:plamo|>", "PLaMo 3"),
    ThinkTags(
        "inkling",
        "<|content_thinking|>",
        "<|end_message|>",
        "Inkling",
        also_close=("<|content_text|>",),
        swallowed=("<|end_message|>", "<|content_text|>", "<|message_model|>", "<|content_model_end_sampling|>"),
    ),
    ThinkTags(
        "openthoughts",
        "<|begin_of_thought|>",
        "<|end_of_thought|>",
        "OpenThoughts, Sky-T1",
        swallowed=("<|begin_of_solution|>", "<|end_of_solution|>"),
    ),
    ThinkTags("ifm", "<ifm|think>", "</ifm|think>", "K2-Horizon"),
    ThinkTags("ifm-fast", "<ifm|think_fast>", "</ifm|think_fast>", "K2-Horizon, low effort"),
    ThinkTags("ifm-faster", "<ifm|think_faster>", "</ifm|think_faster>", "K2-Horizon, lowest effort"),
    ThinkTags("budget", "<budget:thinking>", "</budget:thinking>", "gateways"),
    ThinkTags("reasoning_content", "<reasoning_content>", "</reasoning_content>", "models prompted to write it"),
    ThinkTags(
        "think-answer",
        "<think>",
        "</think>",
        "Hunyuan-A13B",
        companion=("<answer>", "</answer>"),
        asked="hunyuan",
        prose=True,
    ),
    ThinkTags(
        "think-response",
        "<think>",
        "</think>",
        "Granite 3.3, Ernie 4.5",
        companion=("<response>", "</response>"),
        asked=r"granite-?3\.3|ernie",
        prose=True,
    ),
    ThinkTags(
        "apriel",
        "<thinking>",
        "</thinking>",
        "Apriel 1.5",
        also_close=("[BEGIN FINAL RESPONSE]",),
        swallowed=("[BEGIN FINAL RESPONSE]", "[END FINAL RESPONSE]"),
        asked="apriel",
        prose=True,
        attributes=True,
    ),
    ThinkTags(  # not for everyone: a mark that begins with a blank or a letter would hold back words of any answer
        "muse",
        " to=self<|message|>",
        "<|eom|>",
        "Muse Glimmer; its prompt ends behind `<|start|>assistant`",
        also_open=("to=self<|message|>",),
        also_close=("<|start|>assistant",),
        swallowed=("<|eom|>", "<|start|>assistant", " to=user<|message|>", "to=user<|message|>", "<|eot|>"),
        asked=r"\bmuse\b|glimmer",
        prose=True,
    ),
    ThinkTags(
        "reasoning",
        "<reasoning>",
        "</reasoning>",
        "Kimi-K2 and gpt-oss behind Bedrock, fine-tunes",
        asked=r"\bopenai\.gpt-oss|\bmoonshot(?:ai)?\.kimi",
        prose=True,
    ),
    ThinkTags("reason", "<reason>", "</reason>", "fine-tunes", prose=True),
    ThinkTags(
        "thought",
        "<thought>",
        "</thought>",
        "Gemini and MiniMax behind gateways, old fine-tunes",
        asked="gemini|minimax",
        prose=True,
    ),
    ThinkTags("Thought", "<Thought>", "</Thought>", "old fine-tunes", prose=True),
)
PHRASES = (
    ThinkTags(
        "granite",
        "Here is my thought process:",
        "Here is my response:",
        "Granite 3.2",
        also_open=("Here's my thought process:",),
        also_close=("Here's my response:",),
        asked=r"granite-?3\.2",
        prose=True,
        at_head=True,
        lone=False,
    ),
    ThinkTags(
        "apriel-phrase",
        "Here are my reasoning steps:",
        "[BEGIN FINAL RESPONSE]",
        "Apriel 1.5 and 1.6; the template of 1.6 has said the opener",
        swallowed=("[END FINAL RESPONSE]",),
        asked="apriel",
        prose=True,
        at_head=True,
    ),
    ThinkTags(
        "harmony-words",
        "analysis",
        "assistantfinal",
        "gpt-oss whose special tokens were left out: `analysis...assistantfinal...`",
        also_close=("assistantcommentary",),
        asked="gpt-?oss",
        prose=True,
        at_head=True,
        lone=False,
    ),
)
"""Families whose openers are words: they count only where a message begins, nothing but blanks before them."""
TABLE = (*FAMILIES, *PHRASES)
