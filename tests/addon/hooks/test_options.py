"""The addon's options, as mitmproxy keeps them and as an exchange notes them."""

import json
from pathlib import Path

import pytest
from mitmproxy import exceptions

from converter.addon.exchange import settings
from converter.addon.hooks import options
from converter.core.model.initial_state import InitialState
from tests.support.addon_flows import running
from tests.support.harness import start_proxy
from tests.support.rows import rows_of

pytestmark = pytest.mark.slow

ROWS = rows_of(__file__)


def test_every_row_is_an_option_with_its_default() -> None:
    with running(server="auto") as (_, context):
        for row in settings.OPTIONS:
            assert getattr(context.options, f"think_{row.name}") == row.default


def test_the_options_in_force_are_plain_values_by_short_names() -> None:
    with running(tags=["think", "thinking"], start="thinking"):
        noted = json.loads(json.dumps(options.recorded_values()))
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


@pytest.mark.parametrize(
    ("written", "message"), ROWS["a name that is none stops the start with the next best"]
)
def test_a_name_that_is_none_stops_the_start_with_the_next_best(
    written: str, message: str, tmp_path: Path
) -> None:
    with start_proxy(["regular"], ["--set", written], tmp_path, "unknown") as proxy:
        proxy.exit_status()
    assert message in proxy.output
    assert "Error logged during startup, exiting..." in proxy.output


def test_a_number_in_the_configuration_is_taken_for_a_text(tmp_path: Path) -> None:
    folder = tmp_path / "mitmproxy"
    folder.mkdir()
    (folder / "config.yaml").write_text("think_ping: 5\nthink-memory-key: x\n")
    with start_proxy(["regular"], [], tmp_path, "number") as proxy:
        proxy.exit_status()
    assert proxy.troubles() == [
        "think: no option think-memory-key; keep the memory where only its user reads: a file, or "
        "Redis with a password"
    ]


def test_a_text_in_the_configuration_is_taken_for_a_list_of_one(tmp_path: Path) -> None:
    folder = tmp_path / "mitmproxy"
    folder.mkdir()
    (folder / "config.yaml").write_text("think_tags: auto\nthink-fields: reasoning\n")
    with start_proxy(["regular"], [], tmp_path, "list") as proxy:
        proxy.check()


def test_a_value_of_another_kind_in_the_configuration_is_one_line(tmp_path: Path) -> None:
    folder = tmp_path / "mitmproxy"
    folder.mkdir()
    (folder / "config.yaml").write_text("think_print: maybe\n")
    with start_proxy(["regular"], [], tmp_path, "kind") as proxy:
        proxy.exit_status()
    assert "Traceback" not in proxy.output
    assert "think: Expected <class 'bool'> for think_print" in proxy.output


def test_options_of_others_are_none_of_our_business(tmp_path: Path) -> None:
    with start_proxy(
        ["regular"], ["--set", "my_think=1", "--set", "thinking=x"], tmp_path, "others"
    ) as proxy:
        proxy.check()
