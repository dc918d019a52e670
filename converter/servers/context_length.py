"""A request beyond the server's context, said in the words of the Anthropic API: on those, and no
others, Claude Code acts.

On a prompt too long it compacts the conversation; on a prompt and reply too long together it asks
for a shorter reply.
"""

import re
from dataclasses import dataclass

_LIMIT = r"maximum context length (?:is|of) (?P<most>\d+) tokens"
_ROWS = (
    # llama.cpp 11549
    r"\((?P<tokens>\d+) tokens\) exceeds the available context size \((?P<most>\d+) tokens\)",
    # vLLM: the count of current versions is a lower bound, as they stop counting at the limit
    rf"'max_tokens'.{{0,60}}is too large: (?P<asked>\d+)\..{{0,20}}{_LIMIT} "
    r"and your request has (?P<tokens>\d+) input tokens",
    rf"{_LIMIT}\. However, your request has (?P<tokens>\d+) input tokens",
    rf"{_LIMIT}\. However, you requested \d+ tokens "
    r"\((?P<tokens>\d+) in the messages, (?P<asked>\d+) in the completion\)",
    # 0.32
    rf"{_LIMIT}\. However, your prompt contains (?P<least>at least )?(?P<tokens>\d+) input tokens",
    rf"{_LIMIT}\. .{{0,20}} requested (?P<asked>\d+) output tokens "
    r"and your prompt contains (?P<least>at least )?(?P<tokens>\d+)",
    # 0.32, before it looks at the prompt
    r"max_tokens=(?P<asked>\d+) cannot be greater than max_model_len=(?P<most>\d+)",
    # SGLang
    r"input \((?P<tokens>\d+) tokens\) is longer than "
    r"the model's context length \((?P<most>\d+) tokens\)",
    rf"{_LIMIT}\. You requested a total of \d+ tokens: "
    r"(?P<tokens>\d+) tokens from the input.{0,20} and (?P<asked>\d+) tokens",
    # LM Studio
    r"\(n_keep: (?P<tokens>\d+) >= n_ctx: (?P<most>\d+)\)",
)
_PATTERNS = tuple(re.compile(row.replace(r"\d+", r"\d{1,12}")) for row in _ROWS)
"""Of more digits Python makes no number, and no server has as many tokens."""


@dataclass(frozen=True, slots=True)
class ContextOverflow:
    """Tokens of the prompt, most that fit, those asked for the reply. `bound`: the prompt may be
    longer, nobody counted on.
    """

    tokens: int
    most: int
    asked: int = 0
    bound: bool = False

    def words(self) -> str:
        """Return what the API would say."""
        if self.tokens >= self.most or not self.asked:
            return f"prompt is too long: {self.tokens} tokens > {self.most} maximum"
        return (
            "input length and `max_tokens` exceed context limit: "
            f"{self.tokens} + {self.asked} > {self.most}, "
            "decrease input length or `max_tokens` and try again"
        )


def find(message: str) -> ContextOverflow | None:
    """Return the numbers in an error message about the context; None for another message."""
    for pattern in _PATTERNS:
        if found := pattern.search(message):
            said = found.groupdict()
            tokens, asked = (int(said.get(name) or 0) for name in ("tokens", "asked"))
            return ContextOverflow(
                tokens, int(said["most"]), asked, bound=not tokens or bool(said.get("least"))
            )
    return None
