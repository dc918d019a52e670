import base64

import pytest

from converter.addon.redact.scrubber import secrets_of_body, secrets_of_headers, secrets_of_link


def test_credentials_are_secrets_without_their_scheme() -> None:
    basic = base64.b64encode(b"me:pass word").decode()
    assert set(secrets_of_headers({"authorization": "Bearer sk-1"})) == {"sk-1"}
    assert set(secrets_of_headers({"authorization": "sk-2"})) == {"sk-2"}
    assert set(secrets_of_headers({"x-api-key": "Bearer sk-3"})) == {"sk-3"}
    assert set(secrets_of_headers({"proxy-authorization": f"Basic {basic}"})) == {
        basic,
        "pass word",
    }


DIGEST = (
    'Digest username="me, too", realm="models", uri="/v1/chat/completions", algorithm=MD5, '
    'nonce="dcd98b7102dd", nc=00000001, qop=auth, response="6629fae49393"'
)
AWS = (
    "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20261128/us-east-1/bedrock/aws4_request, "
    "SignedHeaders=host;x-amz-date, Signature=fe5f80f77d5f"
)


@pytest.mark.parametrize(
    ("header", "secrets", "public"),
    [
        (DIGEST, {"me, too", "dcd98b7102dd", "6629fae49393"}, {"/v1/chat/completions", "models"}),
        (AWS, {"AKIAIOSFODNN7EXAMPLE", "fe5f80f77d5f"}, {"host;x-amz-date"}),
        ("Bearer sk-1 c2stMg==", {"sk-1", "c2stMg=="}, {"Bearer"}),
        ("Bearer sk-1, Token sk-2", {"sk-1", "sk-2"}, {"Token"}),
        ("sk-1 sk-2", {"sk-1", "sk-2"}, set()),
    ],
    ids=["Digest", "AWS", "two tokens", "two schemes", "no scheme"],
)
def test_each_of_several_credentials_is_a_secret(
    header: str, secrets: set[str], public: set[str]
) -> None:
    yielded = {*secrets_of_headers({"authorization": header})}
    assert yielded >= secrets
    assert not yielded & public


def test_a_cookie_s_values_are_secrets_and_its_names_are_none() -> None:
    assert set(secrets_of_headers({"Cookie": 'session=abc; token="def"'})) == {"abc", "def"}


def test_headers_nobody_knows_are_secrets_and_how_a_message_is_carried_is_none() -> None:
    headers = {
        "x-tenant": "acme",
        "accept-encoding": "identity",
        "content-length": "123456",
        "user-agent": "curl/8",
        "accept": "a/b",
    }
    assert set(secrets_of_headers(headers)) == {"acme"}


def test_of_a_body_what_is_not_kept_is_a_secret() -> None:
    whole = {
        "model": "m",
        "user": "johnny",
        "metadata": {"n": 7},
        "tier": "standard",
        "x": "k3y",
        "messages": [{"owner_id": "a1"}],
    }
    assert set(secrets_of_body(whole, {"model": "m", "messages": [{}]})) == {
        "johnny",
        "7",
        "k3y",
        "a1",
    }


def test_all_of_a_link_that_is_left_out_is_a_secret_but_for_its_plain_parts() -> None:
    link = "https://mcp.example/s/Path%20Secret1/server/mcp?k=v"
    secrets = set(secrets_of_body({"mcp_servers": [{"url": link}]}, {}))
    path = "/s/Path%20Secret1/server/mcp"
    assert secrets >= {
        link,
        f"https://mcp.example{path}",
        path,
        "/s/Path Secret1/server/mcp",
        "Path%20Secret1",
        "Path Secret1",
        "v",
    }
    assert not {"s", "server", "mcp", "mcp.example"} & secrets


def test_a_link_that_cannot_be_read_is_a_secret_as_it_is() -> None:
    assert "http://[bad/Key4711" in set(secrets_of_body({"mcp_servers": "http://[bad/Key4711"}, {}))


def test_a_listed_header_with_another_value_is_a_secret() -> None:
    secrets = set(
        secrets_of_headers(
            {"accept": 'application/json; k="0123456789abcdef"', "content-type": "application/json"}
        )
    )
    assert secrets >= {"0123456789abcdef"}
    assert "application/json" not in secrets


def test_the_parts_of_a_user_id_are_secrets_as_well() -> None:
    user = "user_0123456789abcdef_account_11111111-2222_session_33333333-4444"
    assert {user, "0123456789abcdef", "11111111-2222", "33333333-4444"} <= set(
        secrets_of_body({"metadata": user}, {})
    )


def test_of_a_link_the_query_the_fragment_and_the_password_are_secrets() -> None:
    assert {"s%20x", "s x", "frag", "pw"} <= set(secrets_of_link("https://u:pw@h/a?sig=s%20x#frag"))
    assert set(secrets_of_body({"url": "https://h/a?sig=s"}, {"url": "https://h/a"})) >= {"s"}
