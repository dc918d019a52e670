from collections.abc import Callable

import pytest

from converter.core.model.conversation import RequestError
from converter.core.wire.checked import Fields, Kinds
from tests.support.rows import rows_of

ROWS = rows_of(__file__)

BODY = ROWS["body"]


@pytest.mark.parametrize(
    ("read", "expected"),
    [
        (lambda fields: fields.optional("text", str), "a"),
        (lambda fields: fields.optional("absent", str), None),
        (lambda fields: fields.optional("nothing", str), None),
        (lambda fields: fields.required("whole", int), 3),
        (lambda fields: fields.required("flag", bool), True),
        (lambda fields: fields.number("whole"), 3),
        (lambda fields: fields.number("ratio"), 0.5),
        (lambda fields: fields.number("absent"), None),
        (lambda fields: fields.one_of("text", ("a", "b")), "a"),
        (lambda fields: fields.row("text", {"a": 1, "b": 2}), 1),
        (lambda fields: fields.child("absent"), None),
        (lambda fields: fields.within("absent").values, {}),
        (lambda fields: fields.within("inner").required("x", int), 1),
        (lambda fields: fields.children("absent"), []),
        (lambda fields: fields.children("items")[1].required("x", int), 2),
    ],
)
def test_reads(read: Callable[[Fields], object], expected: object) -> None:
    assert read(Fields(BODY)) == expected


@pytest.mark.parametrize(
    ("read", "message"),
    [
        (lambda fields: fields.optional("whole", str), "whole: Input should be a valid string"),
        (lambda fields: fields.optional("flag", int), "flag: Input should be a valid integer"),
        (lambda fields: fields.optional("ratio", int), "ratio: Input should be a valid integer"),
        (lambda fields: fields.optional("whole", bool), "whole: Input should be a valid boolean"),
        (lambda fields: fields.optional("text", list), "text: Input should be a valid array"),
        (lambda fields: fields.required("absent", str), "absent: Field required"),
        (lambda fields: fields.required("nothing", str), "nothing: Field required"),
        (lambda fields: fields.number("flag"), "flag: Input should be a valid number"),
        (lambda fields: fields.one_of("text", ("b", "c")), "text: Input should be 'b' or 'c'"),
        (lambda fields: fields.row("text", {"b": 1}), "text: Input should be 'b'"),
        (lambda fields: fields.child("items"), "items: Input should be an object"),
        (lambda fields: fields.child("inner").required("y", str), "inner.y: Field required"),
        (
            lambda fields: fields.children("items")[1].required("x", str),
            "items.1.x: Input should be a valid string",
        ),
        (lambda fields: Fields(fields.values["items"]), "Input should be an object"),
    ],
)
def test_says_what_is_wrong_and_where(read: Callable[[Fields], object], message: str) -> None:
    with pytest.raises(RequestError) as caught:
        read(Fields(BODY))
    assert caught.value.message == message


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_number_is_finite(value: float) -> None:
    with pytest.raises(RequestError, match="temperature: Input should be a valid number"):
        Fields({"temperature": value}).number("temperature")
    assert Fields({"top_k": 10**400}).number("top_k") == 10**400  # more than a float can hold


def test_an_item_that_is_no_object_is_refused() -> None:
    with pytest.raises(RequestError, match=r"items\.1: Input should be an object"):
        Fields({"items": [{}, 1]}).children("items")


def test_strings_are_an_array_of_nothing_else() -> None:
    fields = Fields({"stop": ["", "a"], "odd": ["a", 1]})
    assert [fields.strings("stop"), fields.strings("absent")] == [["", "a"], []]
    with pytest.raises(RequestError, match=r"odd\.1: Input should be a valid string"):
        fields.strings("odd")


def test_a_table_reads_the_fields_that_are_there() -> None:
    fields = Fields({"n": 2, "ratio": 0.5, "stop": ["a"], "nothing": None, "other": 1})
    kinds: Kinds = {"n": int, "ratio": float, "stop": [str], "nothing": str, "absent": bool}
    assert fields.read(kinds) == {"n": 2, "ratio": 0.5, "stop": ["a"]}
    assert fields.requested == kinds.keys()


@pytest.mark.parametrize(
    ("kinds", "message"),
    [
        ({"flag": int}, "flag: Input should be a valid integer"),
        ({"flag": float}, "flag: Input should be a valid number"),
        ({"text": [str]}, "text: Input should be a valid array"),
        ({"items": [str]}, "items.0: Input should be a valid string"),
    ],
)
def test_a_table_refuses_other_kinds(kinds: Kinds, message: str) -> None:
    with pytest.raises(RequestError) as caught:
        Fields(BODY).read(kinds)
    assert caught.value.message == message


def test_what_nobody_requested_is_unread_in_inner_objects_as_well() -> None:
    fields = Fields(BODY)
    fields.required("text", str)
    fields.optional("absent", str)
    fields.children("items")[0].required("x", int)
    assert fields.inner("inner").optional("y", str) is None
    assert fields.requested == {"text", "absent", "items", "inner"}
    left = {"whole": 3, "flag": True, "nothing": None, "ratio": 0.5}
    assert list(fields.unread()) == [*left.items(), ("x", 1), ("x", 2)]


def test_an_inner_object_must_be_there() -> None:
    with pytest.raises(RequestError, match="absent: Input should be an object"):
        Fields(BODY).inner("absent")
