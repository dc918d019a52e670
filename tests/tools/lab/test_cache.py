"""The tokens that a server reads of a conversation."""

import json

import pytest

from tests.support import frames
from tests.support.by_path_server import CHAT, ByPathServer, Says
from tools.lab.cache import QUESTIONS, UNTOLD, in_words, tokens_read

pytestmark = pytest.mark.slow


def _says(prompt: int, cached: int | None) -> Says:
    body = json.loads(frames.whole("<think>x</think> 84 "))
    told = {} if cached is None else {"prompt_tokens_details": {"cached_tokens": cached}}
    usage = {"prompt_tokens": prompt, "completion_tokens": 5, "total_tokens": prompt + 5, **told}
    return Says({**body, "usage": usage})


def test_the_tokens_of_each_later_turn_are_counted() -> None:
    turns = range(len(QUESTIONS))
    with ByPathServer({CHAT: [_says(20 * (turn + 1), 20 * turn) for turn in turns]}) as server:
        read = tokens_read(int(server.address.rpartition(":")[2]), "a")
        last = json.loads(server.asked[-1].body)
    assert read == [20] * (len(QUESTIONS) - 1)
    assert last["messages"][0] == {"role": "system", "content": "This is conversation a."}
    assert len(last["messages"]) == 2 * len(QUESTIONS)


def test_a_server_may_tell_of_no_cache() -> None:
    with ByPathServer({CHAT: _says(20, None)}) as server:
        assert tokens_read(int(server.address.rpartition(":")[2]), "a") is None


def test_a_cell_says_what_became_of_the_thoughts() -> None:
    assert in_words({"put back": [1, 2], "dropped": [5, 6]}) == "3 put back, 11 dropped"
    assert in_words({"put back": None, "dropped": None}) == UNTOLD
