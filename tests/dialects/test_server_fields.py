from converter.dialects.anthropic import request_reader as anthropic_request
from converter.dialects.responses import request_reader as responses_request
from converter.dialects.server_fields import SERVER_FIELDS


def test_each_goes_to_the_server_from_every_dialect() -> None:
    said = dict.fromkeys(SERVER_FIELDS, 1)
    turns = [{"role": "user", "content": "a"}]
    messages = anthropic_request.read({"model": "m", "max_tokens": 1, "messages": turns, **said})
    response = responses_request.read({"model": "m", "input": "a", **said}).conversation
    assert messages.extensions == response.extensions == said
