"""The marks around a tool call that a model writes into its text: one row a form.

An opener ends a thought that has no closer, because models leave the closer out before they call:
vLLM, SGLang, llama.cpp and Ollama agree. What stands between the marks is the call's, and no tag is
looked for in it. `[TOOL_CALLS]` has no row: inside `[THINK]` it stays thinking, as in llama.cpp.

A mark that prose may say counts only where a call goes on behind it. Models that think about their
own marks write them in code, in quotes, or as words of a sentence: `I would begin with <tool_call>
and a name.` Special tokens are never prose.
"""

import enum
import re
from dataclasses import dataclass

_QUOTES = "\"'`“‘«‹„「『(["
_CLAUSE_ENDS = ",;"
BEFORE_LIMIT = 64
"""Characters before a mark that tell where it stands."""
_BLANKS_LIMIT = 64
"""Characters of blanks behind a mark, or of a tool's name, that are waited through."""
_NAME = rf"\w[\w.-]{{0,{_BLANKS_LIMIT}}}+"
_GAP = rf"\s{{0,{_BLANKS_LIMIT}}}+"
_CALL = re.compile(rf"{_GAP}(?:[\[{{]|<[^/])|{_NAME}{_GAP}(?:[\[{{(]|<[^/])|{_NAME}[^\S\n]*+\n")
"""Arguments, an inner tag, or a name with either behind it."""
_CALL_AT_BREAK = re.compile(rf"(?:(?=[^\S\n]*\n){_GAP})?+\w")
"""A name, where the mark stands at a break."""
_UNDECIDED = re.compile(rf"(?:{_GAP}|{_NAME}{_GAP})<?\Z")


@dataclass(frozen=True, slots=True)
class ToolMarks:
    """The marks of one form.

    `ambiguous_in_prose`: an answer or a thought may say the opener and mean nothing by it.
    `only_offered`: the opener counts only where the request offers tools.
    """

    open: str
    close: str
    models: str
    ambiguous_in_prose: bool = False
    only_offered: bool = False


TOOL_MARKS = (
    ToolMarks("<tool_call>", "</tool_call>", "Qwen, GLM, Nemotron 3, Laguna, Hermes ...", True),
    ToolMarks("<tool_calls>", "</tool_calls>", "Hunyuan, Apriel, MiniMax-M1", True),
    ToolMarks("<minimax:tool_call>", "</minimax:tool_call>", "MiniMax-M2", True),
    ToolMarks("<seed:tool_call>", "</seed:tool_call>", "Seed-OSS", True),
    ToolMarks("<TOOLCALL>", "</TOOLCALL>", "Nemotron Nano v2", True, True),
    ToolMarks("<function_calls>", "</function_calls>", "Olmo 3, fine-tunes", True, True),
    ToolMarks("<|tool_calls_section_begin|>", "<|tool_calls_section_end|>", "Kimi-K2"),
    ToolMarks("<|tool_call_begin|>", "<|tool_call_end|>", "Kimi-K2 without a section"),
    ToolMarks("<|open|>tools<|sep|>", "<|close|>tools<|sep|>", "Kimi-K3"),
    ToolMarks("<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>", "DeepSeek V3, R1, V3.1, Cogito"),
    ToolMarks("<｜DSML｜function_calls>", "</｜DSML｜function_calls>", "DeepSeek V3.2"),
    ToolMarks("<｜DSML｜tool_calls>", "</｜DSML｜tool_calls>", "DeepSeek V4"),
    ToolMarks("<ifm|tool_calls>", "</ifm|tool_calls>", "K2-Horizon"),
    ToolMarks("<ifm|tool_call>", "</ifm|tool_call>", "K2-Horizon without a section"),
    ToolMarks("<|tool_call>", "<tool_call|>", "Gemma 4"),
    ToolMarks("<|START_ACTION|>", "<|END_ACTION|>", "Command-R7B, Command-A"),
    ToolMarks("<|tool_call_start|>", "<|tool_call_end|>", "LFM2"),
    ToolMarks("<|tools_prefix|>", "<|tools_suffix|>", "Apertus"),
    ToolMarks("<|channel|>commentary to=functions", "<|call|>", "gpt-oss"),
    ToolMarks("<|channel|>analysis to=functions", "<|call|>", "gpt-oss"),
    ToolMarks("<|start|>assistant to=functions", "<|call|>", "gpt-oss"),
)


class Place(enum.Enum):
    """The place of a mark that prose may say."""

    AT_BREAK = enum.auto()  # at a line's head, or with no blank behind other words
    BEHIND_SENTENCE = enum.auto()
    IN_SENTENCE = enum.auto()  # a word and a blank before it
    QUOTED = enum.auto()


BY_OPENER = {row.open: row for row in TOOL_MARKS}


def openers_in_thought(offered: bool) -> tuple[str, ...]:
    """Return the marks that end a thought. `offered`: the request offers tools."""
    return tuple(row.open for row in TOOL_MARKS if offered or not row.only_offered)


def where(before: str) -> Place:
    """Tell where a mark stands. `before`: the end of what came since the last mark."""
    line = before.rpartition("\n")[2]
    words = line.rstrip()
    last = words[-1:]
    if not words or words == line:
        return Place.QUOTED if words and last in _QUOTES else Place.AT_BREAK
    return Place.IN_SENTENCE if last.isalnum() or last in _CLAUSE_ENDS else Place.BEHIND_SENTENCE


def begins_call(before: str, behind: str, last: bool) -> bool | None:
    """Tell whether a mark that prose may say begins a call; None: more text must tell.

    `behind`: what has come of the text behind it. `last`: no more will.
    """
    place = where(before)
    if place in (Place.QUOTED, Place.IN_SENTENCE):
        return False
    at_break = place is Place.AT_BREAK
    if _CALL.match(behind) or (at_break and _CALL_AT_BREAK.match(behind)):
        return True
    if _UNDECIDED.match(behind):
        return at_break if last else None
    return False
