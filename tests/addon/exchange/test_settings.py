"""The options: one row each, in the docs, and refused by name when they make no sense."""

import re
from pathlib import Path

import pytest

from converter.addon.exchange import settings
from converter.addon.exchange.option_readers import MemoryLimits
from converter.addon.exchange.settings import OPTIONS, Option
from converter.core.dialects.table import DIALECTS
from converter.core.model.initial_state import InitialState
from converter.core.reading.families import FAMILIES
from tests.support.rows import rows_of

ROWS = rows_of(__file__)

PAGE = Path(__file__).parents[3] / "docs" / "options.md"
CONTRACT = ROWS["contract"]
"""The issues' own table, but for the signature, whose value is ours to choose."""


def _option(name: str) -> Option:
    return next(option for option in OPTIONS if option.name == name)


def _documented() -> dict[str, tuple[str, str]]:
    """The page's list: each option's values, and its meaning."""
    listed = PAGE.read_text().partition("\n## Options\n")[2].partition("\n### ")[0]
    lines = re.findall(r"^- `(\w+)` \((.+?)\): (.+)$", listed, re.MULTILINE)
    return {name: (values, meaning) for name, values, meaning in lines}


def _shown(option: Option) -> str:
    """A default as the page writes it."""
    match option.default:
        case bool(value):
            return str(value).lower()
        case list(values):
            return ", ".join(map(str, values))
        case value:
            return str(value)


def _value(option: Option) -> str:
    """The values of an option in the docs: its choices or its type, and the default."""
    default = _shown(option)
    if option.type is str and option.choices:
        return ", ".join(f"`{name}`" if name == default else name for name in option.choices)
    kind = {str: "str", bool: "bool", int: "int"}.get(option.type, "list")
    return f"{kind}: `{default}`" if default else kind


def test_the_page_has_a_row_for_each_option_in_order() -> None:
    assert list(_documented()) == [f"think_{option.name}" for option in OPTIONS]


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.name)
def test_the_page_tells_an_options_type_default_and_meaning(option: Option) -> None:
    value, meaning = _documented()[f"think_{option.name}"]
    assert value == _value(option)
    assert len(meaning) > 10


@pytest.mark.parametrize(
    "option", [option for option in OPTIONS if option.choices], ids=lambda option: option.name
)
def test_the_page_tells_every_choice(option: Option) -> None:
    text = " ".join(_documented()[f"think_{option.name}"]).replace("`", "")
    assert [choice for choice in option.choices if choice not in text] == []


def test_the_defaults_are_those_of_the_contract() -> None:
    defaults = {f"think_{option.name}": _shown(option) for option in OPTIONS}
    assert {name: defaults[name] for name in CONTRACT} == CONTRACT


def test_every_field_of_the_settings_is_an_option() -> None:
    fields = [name for name in settings.Settings.__dataclass_fields__ if name != "fast"]
    assert [option.name for option in OPTIONS] == fields


def test_the_environment_has_every_frame_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("THINK_FAST", raising=False)
    assert settings.read().fast
    monkeypatch.setenv("THINK_FAST", "false")
    assert not settings.read().fast


def test_a_servers_own_endpoints_are_used_where_their_option_says_so() -> None:
    assert set(_option("native").choices) == {
        dialect.requests.native_option for dialect in DIALECTS if dialect.requests.native_option
    }
    assert settings.read().native == set()
    assert settings.read({"native": ["messages"]}).native == {"messages"}


def test_every_option_has_a_meaning_of_one_line() -> None:
    assert all(option.help_text and "\n" not in option.help_text for option in OPTIONS)


def test_what_is_not_written_is_the_default() -> None:
    chosen = settings.read({"signature": "mine"})
    assert chosen.signature == "mine"
    assert (chosen.start, chosen.fields, chosen.flows) == (
        InitialState.AUTO,
        ("reasoning_content",),
        "",
    )


def test_auto_is_every_family_that_cannot_be_mistaken_for_prose() -> None:
    assert settings.read().tags == tuple(
        family for family in FAMILIES if not family.ambiguous_in_prose
    )


def test_no_tags_are_no_tags() -> None:
    assert settings.read({"tags": []}).tags == ()


def test_tags_are_families_and_pairs() -> None:
    chosen = settings.read({"tags": ["reasoning", "<a> </a>"]}).tags
    assert [(family.open, family.close) for family in chosen] == [
        ("<reasoning>", "</reasoning>"),
        ("<a>", "</a>"),
    ]


@pytest.mark.parametrize("fields", [["reasoning"], ["reasoning", "reasoning_content"]])
def test_fields_are_one_or_both_in_the_order_written(fields: list[str]) -> None:
    assert settings.read({"fields": fields}).fields == tuple(fields)
    assert settings.read({"fields": [*fields, *fields]}).fields == tuple(fields)


@pytest.mark.parametrize("start", [InitialState.AUTO, InitialState.TEXT, InitialState.THINKING])
def test_a_reply_starts_where_the_option_says(start: InitialState) -> None:
    assert settings.read({"start": start.value}).start is start


def test_an_empty_signature_is_one() -> None:
    assert settings.read({"signature": ""}).signature == ""


def test_a_server_is_a_row_and_auto_is_none() -> None:
    named = settings.read({"server": "vllm"}).server
    assert named is not None
    assert named.name == "vllm"
    assert settings.read({"server": "auto"}).server is None


BAD: dict[str, tuple[str, object, list[str]]] = ROWS["bad"]


@pytest.mark.parametrize(("name", "written", "allowed"), BAD.values(), ids=BAD)
def test_a_bad_value_is_refused_by_its_options_name_and_what_is_allowed(
    name: str, written: object, allowed: list[str]
) -> None:
    with pytest.raises(ValueError, match=f"^think_{name}: ") as refused:
        settings.read({name: written})
    message = str(refused.value)
    assert [word for word in allowed if word not in message] == []
    assert "\n" not in message


@pytest.mark.parametrize("written", ["", "5", "flows", "flows=", "flows=-1", "flow=1", "flows=1.5"])
def test_limits_are_names_with_numbers(written: str) -> None:
    with pytest.raises(ValueError, match="think_limits: expected one of: request_mb=NUMBER, flows"):
        settings.read({"limits": [written]})


def test_limits_are_counted_in_numbers_and_bytes() -> None:
    limits = settings.read({"limits": ["flows=7", "flows_mb=2", "replies=0"]}).limits
    assert limits == MemoryLimits(32 << 20, 7, 2 << 20, 0, 32 << 20)


def test_no_existing_option_is_listed_as_removed() -> None:
    assert settings.REMOVED.keys() & {option.name for option in OPTIONS} == set()


@pytest.mark.parametrize("written", ["", "memory:x", "file:/x", "sqlite:/no/such/folder/x"])
def test_a_memory_is_at_an_address(written: str) -> None:
    with pytest.raises(ValueError, match="think_memory: expected"):
        settings.read({"memory": written})


def test_the_memory_of_workers_is_named_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("THINK_MEMORY", raising=False)
    assert settings.read().memory == "memory:"
    monkeypatch.setenv("THINK_MEMORY", "sqlite:")
    assert settings.read().memory == "sqlite:"
    assert settings.read({"memory": "memory:"}).memory == "memory:"


def test_what_is_kept_is_kept_for_a_day_at_least() -> None:
    with pytest.raises(ValueError, match="think_memory_days: expected a number of days from 1"):
        settings.read({"memory_days": 0})
