"""A conversation on the real llama.cpp whose prompt breaks: the log names the place, and the
server's own count of its cache agrees.
"""

from collections.abc import Iterator
from typing import Any

import openai
import pytest

from tests.conftest import Llama
from tests.support.harness import Proxy

pytestmark = pytest.mark.slow

CACHED = {"cache_prompt": True, "seed": 1}
LONG = "Answer in a few words. " * 20
BROKEN = "the cached prompt was broken at "


@pytest.fixture
def llama(llamas: dict[str, Llama]) -> Iterator[Llama]:
    chosen = llamas["extracted"]
    mark = chosen.proxy.mark()
    yield chosen
    chosen.proxy.check(mark)


def asked(port: int, *messages: dict[str, Any], **fields: Any) -> Any:
    with openai.OpenAI(
        base_url=f"http://127.0.0.1:{port}/v1", api_key="x", max_retries=0
    ) as client:
        return client.chat.completions.create(
            model="tiny-think",
            messages=list(messages),  # type: ignore[arg-type]
            max_tokens=200,
            extra_body=CACHED,
            **{"temperature": 0, **fields},
        )


def turns(port: int, before: str, then: str, **fields: Any) -> Any:
    """Two turns of a conversation, the second under another system text; the second's reply."""
    sum_ = {"role": "user", "content": "6 * 7"}
    first = asked(port, {"role": "system", "content": before}, sum_)
    said = {"role": "assistant", "content": first.choices[0].message.content}
    more = {"role": "user", "content": "7 * 8"}
    return asked(port, {"role": "system", "content": then}, sum_, said, more, **fields)


def lines(proxy: Proxy, mark: int) -> list[str]:
    return [line for line in proxy.output[mark:].splitlines() if BROKEN in line]


def test_a_date_in_the_system_text_is_named_and_the_servers_cache_agrees(llama: Llama) -> None:
    mark = llama.proxy.mark()
    made = turns(llama.port, f"{LONG}It is 2026-11-23.", f"{LONG}It is 2026-11-24.")
    usage = made.usage
    cached = usage.prompt_tokens_details.cached_tokens
    (line,) = lines(llama.proxy, mark)
    assert "message 0 (system), character " in line
    assert "the date or the time" in line
    again = usage.prompt_tokens - cached
    assert f"{again:,} of {usage.prompt_tokens:,} tokens were read again" in line
    assert 0 < cached < usage.prompt_tokens, "the words before the date are read from the cache"


def test_a_conversation_that_only_grows_breaks_nothing(llama: Llama) -> None:
    mark = llama.proxy.mark()
    turns(llama.port, LONG, LONG, temperature=0.5)
    assert lines(llama.proxy, mark) == []
