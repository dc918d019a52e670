import pytest

from converter.addon.redact.allow_list import HEADERS, REQUEST, cut_link, is_kept, keep
from converter.addon.redact.scrubber import secrets_of_body
from converter.core.dialects.server_fields import ROUTING_FIELDS, SHAPING_FIELDS
from tests.support.rows import rows_of

ROWS = rows_of(__file__)

BODY = ROWS["body"]


def test_what_is_not_on_the_list_is_left_out() -> None:
    assert keep(BODY, REQUEST) == {
        "model": "m",
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "Hi"}]},
            {
                "role": "user",
                "content": [
                    {"type": "image_url", "image_url": {"url": "https://pics.example/a.png"}}
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "image", "source": {"type": "file", "file_id": "file_recording"}}
                ],
            },
        ],
        "tools": [{"type": "web_search_1", "name": "web"}],
    }


def test_of_an_ollama_clients_request_its_options_are_kept() -> None:
    body = {
        "options": {"num_ctx": 8192, "temperature": 0, "stop": ["\n"]},
        "keep_alive": -1,
        "messages": [{"role": "tool", "content": "sunny", "tool_name": "look"}],
    }
    options = {**body["options"], "owner": "me"}  # type: ignore[dict-item]
    assert keep({**body, "options": options}, REQUEST) == body


def test_of_options_and_choices_only_listed_fields_are_kept() -> None:
    body = {
        "stream_options": {
            "include_usage": True,
            "include_obfuscation": False,
            "continuous_usage_stats": True,
            "tag": "mine",
        },
        "tool_choice": {
            "type": "function",
            "function": {"name": "f", "x": 1},
            "disable_parallel_tool_use": True,
            "owner": "me",
        },
    }
    assert keep(body, REQUEST) == {
        "stream_options": {
            "include_usage": True,
            "include_obfuscation": False,
            "continuous_usage_stats": True,
        },
        "tool_choice": {
            "type": "function",
            "function": {"name": "f"},
            "disable_parallel_tool_use": True,
        },
    }
    assert keep({"tool_choice": "auto"}, REQUEST) == {"tool_choice": "auto"}


USUAL = ROWS["usual"]


@pytest.mark.parametrize("value", USUAL)
@pytest.mark.parametrize("name", HEADERS)
def test_headers_of_a_usual_value_are_kept(name: str, value: str) -> None:
    assert is_kept(name, value)


@pytest.mark.parametrize(
    "value", ['a/b; key="s"', "me@example", "a/b\n", "http://h/", "a" * 501, "clé", None]
)
def test_headers_of_another_value_are_left_out(value: str | None) -> None:
    assert not is_kept("accept", value)


def test_a_header_nobody_listed_is_left_out() -> None:
    assert not is_kept("x-trace", "1")


def test_what_was_kept_is_kept_again() -> None:
    once = keep(BODY, REQUEST)
    assert keep(once, REQUEST) == once


def test_all_that_a_messages_request_may_ask_of_a_local_server_is_on_the_list() -> None:
    assert set(REQUEST) >= SHAPING_FIELDS


def test_what_says_where_a_request_goes_or_for_whom_is_not() -> None:
    assert not set(REQUEST) & ROUTING_FIELDS


@pytest.mark.parametrize("link", ["data:image/png;base64,AAAA", "file_1", 7, None])
def test_only_links_are_cut(link: object) -> None:
    assert cut_link(link) == link


SECRET_LINKS = ROWS["secret links"]


@pytest.mark.parametrize("link", SECRET_LINKS)
def test_a_link_is_cut_whatever_its_scheme(link: str) -> None:
    cut = str(cut_link(link))
    assert "PASSWORD1" not in cut
    assert "TOKEN1234" not in cut
    assert cut_link(cut) == cut
    body = {"url": link}
    parts = {part for part in secrets_of_body(body, {"url": cut}) if part in link}
    assert any("PASSWORD1" in part or "TOKEN1234" in part for part in parts)


def test_a_link_that_cannot_be_read_leads_nowhere() -> None:
    assert cut_link("http://[bad?key=secret") == "http://127.0.0.1:8000/"
