import pytest

from converter.dialects.anthropic_request import EXTENSIONS
from converter.recordings.allow_list import REQUEST, cut_link, kept

BODY = {
    "model": "m",
    "user": "johnny",
    "metadata": {"user_id": "u"},
    "mcp_servers": [{"authorization_token": "t"}],
    "messages": [
        {"role": "user", "content": [{"type": "text", "text": "Hi", "cache_control": {"type": "ephemeral"}}], "owner": "me"},
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://u:p@pics.example/a.png?sig=s#f"}}]},
        {"role": "user", "content": [{"type": "image", "source": {"type": "file", "file_id": "file_of_mine"}}]},
    ],
    "tools": [{"type": "web_search_1", "name": "web", "user_location": {"city": "Oslo"}}],
}


def test_what_is_not_on_the_list_is_left_out() -> None:
    assert kept(BODY, REQUEST) == {
        "model": "m",
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "Hi"}]},
            {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://pics.example/a.png"}}]},
            {"role": "user", "content": [{"type": "image", "source": {"type": "file", "file_id": "file_recording"}}]},
        ],
        "tools": [{"type": "web_search_1", "name": "web"}],
    }


def test_what_was_kept_is_kept_again() -> None:
    once = kept(BODY, REQUEST)
    assert kept(once, REQUEST) == once


def test_all_that_a_messages_request_may_ask_of_a_local_server_is_on_the_list() -> None:
    assert set(REQUEST) >= EXTENSIONS


@pytest.mark.parametrize("link", ["data:image/png;base64,AAAA", "file_1", 7, None])
def test_only_links_are_cut(link: object) -> None:
    assert cut_link(link) == link


def test_a_link_that_cannot_be_read_leads_nowhere() -> None:
    assert cut_link("http://[bad?key=secret") == "http://127.0.0.1:8000/"
