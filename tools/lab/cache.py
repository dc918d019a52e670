"""Measure whether earlier thoughts that the addon puts back keep the server's prompt cache valid.

The client of the conversation drops the thoughts, so the history that it sends differs from the
text in the server's cache. Where the addon puts the thoughts back, both should be equal again.
Measured are the prompt tokens that the server does not find in its cache.
"""

from collections.abc import Mapping

from tests.support.sdks import openai_client
from tools.lab.servers import MODEL

QUESTIONS = (
    "12 * 7",
    "What day is 3 days after Friday?",
    "How many hours are in 3 days?",
    "What is the capital of France?",
    "9 * 8",
    "What day is 5 days after Monday?",
    "How many hours are in 2 days?",
    "What is the capital of Italy?",
    "6 * 7",
    "What is bigger, 12 or 9?",
)
"""The user's text in each turn of the conversation."""
READ_ROW = "tokens read on turns 2 to 10"
"""Name of the results' row with the prompt tokens that were not in the server's cache."""
VARIANTS = {
    "put back": ("--set", "think_history=reasoning_content"),
    "dropped": ("--set", "think_restore=off"),
}
"""What the addon does with earlier thoughts -> its options. `put back`: it writes them into the
field `reasoning_content`, which the model's chat template reads. `dropped`: it leaves them out.
"""
NOT_REPORTED = "not told"
"""The result if the server reports no counts of cached tokens."""


def measure_uncached_tokens(port: int, name: str) -> list[int] | None:
    """Hold a conversation; return for each turn from the second on how many prompt tokens were not
    in the server's cache.

    Returns None if the server reports no counts of cached tokens. `port`: the proxy's; `name`: it
    stands in the system prompt, so that no other conversation has filled the cache for this one.
    """
    history = [{"role": "system", "content": f"This is conversation {name}."}]
    read: list[int] = []
    with openai_client(port) as client:
        for question in QUESTIONS:
            history.append({"role": "user", "content": question})
            body = {"model": MODEL, "messages": history, "max_tokens": 200, "temperature": 0}
            completion = client.chat.completions.create(**body)  # type: ignore[call-overload]
            usage = completion.usage
            details = usage and usage.prompt_tokens_details
            if usage is None or details is None or details.cached_tokens is None:
                return None
            read.append(usage.prompt_tokens - details.cached_tokens)
            answer = completion.choices[0].message.content or ""
            history.append({"role": "assistant", "content": answer.strip()})
    return read[1:]


def summary(read: Mapping[str, list[int] | None]) -> str:
    """Return the sums of uncached tokens as text: `400 put back, 900 dropped`.

    `read`: key of `VARIANTS` -> the tokens of each turn, None if the server does not report them.
    If it reports none at all: `NOT_REPORTED`.
    """
    parts = [f"{sum(tokens)} {name}" for name, tokens in read.items() if tokens is not None]
    return ", ".join(parts) or NOT_REPORTED
