"""Fields of local servers that every dialect lets through."""

from converter.dialects.server_fields import SERVER_FIELDS


def test_what_only_local_servers_know_is_listed_once_and_no_field_of_an_api_is() -> None:
    assert {"chat_template_kwargs", "grammar", "min_p"} <= SERVER_FIELDS
    assert not SERVER_FIELDS & {"model", "messages", "input", "tools", "temperature", "max_tokens"}
