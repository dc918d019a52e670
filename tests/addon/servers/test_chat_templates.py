"""Chat templates by the names of their models."""

import pytest

from converter.addon.servers.chat_templates import (
    EXACT,
    EXACT_LOOP,
    LOOP,
    NEVER,
    TEMPLATES,
    TemplateHistory,
    template_of,
)


def test_a_pattern_is_written_once_and_in_lower_case() -> None:
    patterns = [row.models for row in TEMPLATES]
    assert len(set(patterns)) == len(patterns)
    assert [pattern for pattern in patterns if pattern != pattern.lower()] == []


def test_a_model_that_always_thinks_has_no_switches() -> None:
    assert [row for row in TEMPLATES if row.always and (row.switches or row.bare_closer)] == []


@pytest.mark.parametrize(
    ("model", "pattern"),
    [
        ("deepseek-v4", "deepseek-?v4(?!"),
        ("deepseek-v4-flash", "deepseek-?v4(?!"),
        ("deepseek-v4.1", "deepseek-?v4[._]1"),
        ("poolside/laguna-xs-2.1", "laguna-?xs"),
        ("poolside/laguna-s-2.1", "laguna"),
    ],
)
def test_of_two_rows_the_closer_one_counts(model: str, pattern: str) -> None:
    row = template_of(model)
    assert row is not None
    assert row.models.partition("[._]\\d)")[0] == pattern


@pytest.mark.parametrize("model", ["", "qwen3-8b", "glm-4.6", "llama-3.3-70b", "gpt-oss-20b"])
def test_other_models_have_no_template_row(model: str) -> None:
    row = template_of(model)
    assert row is None or not row.opens


@pytest.mark.parametrize(
    ("model", "history"),
    [
        ("deepseek-ai/DeepSeek-R1-0528", NEVER),
        ("deepseek-v4-pro", EXACT),
        ("MiniMaxAI/MiniMax-M3", TemplateHistory()),
        ("google/gemma-4-31B-it", LOOP),
        ("openai/gpt-oss-120b", EXACT_LOOP),
        ("Qwen/Qwen3-8B", LOOP),
        ("Qwen/Qwen3.5-4B", LOOP),
        ("Qwen/Qwen3.6-35B-A3B", TemplateHistory(switches={"preserve_thinking": True})),
        ("moonshotai/Kimi-K2.6", TemplateHistory(switches={"preserve_thinking": True}, exact=True)),
        ("moonshotai/Kimi-K2-Thinking", EXACT_LOOP),
        ("zai-org/GLM-4.6", LOOP),
        ("zai-org/GLM-4.7-Flash", TemplateHistory(switches={"clear_thinking": False})),
        ("Qwen/Qwen3-Coder-30B", None),
        ("llama-3.3-70b", None),
    ],
)
def test_a_row_says_what_becomes_of_earlier_thoughts(
    model: str, history: TemplateHistory | None
) -> None:
    row = template_of(model)
    assert (row and row.history) == history
