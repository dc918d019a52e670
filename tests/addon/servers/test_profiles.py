import pytest

from converter.addon.servers.profiles import SERVERS, by_name, system_switch, thinking_fields
from converter.core.model.conversation import ThinkingSwitch
from tests.support.rows import rows_of

ROWS = rows_of(__file__)

MLX = ["mlx-lm", "vllm-mlx", "rapid-mlx", "fusion-mlx"]
TEMPLATE_SERVERS = ["nim", "vllm", "sglang", "llama.cpp", "transformers", "dasllama", *MLX]
EFFORT_SERVERS = ["litellm", "ogx", "generic"]
ENABLED = ThinkingSwitch("enabled", 8000)


def fields(
    name: str,
    switch: ThinkingSwitch | None = None,
    effort: str | None = None,
    model: str = "m",
    parses: bool = False,
) -> dict[str, object]:
    return thinking_fields(by_name(name), switch, effort, model, parses)


def template(body: dict[str, object]) -> dict[str, object]:
    inner = body.get("chat_template_kwargs", {})
    assert isinstance(inner, dict)
    return inner


def test_every_server_of_the_documentation_has_a_row() -> None:
    others = {"ollama", "lmstudio", "xinference", "mlx-vlm"}
    assert {server.name for server in SERVERS} == {*TEMPLATE_SERVERS, *EFFORT_SERVERS, *others}


def test_an_unknown_name_is_refused_with_the_names_there_are() -> None:
    with pytest.raises(
        ValueError,
        match=r"'vlm'.*dasllama, fusion-mlx, generic, litellm, llama\.cpp, lmstudio, mlx-lm, mlx-v",
    ):
        by_name("vlm")


def test_nim_is_probed_before_vllm_which_it_may_contain() -> None:
    names = [server.name for server in SERVERS]
    assert names.index("nim") < names.index("vllm")


@pytest.mark.parametrize(
    "mark", [mark for server in SERVERS for mark in server.fingerprints], ids=str
)
def test_a_mark_is_a_header_or_a_field_of_a_path(mark: object) -> None:
    assert getattr(mark, "path", "").startswith("/")
    assert bool(getattr(mark, "header", "")) != bool(getattr(mark, "field", ""))


@pytest.mark.parametrize(
    "switch",
    [
        ENABLED,
        ThinkingSwitch("disabled"),
        ThinkingSwitch("adaptive"),
        ThinkingSwitch("between_tools"),
        None,
    ],
)
@pytest.mark.parametrize("effort", [None, "low", "max"])
def test_a_strict_server_gets_no_word_about_thinking(
    switch: ThinkingSwitch | None, effort: str | None
) -> None:
    assert fields("xinference", switch, effort, "gpt-oss") == {}


@pytest.mark.parametrize("name", EFFORT_SERVERS)
@pytest.mark.parametrize(
    ("switch", "effort", "sent"),
    ROWS["a server that nobody knows gets the effort of openais reference"],
)
def test_a_server_that_nobody_knows_gets_the_effort_of_openais_reference(
    name: str, switch: ThinkingSwitch | None, effort: str | None, sent: dict[str, object]
) -> None:
    assert fields(name, switch, effort) == sent


def test_mlx_vlm_is_switched_beside_its_template() -> None:
    assert fields("mlx-vlm", ENABLED, "low") == {"enable_thinking": True}
    assert fields("mlx-vlm", ThinkingSwitch("disabled")) == {"enable_thinking": False}


@pytest.mark.parametrize("name", TEMPLATE_SERVERS)
@pytest.mark.parametrize(
    ("mode", "on"), [("enabled", True), ("disabled", False), ("between_tools", False)]
)
def test_the_switch_is_set_in_every_spelling_of_the_templates(
    name: str, mode: str, on: bool
) -> None:
    sent = template(fields(name, ThinkingSwitch(mode)))  # type: ignore[arg-type]
    assert [sent["enable_thinking"], sent["thinking"], sent["reasoning"]] == [on] * 3
    assert sent["thinking_mode"] == ("enabled" if on else "disabled")


@pytest.mark.parametrize(
    "switch", [ThinkingSwitch("adaptive"), None], ids=["adaptive", "not asked"]
)
@pytest.mark.parametrize("server", [server.name for server in SERVERS])
def test_what_is_left_to_the_model_sets_no_switch(
    server: str, switch: ThinkingSwitch | None
) -> None:
    assert fields(server, switch) == {}


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("nim", "nvext.max_thinking_tokens"),
        ("vllm", "chat_template_kwargs.thinking_budget"),
        ("sglang", "chat_template_kwargs.thinking_budget"),
        ("llama.cpp", "thinking_budget_tokens"),
        ("llama.cpp", "chat_template_kwargs.thinking_budget"),
    ],
)
def test_the_budget_goes_where_the_server_reads_it(name: str, path: str) -> None:
    value: object = fields(name, ENABLED)
    for part in path.split("."):
        assert isinstance(value, dict)
        value = value[part]
    assert value == 8000


def test_vllm_gets_its_own_budget_field_only_with_a_reasoning_parser() -> None:
    assert "thinking_token_budget" not in fields("vllm", ENABLED)
    assert fields("vllm", ENABLED, parses=True)["thinking_token_budget"] == 8000


@pytest.mark.parametrize("name", TEMPLATE_SERVERS)
def test_no_limit_sends_no_budget(name: str) -> None:
    assert "budget" not in str(fields(name, ThinkingSwitch("enabled", None), parses=True))
    assert "max_thinking_tokens" not in str(fields(name, ThinkingSwitch("enabled", None)))


@pytest.mark.parametrize(("name", "effort", "sent"), ROWS["effort goes out in the servers levels"])
def test_effort_goes_out_in_the_servers_levels(
    name: str, effort: str, sent: dict[str, object]
) -> None:
    assert fields(name, ThinkingSwitch("adaptive"), effort, "openai/GPT-OSS:20b") == sent


@pytest.mark.parametrize("name", ["ollama", "lmstudio"])
def test_effort_goes_only_to_models_that_know_levels(name: str) -> None:
    """Ollama answers an effort for a model that cannot think with a 400."""
    assert fields(name, ENABLED, "high", "qwen2.5-coder") == {}


@pytest.mark.parametrize(
    ("budget", "effort"),
    [(1024, "low"), (2047, "low"), (2048, "medium"), (4095, "medium"), (4096, "high")],
)
def test_a_budget_without_effort_becomes_one(budget: int, effort: str) -> None:
    assert fields("ollama", ThinkingSwitch("enabled", budget), model="gpt-oss:20b") == {
        "reasoning_effort": effort
    }


def test_a_requested_effort_wins_over_the_budget() -> None:
    assert fields("vllm", ENABLED, "low")["reasoning_effort"] == "low"


@pytest.mark.parametrize("name", ["ollama", *TEMPLATE_SERVERS])
def test_thinking_off_sends_no_effort_beside_it(name: str) -> None:
    sent = fields(name, ThinkingSwitch("disabled"), "high", "gpt-oss")
    assert "high" not in str(sent)
    assert sent


def test_ollama_turns_thinking_off_with_an_effort_of_none() -> None:
    assert fields("ollama", ThinkingSwitch("disabled"), model="qwen3") == {
        "reasoning_effort": "none"
    }


def test_nim_keeps_earlier_thoughts_when_thinking_is_on() -> None:
    assert template(fields("nim", ENABLED))["clear_thinking"] is False
    assert "clear_thinking" not in template(fields("nim", ThinkingSwitch("disabled")))


def test_a_row_is_not_changed_by_writing() -> None:
    first = fields("vllm", ENABLED)
    template(first)["extra"] = 1
    assert "extra" not in template(fields("vllm", ENABLED))


V1, V1_5 = "nvidia/llama-3.3-nemotron-super-49b-v1", "nvidia/llama-3.3-nemotron-super-49b-v1.5"
ON, OFF = ThinkingSwitch("enabled"), ThinkingSwitch("disabled")


@pytest.mark.parametrize(
    ("server", "switch", "model", "text"), ROWS["models that are switched in the system turn"]
)
def test_models_that_are_switched_in_the_system_turn(
    server: str, switch: ThinkingSwitch | None, model: str, text: str
) -> None:
    assert system_switch(by_name(server), switch, model) == text
