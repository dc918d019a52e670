"""The official SDKs as clients: their replies, free of any dialect."""

import anthropic
import openai
from anthropic.types import Message
from openai.types import CompletionUsage

from tests.support.prompts import MODEL, Prompt, Reply

SECONDS = 600.0  # the default of both
SAMPLING = {"seed": 1, "temperature": 0.7}
GREEDY = {"temperature": 0}  # the Messages API has no seed


def openai_client(port: int, idle: float = SECONDS) -> openai.OpenAI:
    address = f"http://127.0.0.1:{port}/v1"
    return openai.OpenAI(base_url=address, api_key="none", max_retries=0, timeout=idle)


def anthropic_client(port: int, idle: float = SECONDS) -> anthropic.Anthropic:
    address = f"http://127.0.0.1:{port}"
    return anthropic.Anthropic(base_url=address, api_key="none", max_retries=0, timeout=idle)


def ask_openai(client: openai.OpenAI, prompt: Prompt) -> Reply:
    completion = client.chat.completions.create(
        model=MODEL,
        messages=prompt.messages,
        max_tokens=prompt.max_tokens,
        extra_body=SAMPLING | prompt.extra,
    )
    choice = completion.choices[0]
    parts = [
        ("thinking", getattr(choice.message, "reasoning_content", "")),
        ("text", choice.message.content or ""),
    ]
    return Reply(tuple(parts), choice.finish_reason, _tokens(completion.usage))


def stream_openai(client: openai.OpenAI, prompt: Prompt) -> Reply:
    chunks = client.chat.completions.create(
        model=MODEL,
        messages=prompt.messages,
        max_tokens=prompt.max_tokens,
        extra_body=SAMPLING | prompt.extra,
        stream=True,
        stream_options={"include_usage": True},
    )
    sums, finish, usage = {"reasoning_content": "", "content": ""}, "", None
    for chunk in chunks:
        usage = chunk.usage or usage
        for choice in chunk.choices:
            finish = choice.finish_reason or finish
            for name in sums:
                sums[name] += getattr(choice.delta, name, None) or ""
    return Reply(
        (("thinking", sums["reasoning_content"]), ("text", sums["content"])), finish, _tokens(usage)
    )


def _tokens(usage: CompletionUsage | None) -> tuple[int, int]:
    assert usage
    return usage.prompt_tokens, usage.completion_tokens


def ask_anthropic(client: anthropic.Anthropic, prompt: Prompt) -> Reply:
    return _reply(
        client.messages.create(
            model=MODEL,
            messages=prompt.user,
            max_tokens=prompt.max_tokens,
            extra_body=_fields(prompt),
        )
    )


def stream_anthropic(client: anthropic.Anthropic, prompt: Prompt) -> Reply:
    with client.messages.stream(
        model=MODEL, messages=prompt.user, max_tokens=prompt.max_tokens, extra_body=_fields(prompt)
    ) as stream:
        return _reply(stream.get_final_message())


def _fields(prompt: Prompt) -> dict[str, object]:
    return GREEDY | ({"system": prompt.system} if prompt.system else {})


def _reply(message: Message) -> Reply:
    assert (message.type, message.role, message.model, message.stop_sequence) == (
        "message",
        "assistant",
        MODEL,
        None,
    )
    assert message.id.startswith("msg_")
    assert "chatcmpl" not in message.id
    parts = tuple(_part(block) for block in message.content)
    return Reply(
        parts, str(message.stop_reason), (message.usage.input_tokens, message.usage.output_tokens)
    )


def _part(block: object) -> tuple[str, str]:
    if isinstance(block, anthropic.types.ThinkingBlock):
        assert block.signature, "clients drop unsigned thinking"
        return "thinking", block.thinking
    assert isinstance(block, anthropic.types.TextBlock)
    return "text", block.text
