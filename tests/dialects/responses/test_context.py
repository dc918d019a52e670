import pytest
from openai.types.responses import Response

from converter.dialects.responses.context import ResponseContext, begun
from tests.support.responses_of import context_of

pytestmark = pytest.mark.slow


def test_a_response_begins_as_the_apis_type() -> None:
    response = Response.model_validate(begun(context_of(tool_choice="required"), "served"))
    assert (response.id, response.model, response.tool_choice) == ("resp_1", "asked", "required")


def test_the_server_names_the_model_when_nobody_else_does() -> None:
    assert begun(ResponseContext(), "served")["model"] == "served"
