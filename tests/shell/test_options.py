"""The addon's options, as mitmproxy keeps them and as an exchange notes them."""

import json

import pytest
from mitmproxy import exceptions

from converter import settings
from converter.initial_state import InitialState
from converter.shell import options
from tests.support.addon_flows import running


def test_every_row_is_an_option_with_its_default() -> None:
    with running(server="auto") as (_, context):
        for row in settings.OPTIONS:
            assert getattr(context.options, f"think_{row.name}") == row.default


def test_the_options_in_force_are_plain_values_by_short_names() -> None:
    with running(tags=["think", "thinking"], start="thinking"):
        noted = json.loads(json.dumps(options.in_force()))
    assert noted == {
        **noted,
        "tags": ["think", "thinking"],
        "start": "thinking",
        "server": "generic",
    }
    assert set(noted) == set(settings.RECORDED)
    assert settings.read(noted).start is InitialState.THINKING


@pytest.mark.parametrize(
    ("name", "value"), [("tags", ["<"]), ("flows", "~nothing"), ("fields", [])]
)
def test_a_bad_value_is_refused_by_the_options_name(name: str, value: object) -> None:
    with running() as (_, context), pytest.raises(exceptions.OptionsError, match=f"think_{name}"):
        context.options.update(**{f"think_{name}": value})
