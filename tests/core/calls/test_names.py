"""Names in every dress, held against the offered ones."""

import pytest

from converter.core.calls.names import may_become, offered_name

OFFERED = {"get_weather", "get", "mcp__files__read", "Calendar.create", "a.b.write", "c.d.write"}


@pytest.mark.parametrize(
    "written",
    [
        "get_weather",
        " get_weather\n",
        '"get_weather"',
        "`get_weather`",
        "get_weather<|channel|>commentary",
        "get_weather<|channel|>commentary json",
        "<|start|>assistant<|channel|>get_weather",
        "</think>get_weather",
        "get_weather</tool_call>",
        "<function=get_weather>",
        "<function=get_weather",
        '<invoke name="get_weather">',
        "<tool_call>get_weather",
        "<｜tool▁sep｜>get_weather",
        "[TOOL_CALLS]get_weather",
        "functions.get_weather",
        "functions.get_weather:3",
        "get_weather:0",
        "default_api:get_weather",
        "default_api.get_weather",
        "server/get_weather",
        "x__get_weather",
        "call:get_weather",
        "to=functions.get_weather",
        "to=functions.get_weather<|channel|>commentary",
        "get_weather()",
        "get_weather.call",
        "get_weather:",
        "get_weatherget_weather",
        "get_weather" * 5,
        "get_weather<|x|>get_weather",
    ],
)
def test_the_offered_name_is_left(written: str) -> None:
    assert offered_name(written, OFFERED) == "get_weather"


def test_kimis_count_is_no_part_of_a_name_that_has_one_meaning() -> None:
    for written in ("functions_bash_2", "functions_bash", "functions_bash_2<|x|>"):
        assert offered_name(written, {"bash", "get"}) == "bash"
    assert offered_name("functions_bash_2", {"bash_2"}) == "bash_2"
    assert offered_name("functions_bash_2", {"bash", "bash_2"}) == ""
    assert offered_name("functions_other_2", {"bash"}) == ""


def test_a_name_in_a_namespace_is_matched_by_its_rest_where_that_is_unique() -> None:
    assert offered_name("read", OFFERED) == "mcp__files__read"
    assert offered_name("create", OFFERED) == "Calendar.create"
    assert offered_name("write", OFFERED) == ""


@pytest.mark.parametrize(
    "written",
    [
        "",
        "  ",
        "remove",
        "get_weathers",
        "forget",
        "call_9f3",
        "Get_Weather",
        'get_weather{"city": "Oslo"}',
        "get_weather<arg_key>city</arg_key><arg_value>Oslo</arg_value>",
        "get_weather<|x|>get",
        "<|channel|>commentary",
        "I call get_weather",
        "x" * 600,
        "get" * 200,
    ],
)
def test_no_name_is_left_where_none_is_offered_or_more_is_sent(written: str) -> None:
    assert offered_name(written, OFFERED) == ""


def test_without_tools_no_name_is_offered() -> None:
    assert offered_name("get", {}) == ""


def test_an_offered_name_means_itself_whatever_it_looks_like() -> None:
    assert offered_name("aa", {"a", "aa"}) == "aa"
    assert offered_name("f:0", {"f", "f:0"}) == "f:0"
    assert offered_name("<function=f>", {"f", "<function=f>"}) == "<function=f>"


@pytest.mark.parametrize(
    ("written", "more"),
    [("get", True), ("get_w", True), ("", True), ("get_weather", False), ("x", False)],
)
def test_a_name_waits_while_it_may_become_another(written: str, more: bool) -> None:
    assert may_become(written, {"get", "get_weather"}) is more
