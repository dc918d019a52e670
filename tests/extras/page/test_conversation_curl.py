"""An exchange as a command: it asks the same, in any shell, and holds no key."""

import json
import shlex

import pytest

from converter.extras.page.conversation import curl_command
from tests.support.addon_flows import CHAT, MESSAGES, request

HOSTILE = 'it\'s "q" $(rm) `x` \\ \n\x1b[2J \u202e \u2028 \ufeff 四 🎉'


def arguments(command: str) -> list[str]:
    return shlex.split(command.replace("\\\n", " "))


def test_it_goes_to_the_proxy_of_the_client() -> None:
    flow = request(MESSAGES + "?beta=true")
    flow.client_conn.sockname = ("127.0.0.1", 8080)
    assert arguments(curl_command(flow))[:3] == [
        "curl",
        "-sNg",
        "http://127.0.0.1:8080/v1/messages?beta=true",
    ]
    flow.client_conn.sockname = ("::1", 8080)
    assert "http://[::1]:8080/v1/messages" in arguments(curl_command(flow))[2]


def test_the_body_is_the_same_whatever_stands_in_it() -> None:
    body = {"messages": [{"role": "user", "content": HOSTILE}]}
    flow = request(CHAT, json.dumps(body, ensure_ascii=False).encode())
    command = curl_command(flow)
    assert json.loads(arguments(command)[-1]) == body
    assert not any(ord(sign) < 32 and sign != "\n" for sign in command)
    assert "\u202e" not in command


def test_keys_are_named_and_not_shown() -> None:
    flow = request(CHAT, authorization="Bearer sk-secret", x_api_key="sk-other", cookie="a=b")
    command = curl_command(flow)
    assert "sk-" not in command
    assert "cookie" not in command
    assert '-H "Authorization: Bearer $API_KEY"' in command
    assert '-H "X-Api-Key: $API_KEY"' in command


def test_a_key_in_the_address_is_not_shown() -> None:
    flow = request(CHAT + "?api_key=sk-one&beta=true\x1b&access_token=sk-two")
    (address,) = [word for word in arguments(curl_command(flow)) if "http" in word]
    assert address.endswith("?api_key=API_KEY&beta=true&access_token=API_KEY")


@pytest.mark.parametrize("name", ["sig", "auth", "password", "X-Amz-Signature", "Credential"])
def test_a_signature_or_a_password_in_the_address_is_not_shown(name: str) -> None:
    assert "S3CRET" not in curl_command(request(f"{CHAT}?beta=true&{name}=S3CRET&b=2"))


def test_no_file_is_sent_for_a_body_that_begins_like_one_and_no_bracket_is_a_pattern() -> None:
    shell = arguments(curl_command(request(CHAT + "/[1-9]{a,b}", b"@/etc/passwd")))
    assert shell[:2] == ["curl", "-sNg"]
    assert shell[-2:] == ["--data-raw", "@/etc/passwd"]
