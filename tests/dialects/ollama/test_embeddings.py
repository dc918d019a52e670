"""Words as vectors: what the server is asked, and what an Ollama client gets."""

import pytest

from converter.dialects.ollama.embeddings import COUNTERPARTS
from converter.model.conversation import RequestError
from converter.wire.checked import Fields

EMBED, OLDER = COUNTERPARTS["/api/embed"], COUNTERPARTS["/api/embeddings"]
REPLY = {
    "model": "m",
    "data": [{"index": 1, "embedding": [0.5]}, {"index": 0, "embedding": [0.25, -1e-05]}],
    "usage": {"prompt_tokens": 3},
}


def test_the_server_is_asked_for_vectors_of_the_same_words() -> None:
    asked = {"model": "m", "input": ["a", "b"], "truncate": True, "keep_alive": 5}
    own = {"model": "m", "input": ["a", "b"], "encoding_format": "float"}
    assert EMBED.request(Fields(asked)) == own
    assert EMBED.request(Fields({**asked, "dimensions": 64})) == {**own, "dimensions": 64}
    assert OLDER.request(Fields({"model": "m", "prompt": "a"})) == {**own, "input": "a"}


def test_vectors_come_in_the_order_of_the_words() -> None:
    told = {"model": "m", "embeddings": [[0.25, -1e-05], [0.5]], "prompt_eval_count": 3}
    assert EMBED.reply(Fields(REPLY), 7) == told | {"total_duration": 7}
    assert OLDER.reply(Fields(REPLY), 7) == {"embedding": [0.25, -1e-05]}


@pytest.mark.parametrize("took", [0, -1])
def test_a_time_that_nobody_knows_is_left_out(took: int) -> None:
    assert "total_duration" not in EMBED.reply(Fields(REPLY), took)


@pytest.mark.parametrize("fields", [{}, {"model": "m"}, {"input": "a"}, {"model": 1, "input": "a"}])
def test_a_request_without_words_or_model_is_refused(fields: dict[str, object]) -> None:
    with pytest.raises(RequestError):
        EMBED.request(Fields(fields))


@pytest.mark.parametrize("reply", [{}, {"data": {}}, {"data": [{}]}, {"data": [1]}])
def test_an_answer_without_vectors_is_none(reply: dict[str, object]) -> None:
    with pytest.raises(RequestError):
        EMBED.reply(Fields(reply), 7)
