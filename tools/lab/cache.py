"""The server's prompt cache as a judge: the uncached tokens of later turns in a conversation whose
client drops the thoughts.
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
READ_ROW = "tokens read on turns 2 to 10"
VARIANTS = {
    "put back": ("--set", "think_history=reasoning_content"),
    "dropped": ("--set", "think_restore=off"),
}
"""The handling of thoughts, and its options: the model's template reads `reasoning_content`."""
UNTOLD = "not told"


def tokens_read(port: int, name: str) -> list[int] | None:
    """Return the uncached tokens of the prompt on each turn from the second on; None where the
    server reports no cache. `name`: of a conversation that is not in the cache yet.
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
    """Return a cell: the sum of the tokens for each handling of thoughts."""
    parts = [f"{sum(tokens)} {name}" for name, tokens in read.items() if tokens is not None]
    return ", ".join(parts) or UNTOLD
