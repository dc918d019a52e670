"""Which marks stand around thinking: one row per family, and the sets of rows that a parser looks for.

Sources: the chat templates that llama.cpp ships, the parser registries of vLLM and SGLang, and the filter list of Open WebUI.
"""

import itertools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache


@dataclass(frozen=True, slots=True)
class ThinkTags:
    """One family of marks. `prose`: an answer may say them and mean nothing by it. `attributes`: has forms with attributes."""

    name: str
    open: str
    close: str
    models: str = ""
    prose: bool = False
    attributes: bool = False


FAMILIES = (
    ThinkTags(
        "think", "<think>", "</think>", "DeepSeek, Qwen3, QwQ, GLM, MiniMax-M1/M2, Kimi-K2, Nemotron, SmolLM3, MiMo, Olmo 3 ..."
    ),
    ThinkTags("thinking", "<thinking>", "</thinking>", "Apriel, Amazon Q, prompted agents", attributes=True),
    ThinkTags("minimax", "<mm:think>", "</mm:think>", "MiniMax-M3"),
    ThinkTags("seed", "<seed:think>", "</seed:think>", "Seed-OSS"),
    ThinkTags("mistral", "[THINK]", "[/THINK]", "Magistral, Ministral-3, Mistral Small 4"),
    ThinkTags("kimi", "◁think▷", "◁/think▷", "older Kimi thinking models"),
    ThinkTags("cohere", "<|START_THINKING|>", "<|END_THINKING|>", "Command-A reasoning"),
    ThinkTags("gemma", "<|channel>thought\n", "<channel|>", "Gemma 4"),
    ThinkTags("apertus", "<|inner_prefix|>", "<|inner_suffix|>", "Apertus"),
    ThinkTags("plamo", "<|plamo:begin_think:plamo|>", "<|plamo:end_think:plamo|>", "PLaMo 3"),
    ThinkTags("openthoughts", "<|begin_of_thought|>", "<|end_of_thought|>", "OpenThoughts, Sky-T1"),
    ThinkTags("ifm", "<ifm|think>", "</ifm|think>", "K2-Horizon"),
    ThinkTags("ifm-fast", "<ifm|think_fast>", "</ifm|think_fast>", "K2-Horizon, low effort"),
    ThinkTags("ifm-faster", "<ifm|think_faster>", "</ifm|think_faster>", "K2-Horizon, lowest effort"),
    ThinkTags("budget", "<budget:thinking>", "</budget:thinking>", "gateways"),
    ThinkTags("reasoning_content", "<reasoning_content>", "</reasoning_content>", "models prompted to write it"),
    ThinkTags("reasoning", "<reasoning>", "</reasoning>", "Kimi-K2 and gpt-oss behind Bedrock, fine-tunes", prose=True),
    ThinkTags("reason", "<reason>", "</reason>", "fine-tunes", prose=True),
    ThinkTags("thought", "<thought>", "</thought>", "Gemini behind gateways, old fine-tunes", prose=True),
    ThinkTags("Thought", "<Thought>", "</Thought>", "old fine-tunes", prose=True),
)
AUTO = "auto"
_BY_NAME = {family.name: family for family in FAMILIES}
_ATTRIBUTE_BLANKS = " \t\r\n"


def choose(names: Sequence[str]) -> tuple[ThinkTags, ...]:
    """Return the families that `names` ask for: `auto`, a family's name, or a literal pair `OPEN CLOSE`.

    Raises ValueError, saying what is allowed, for anything else and for marks that a reader could not tell apart.
    """
    chosen = {family.open: family for name in filter(None, map(str.strip, names)) for family in _rows(name)}
    families = tuple(chosen.values())
    closers = {family.close for family in families}
    for mark, other in itertools.permutations([*chosen, *closers], 2):
        if other.startswith(mark):
            raise ValueError(f"{mark!r} begins {other!r}, so that a stream's reader cannot tell them apart in time")
    return families


def _rows(name: str) -> Iterable[ThinkTags]:
    if name == AUTO:
        return [family for family in FAMILIES if not family.prose]
    if name in _BY_NAME:
        return [_BY_NAME[name]]
    pair = name.split(" ")
    if len(pair) == 2 and all(pair):
        return [ThinkTags(name, pair[0], pair[1])]
    raise ValueError(f"{name!r} is neither {AUTO}, nor a pair OPEN CLOSE with one space between, nor one of: {', '.join(_BY_NAME)}")


class Marks:
    """Literal strings to look for in a text that arrives in pieces."""

    def __init__(self, literals: Iterable[str]) -> None:
        ordered = sorted(set(literals), key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, ordered)) if ordered else "(?!)")
        self._beginnings = {literal[:length] for literal in ordered for length in range(1, len(literal))}
        self._longest = max(map(len, self._beginnings), default=0)
        self.search = self._pattern.search

    def undecided(self, text: str, begin: int) -> int:
        """Return how many characters at the end of `text[begin:]` may be the beginning of a mark."""
        for length in range(min(self._longest, len(text) - begin), 0, -1):
            if text[-length:] in self._beginnings:
                return length
        return 0


class TagSet:
    """The families a parser looks for, made ready: marks by what a parser may meet next."""

    def __init__(self, families: tuple[ThinkTags, ...], attributes: bool) -> None:
        self.opened_by = {family.open: family for family in families}
        self.attributes_of: dict[str, ThinkTags] = {}
        for family in families:
            if attributes and family.attributes:
                self.attributes_of |= {family.open[:-1] + blank: family for blank in _ATTRIBUTE_BLANKS}
        self.closing = closers = {family.close for family in families}
        self.openers = Marks([*self.opened_by, *self.attributes_of])
        self.all = Marks([*self.opened_by, *self.attributes_of, *closers])
        self.closers = Marks(closers)
        self._closer = {family.close: Marks([family.close]) for family in families}

    def closer(self, family: ThinkTags | None) -> Marks:
        """Return what ends a thought of `family`; of a thought whose opener nobody saw: any closer."""
        return self._closer[family.close] if family else self.closers


@lru_cache(maxsize=64)
def tag_set(families: tuple[ThinkTags, ...], attributes: bool = True) -> TagSet:
    """Return the set, made once for the same rows."""
    return TagSet(families, attributes)
