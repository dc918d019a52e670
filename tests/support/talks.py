"""Talks of official SDKs that leave something of them here: each turn on a connection of its own, which any worker may get.

A talk takes one turn: it gets the address and what its last turn has left, and returns what the model said, and what the
next turn needs.
"""

import asyncio
import random
from collections.abc import Callable
from typing import Any

import anthropic
import openai
from agents import Agent, OpenAIConversationsSession, OpenAIResponsesModel, Runner, SQLiteSession

from tests.support.agents_sdk import QUIET

type Talk = Callable[[str, Any], tuple[str, Any]]
KEY = "sk-local-of-a-user"
NAMED: dict[str, Any] = {
    "api_key": KEY,
    "default_headers": {"connection": "close"},
    "max_retries": 0,
}
MORE: Any = {"role": "user", "content": "more"}
WANTS_THOUGHTS = "qwen3.6-tiny"
"""A model whose row says that it wants its earlier thoughts."""


def openai_at(address: str) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{address}/v1", **NAMED)


def anthropic_at(address: str) -> anthropic.Anthropic:
    return anthropic.Anthropic(base_url=address, **NAMED)


def responds(client: openai.OpenAI, streamed: bool | None = None, **fields: Any) -> Any:
    """One turn of the Responses API, streamed or whole."""
    streamed = bool(random.getrandbits(1)) if streamed is None else streamed
    events: Any = client.responses.create(model="small", input="more", stream=streamed, **fields)
    return list(events)[-1].response if streamed else events


def from_response(address: str, before: Any) -> tuple[str, Any]:
    with openai_at(address) as client:
        reply = responds(client, previous_response_id=before or openai.omit)
        return reply.output_text, reply.id


def in_conversation(address: str, before: Any) -> tuple[str, Any]:
    with openai_at(address) as client:
        conversation = before or client.conversations.create().id
        reply = responds(client, conversation=conversation)
        items = list(client.conversations.items.list(conversation, limit=100))
        turns = [item for item in items if getattr(item, "role", "") == "user"]
        assert len(turns) == int(reply.output_text)
        return reply.output_text, conversation


def in_thread(address: str, before: Any) -> tuple[str, Any]:
    thread = {"type": "continue", "previous_message_id": before} if before else {"type": "create"}
    with (
        anthropic_at(address) as client,
        client.beta.messages.stream(
            model="small",
            max_tokens=100,
            messages=[MORE],
            extra_body={"thread": thread},
            betas=["message-threads-2026-08-12"],
        ) as stream,
    ):
        reply = stream.get_final_message()
        return reply.content[-1].text, reply.id  # type: ignore[union-attr]


def without_thoughts(address: str, before: Any) -> tuple[str, Any]:
    """A client that sends its whole history, without the thoughts."""
    messages = [*(before or []), MORE]
    with openai_at(address) as client:
        reply = client.chat.completions.create(model=WANTS_THOUGHTS, messages=messages)
    text = reply.choices[0].message.content or ""
    return text, [*messages, {"role": "assistant", "content": text}]


def messages_without_thoughts(address: str, before: Any) -> tuple[str, Any]:
    """The same with the Messages API."""
    messages = [*(before or []), MORE]
    with anthropic_at(address) as client:
        reply = client.messages.create(model=WANTS_THOUGHTS, messages=messages, max_tokens=100)
    text = reply.content[-1].text  # type: ignore[union-attr]
    return text, [*messages, {"role": "assistant", "content": text}]


def agent_run(address: str, **options: Any) -> Any:
    """One turn of an agent, whose options are made of its client."""

    async def run() -> Any:
        async with openai.AsyncOpenAI(base_url=f"{address}/v1", **NAMED) as client:
            agent = Agent(name="counter", model=OpenAIResponsesModel("small", client))
            begun = {name: make(client) for name, make in options.items()}
            return begun, await Runner.run(agent, "more", run_config=QUIET, **begun)

    return asyncio.run(run())


def agent_with_conversations(address: str, before: Any) -> tuple[str, Any]:
    """The session whose history is kept here; it is known by its id alone."""

    def session(client: openai.AsyncOpenAI) -> OpenAIConversationsSession:
        return OpenAIConversationsSession(conversation_id=before, openai_client=client)

    begun, result = agent_run(address, session=session)
    return result.final_output, begun["session"].session_id


def agent_with_file(address: str, before: Any) -> tuple[str, Any]:
    """The session whose history the client keeps, here for one turn after the other."""
    session = SQLiteSession("counter")
    try:
        asyncio.run(session.add_items(before or []))
        _, result = agent_run(address, session=lambda _: session)
        return result.final_output, asyncio.run(session.get_items())
    finally:
        session.close()


def agent_from_response(address: str, before: Any) -> tuple[str, Any]:
    _, result = agent_run(address, previous_response_id=lambda _: before)
    return result.final_output, result.last_response_id


TALKS: tuple[Talk, ...] = (
    from_response,
    in_conversation,
    in_thread,
    without_thoughts,
    messages_without_thoughts,
    agent_with_conversations,
    agent_with_file,
    agent_from_response,
)
RESTORED = {without_thoughts, messages_without_thoughts}
