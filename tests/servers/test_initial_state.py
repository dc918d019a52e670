"""Where a reply will begin."""

import pytest

from converter.servers.initial_state import of_model, of_prefill, of_prompt, of_switches, switch_of
from converter.settings import Start

TEXT, THINKING = Start.TEXT, Start.THINKING


@pytest.mark.parametrize(
    ("prompt", "begun"),
    [
        ("<|im_start|>assistant\n<think>\n", THINKING),
        ("<|im_start|>assistant\n", TEXT),
        ("<|im_start|>assistant\n<think>\n\n</think>\n\n", TEXT),
        ("what is <think>?<|im_end|>\n<|im_start|>assistant\n", TEXT),
        ("<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|><|START_THINKING|>", THINKING),
        ("]~b]ai\n<mm:think>", THINKING),
        ("", TEXT),
    ],
)
def test_the_rendered_prompt_tells_by_how_it_ends(prompt: str, begun: Start) -> None:
    assert of_prompt(prompt) is begun


@pytest.mark.parametrize(
    ("said", "begun"),
    [
        ("The answer", TEXT),
        ("<think>hm", THINKING),
        ("<think>hm</think>So", TEXT),
        ("<think>a</think>b<think>c", THINKING),
        ("", None),
        (None, None),
    ],
)
def test_a_reply_that_the_request_begins_goes_on_there(
    said: str | None, begun: Start | None
) -> None:
    assert (
        of_prefill(
            {
                "messages": [
                    {"role": "user", "content": "hi"},
                    {"role": "assistant", "content": said},
                ]
            }
        )
        is begun
    )


def test_a_last_turn_of_the_user_begins_nothing() -> None:
    assert of_prefill({"messages": [{"role": "user", "content": "<think>"}]}) is None
    assert of_prefill({"messages": []}) is None
    assert of_prefill({}) is None


@pytest.mark.parametrize(
    ("asked", "begun"),
    [
        ({"chat_template_kwargs": {"enable_thinking": False}}, TEXT),
        ({"chat_template_kwargs": {"thinking": False}}, TEXT),
        ({"chat_template_kwargs": {"thinking_mode": "disabled"}}, TEXT),
        ({"reasoning_effort": "none"}, TEXT),
        ({"think": False}, TEXT),
        ({"chat_template_kwargs": {"enable_thinking": True}}, None),
        ({"reasoning_effort": "low"}, None),
        ({}, None),
    ],
)
def test_thinking_turned_off_begins_with_text(
    asked: dict[str, object], begun: Start | None
) -> None:
    assert of_switches(asked) is begun


@pytest.mark.parametrize(
    ("model", "begun"),
    [
        ("deepseek-ai/DeepSeek-R1-Distill-Qwen-7B", THINKING),
        ("qwq-32b", THINKING),
        ("Qwen/Qwen3-4B-Thinking-2507", THINKING),
        ("Qwen3.5-9B", THINKING),
        ("Qwen/Qwen3-8B", None),
        ("zai-org/GLM-4.7-Flash", THINKING),
        ("GLM-4.6", None),
        ("MiniMax-M2", THINKING),
        ("NVIDIA-Nemotron-Nano-9B-v2", THINKING),
        ("DeepSeek-V3.1", TEXT),
        ("llama-3.3-70b", None),
        ("", None),
    ],
)
def test_the_name_of_a_model_tells_when_its_template_opens_the_thought(
    model: str, begun: Start | None
) -> None:
    assert of_model({"model": model}) is begun


def test_a_model_that_thinks_when_asked_opens_the_thought_then() -> None:
    assert (
        of_model({"model": "DeepSeek-V3.1", "chat_template_kwargs": {"thinking": True}}) is THINKING
    )


def test_requests_with_the_same_switches_begin_alike() -> None:
    off = {"chat_template_kwargs": {"enable_thinking": False}, "messages": [1]}
    assert switch_of(off) == switch_of({**off, "messages": [2], "temperature": 1})
    assert switch_of(off) != switch_of({"messages": [1]})
