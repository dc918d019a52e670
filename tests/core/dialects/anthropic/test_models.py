"""The list of models for Anthropic clients."""

import datetime
import json
from typing import Any

import pytest
from anthropic.types import ModelInfo
from hypothesis import given
from hypothesis import strategies as st

from converter.core.dialects.anthropic.models import anthropic_models
from converter.core.wire import json_text
from tests.support.rows import rows_of
from tests.support.strategies import law

pytestmark = pytest.mark.slow

ROWS = rows_of(__file__)

CREATED = 1_700_000_000
SMALL = {"id": "small", "object": "model", "created": CREATED, "owned_by": "vllm"}
LARGE = {"id": "large", "object": "model", "created": CREATED + 1}
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


def _written(value: object) -> dict[str, Any]:
    written = anthropic_models(json.dumps(value).encode())
    assert written is not None
    return written


def _model(**fields: object) -> dict[str, Any]:
    model = _written({"data": [fields]})["data"][0]
    assert isinstance(model, dict)
    return model


def _read(model: dict[str, Any]) -> ModelInfo:
    """As the client's own type has it: what crossed the wire, nothing missing, nothing of another
    type.
    """
    return ModelInfo.model_validate_json(json_text.write(model), strict=True)


def test_a_list_says_where_it_begins_and_ends() -> None:
    listed = _written({"object": "list", "data": [SMALL, LARGE]})
    ids = [model["id"] for model in listed.pop("data")]
    assert (ids, listed) == (
        ["small", "large"],
        {"has_more": False, "first_id": "small", "last_id": "large"},
    )


def test_an_empty_list_begins_and_ends_with_nothing() -> None:
    assert _written({"data": []}) == {
        "data": [],
        "has_more": False,
        "first_id": None,
        "last_id": None,
    }


@pytest.mark.parametrize(
    "model",
    [SMALL, LARGE, {"id": "bare"}, {"id": "org/model:7b \u00e9"}],
    ids=lambda model: model["id"],
)
def test_a_listed_model_is_one_of_the_clients_own_type(model: dict[str, object]) -> None:
    read = _read(_model(**model))
    assert (read.type, read.id, read.display_name) == ("model", model["id"], model["id"])


def test_a_single_model_is_one_of_the_clients_own_type() -> None:
    assert _read(_written(SMALL)).id == "small"


@pytest.mark.parametrize("name", ["created_at", "display_name"])
def test_a_model_says_what_clients_show(name: str) -> None:
    assert (
        _model(**SMALL)[name]
        == {"created_at": "2023-11-14T22:13:20Z", "display_name": "small"}[name]
    )


def test_a_model_whose_server_tells_how_long_a_prompt_may_be_says_so() -> None:
    assert _read(_model(**SMALL, max_model_len=2048)).max_input_tokens == 2048


@pytest.mark.parametrize("length", [None, "2048", {}, 2048.5], ids=repr)
def test_a_length_that_is_no_number_is_not_reported(length: object) -> None:
    assert _read(_model(**SMALL, max_model_len=length)).max_input_tokens is None


DATES: dict[str, dict[str, object]] = ROWS["dates"]


@pytest.mark.parametrize("fields", DATES.values(), ids=DATES)
def test_a_model_of_unknown_date_is_of_the_epoch(fields: dict[str, object]) -> None:
    assert datetime.datetime.fromisoformat(_model(id="m", **fields)["created_at"]) == EPOCH


NAMELESS: list[object] = [
    None,
    1,
    "small",
    [],
    {},
    {"id": ""},
    {"id": None},
    {"id": 7},
    {"id": ["a"]},
    {"name": "m"},
]


@pytest.mark.parametrize("entry", NAMELESS, ids=repr)
def test_an_entry_without_a_name_is_left_out(entry: object) -> None:
    assert [model["id"] for model in _written({"data": [entry, SMALL]})["data"]] == ["small"]


BODIES = [
    b"",
    b"no JSON",
    b"\xff\xfe",
    b"[]",
    b"1",
    b"null",
    b"{}",
    b'{"data": null}',
    b'{"data": {}}',
    b'{"id": ""}',
    b'{"id": 7}',
]


@pytest.mark.parametrize("body", BODIES, ids=repr)
def test_another_body_is_no_list(body: bytes) -> None:
    assert anthropic_models(body) is None


_LEAVES = (
    st.none() | st.booleans() | st.integers() | st.just(10**15) | st.floats() | st.text(max_size=4)
)
_NAMES = st.sampled_from(["data", "id", "created", "object", "x"])
_JSON = st.recursive(
    _LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_NAMES, inner, max_size=4),
    max_leaves=12,
)


@law(400)
@given(value=_JSON)
def test_whatever_a_server_says_nothing_is_raised(value: object) -> None:
    written = anthropic_models(json.dumps(value).encode())
    assert written is None or json_text.write(written)
