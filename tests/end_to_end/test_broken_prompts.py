"""A conversation on the real llama.cpp whose prompt breaks: the log names the place, and the
server's own count of its cache agrees.
"""

import copy
import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import openai
import pytest

from tests.conftest import Llama
from tests.support.clients import Client

pytestmark = pytest.mark.slow

type Body = dict[str, Any]
SYSTEM = "Answer in a few words. " * 20 + "It is 2026-11-23, 13:05.\ngitStatus: clean\nBe kind."
REMINDER = "<system-reminder>Use few words.</system-reminder>\n"
LINE = re.compile(r"the cached prompt was broken at (.*)")


@pytest.fixture
def llama(llamas: dict[str, Llama]) -> Iterator[Llama]:
    chosen = llamas["extracted"]
    mark = chosen.proxy.mark()
    yield chosen
    chosen.proxy.check(mark)


def tool(name: str) -> Body:
    about = {"description": f"Have the tool {name} do its work.", "parameters": {"type": "object"}}
    return {"type": "function", "function": {"name": name, **about}}


def first() -> Body:
    said = {"role": "assistant", "content": "42", "reasoning_content": "I multiply 6 by 7."}
    return {
        "model": "tiny-think",
        "temperature": 0,
        "max_tokens": 4,
        "tools": [tool("read"), tool("write")],
        "messages": [
            {"role": "system", "content": SYSTEM},
            {"role": "user", "content": f"{REMINDER}6 * 7"},
            said,
            {"role": "user", "content": "7 * 8"},
        ],
    }


def after(change: Callable[[Body], object]) -> Body:
    body = copy.deepcopy(first())
    more = [{"role": "assistant", "content": "56"}, {"role": "user", "content": "8 * 9"}]
    body["messages"] += more
    change(body)
    return body


def system(was: str, now: str) -> Callable[[Body], object]:
    return lambda body: body["messages"][0].update(content=SYSTEM.replace(was, now, 1))


STAGED: dict[str, tuple[Callable[[Body], object], str]] = {
    "date": (system("11-23", "11-24"), "message 0 (system), character N: the date or the time; "),
    "time": (system("13:05", "13:06"), "message 0 (system), character N: the date or the time; "),
    "git status": (system("clean", "M a.py"), "message 0 (system), character N: git status; "),
    "billing line": (
        system("Answer in", "x-anthropic-billing-header: cch=2\nAnswer in"),
        "message 0 (system), character N: a billing line, another in each request; ",
    ),
    "other words": (
        system("few words", "few syllables"),
        "message 0 (system), character N: other words; ",
    ),
    "tool order": (
        lambda body: body["tools"].reverse(),
        "tool write, character N: tool read stood there: other tools, or another order; ",
    ),
    "a tool less": (
        lambda body: body["tools"].pop(),
        "message 0 (system), character N: tool write stood there: other tools, or another order; ",
    ),
    "a tool described otherwise": (
        lambda body: body["tools"][1]["function"].update(description="Write."),
        "tool write, character N: the tool is described otherwise; ",
    ),
    "moved reminder": (
        lambda body: body["messages"][1].update(content="6 * 7"),
        "message 1 (user), character N: a reminder that the client moves; ",
    ),
    "dropped thought": (
        lambda body: body["messages"][2].pop("reasoning_content"),
        "message 2 (assistant), character N: an earlier thought was left out or changed; ",
    ),
    "temperature": (lambda body: body.update(temperature=0.5), ""),
    "only more": (lambda _: None, ""),
}


@pytest.mark.parametrize("case", [name for name, (_, told) in STAGED.items() if told])
@pytest.mark.parametrize("streamed", [False, True])
def test_a_break_is_named_and_the_servers_cache_agrees(
    llama: Llama, case: str, streamed: bool
) -> None:
    """Of a stream whose client asks for no usage the counts are in llama.cpp's timings."""
    change, told = STAGED[case]
    then = after(change)
    asked(llama.port, first(), streamed)
    before = len(LINE.findall(llama.proxy.output))
    asked(llama.port, then, streamed)
    [line] = llama.proxy.wait_for(LINE.pattern, before + 1)[before:]
    assert re.sub(r"character \d+", "character N", line).startswith(told)
    [again, prompt] = re.findall(r"([\d,]+) of ([\d,]+) tokens were read again", line)[0]
    one, other = tokens(llama, first()), tokens(llama, then)
    same = next(at for at, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1])
    assert int(prompt.replace(",", "")) == len(other)
    assert int(again.replace(",", "")) == len(other) - same


@pytest.mark.parametrize("case", [name for name, (_, told) in STAGED.items() if not told])
def test_what_changes_no_word_of_the_prompt_breaks_nothing(llama: Llama, case: str) -> None:
    mark = llama.proxy.mark()
    asked(llama.port, first(), streamed=False)
    asked(llama.port, after(STAGED[case][0]), streamed=False)
    assert not LINE.search(llama.proxy.output[mark:])


def asked(port: int, body: Body, streamed: bool) -> None:
    with openai.OpenAI(
        base_url=f"http://127.0.0.1:{port}/v1", api_key="x", max_retries=0
    ) as client:
        made = client.chat.completions.create(
            **body, stream=streamed, extra_body={"cache_prompt": True, "seed": 1}
        )
        if streamed:
            assert list(made)


def tokens(llama: Llama, body: Body) -> list[int]:
    """The prompt's tokens, as the server itself makes them of the request."""
    with Client(int(llama.address.rpartition(":")[2])) as server:
        prompt = json.loads(server.ask("/apply-template", json.dumps(body).encode()).body)["prompt"]
        asked = {"content": prompt, "add_special": True, "parse_special": True}
        made: list[int] = json.loads(server.ask("/tokenize", json.dumps(asked).encode()).body)[
            "tokens"
        ]
        return made
