import base64

from converter.recordings.left_out import secrets_of_body, secrets_of_headers, secrets_of_link


def test_credentials_are_secrets_without_their_scheme() -> None:
    basic = base64.b64encode(b"me:pass word").decode()
    assert set(secrets_of_headers({"authorization": "Bearer sk-1"})) == {"sk-1"}
    assert set(secrets_of_headers({"authorization": "sk-2"})) == {"sk-2"}
    assert set(secrets_of_headers({"proxy-authorization": f"Basic {basic}"})) == {basic, "pass word"}


def test_a_cookie_s_values_are_secrets_and_its_names_are_none() -> None:
    assert set(secrets_of_headers({"cookie": 'session=abc; token="def"'})) == {"abc", "def"}


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
    whole = {"model": "m", "user": "johnny", "metadata": {"n": 7}, "tier": "standard", "x": "k3y", "messages": [{"owner_id": "a1"}]}
    assert set(secrets_of_body(whole, {"model": "m", "messages": [{}]})) == {"johnny", "7", "k3y", "a1"}


def test_the_parts_of_a_user_id_are_secrets_as_well() -> None:
    user = "user_0123456789abcdef_account_11111111-2222_session_33333333-4444"
    assert {user, "0123456789abcdef", "11111111-2222", "33333333-4444"} <= set(secrets_of_body({"metadata": user}, {}))


def test_of_a_link_the_query_the_fragment_and_the_password_are_secrets() -> None:
    assert {"s%20x", "s x", "frag", "pw"} <= set(secrets_of_link("https://u:pw@h/a?sig=s%20x#frag"))
    assert set(secrets_of_body({"url": "https://h/a?sig=s"}, {"url": "https://h/a"})) >= {"s"}
