"""Requests that a server refuses for one part, and that go out again without this part.

Such a part is a word of a schema that the server's grammar does not know, a picture for a model
that cannot see, the choice among tools where the server reads no calls, an order of turns that its
template does not take, or a field that it does not know.

A row has words of a server's error, and the names of the parts to leave out. `PARTS` says of each
part what the request is without it, and under which name later requests lack it too.
"""

import hashlib
import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple
from urllib.parse import unquote_plus

from converter.addon.servers import refused_fields, refused_messages, unread_replies
from converter.addon.servers.refused_turns import (
    by_turns,
    continued,
    with_one_begun_turn,
    with_one_system_turn,
    without_thought_behind_prefill,
)
from converter.addon.servers.unread_replies import READER, RENDERED
from converter.core.dialects import context_length
from converter.core.model.raw_messages import messages_of, strings_of, with_each, with_each_part
from converter.core.wire import json_text

STATUSES = (400, 404, 415, 422, 500)
"""mlx-lm 0.32 answers 404 to what it cannot read; FastAPI 422 to a field that it does not know."""
PICTURES, PICTURES_ONCE = "pictures", "pictures, this once"
TOOL_CHOICE = "tool_choice"
"""The choice that is left to the model. The tools stay: vLLM writes them into the prompt all the
same, and the calls come as text, which the addon reads.
"""
SCHEMAS, FIELDS = "words of schemas", "fields"
"""Parts of which a server names one at a time."""
PREFILL, BEGUN, TWO_BEGUN = "thinking behind a prefill", "a begun turn", "a second begun turn"
HALVES, ARGUMENTS = "halves of characters", "arguments as they came"
IDS, NULLS = "long ids of calls", "content that is null"
THOUGHTLESS, USERLESS = "calls without a thought", "a history without a user's turn"
PICTURES_OF_TOOLS = "pictures in results of tools"
JSON_SCHEMA, JSON_OBJECT = "a format that is a schema", "a format that is any object"
THINKING, CHOICE = "thinking before a forced choice", "a forced choice"
SYSTEM, NEIGHBOURS = "later system turns", "neighbours of one role"
ODD = "schemas without a meaning"
"""References that lead nowhere, unknown types, `true` for a schema: no grammar has a rule for them,
and a schema that allows anything says as much.
"""
_LIMITS = """
pattern format minLength maxLength minimum maximum exclusiveMinimum exclusiveMaximum multipleOf
minItems maxItems uniqueItems contains minContains maxContains unevaluatedItems
minProperties maxProperties propertyNames patternProperties unevaluatedProperties
not if then else dependencies dependentRequired dependentSchemas
"""
_DEEPEST = 100
"""Levels of a schema that are pared; those further in say nothing."""
SCHEMA_KEYS = frozenset(_LIMITS.split())
"""Words that only narrow a value: without them a schema says less, and nothing else."""
_ROWS: tuple[tuple[str, ...], ...] = (
    # llama.cpp and LM Studio 0.4.19 of a pattern without anchors; newer llama.cpp of a broken one
    (r"Pattern must start with '\^'|Invalid pattern ", "pattern"),
    # llama.cpp of September 2026; before that
    (r"JSON schema error at #|Unrecognized schema: ", ODD),
    # llama.cpp, which went on without its grammar in b7786, and LM Studio 0.4.20: of escapes such
    # as `\d`, of too many repetitions, of objects without properties
    (r"[Ff]ailed to parse grammar|JSON schema conversion failed", *SCHEMA_KEYS, ODD),
    # vLLM since 0.8.4, with xgrammar (two) and outlines (three)
    (r"not supported by xgrammar|json schema into a (grammar|regex)", *SCHEMA_KEYS),
    (r"unsupported feature for structured outputs|anchored universal start state", *SCHEMA_KEYS),
    (r"Grammar error: ", *SCHEMA_KEYS),  # vLLM with guidance, as 0.19: a format, a word
    # llama.cpp without a projector since b5394, and Ollama 0.33 that runs it; before that
    (r"image input is not supported|content part type: \W*image_url", PICTURES),
    # LM Studio 0.3.8 to 0.3.30; Ollama 0.30 and later, in its cloud and of MLX
    (r"[Mm]odel does not support images?\b", PICTURES),
    (r"missing data required for image input", PICTURES),  # Ollama 0.6 to 0.31
    # vLLM 0.10 and later; a model that has eyes which are shut
    (r"is not a multimodal model|At most 0 (image|vision_chunk)\(s\)", PICTURES),
    # SGLang 0.5.23; mlx-lm 0.32 with a 404; rapid-mlx 0.16
    (r"received unsupported content type \W*(image|video|audio)_url", PICTURES),
    (r"Only 'text' content type is supported", PICTURES),
    (r"is serving text-only; image input is unsupported", PICTURES),
    # vLLM without --enable-auto-tool-choice and --tool-call-parser, as 0.32
    (r'"auto" tool choice requires --enable-auto-tool-choice', TOOL_CHOICE),
    # llama.cpp of 2025 and 2026, LM Studio; 11549 has the thought go on, and refuses two such turns
    (r"prefill is incompatible with enable_thinking", PREFILL),
    (r"Cannot have 2 or more assistant messages at the end", TWO_BEGUN),
    # vLLM with the tokenizer of Mistral
    (r"Expected last role User or Tool .{0,99} but got assistant", BEGUN),
    # templates: Qwen3.5, with "Unexpected message role" of a developer's; Gemma, Mistral
    (r"System (message|role|prompt)s? must (be|come) (at the beginning|first)", SYSTEM),
    (r"Unexpected message role|[Oo]nly the first message (can|may) be .?system", SYSTEM),
    (r"roles must alternate user/assistant", NEIGHBOURS),
    # llama.cpp, of a text that its reader takes for no JSON
    (r"Failed to parse tool call arguments as JSON", ARGUMENTS),
    # Mistral's API and its readers; its templates
    (r"Tool call id was .{0,99} but must be|[Tt]ool call IDs should be", IDS),
    # templates of Qwen3.5 and later, of a compacted loop
    (r"No user query found in messages", USERLESS),
    # Moonshot's API; DeepSeek's
    (r"reasoning_content\W.{0,40}(is missing|must be passed back)", THOUGHTLESS),
    # vLLM; OpenAI
    (r"Tool message content only supports text", PICTURES_OF_TOOLS),
    (r"[Ii]mage.{0,20} are only allowed for messages with role", PICTURES_OF_TOOLS),
    # llama-cpp-python 0.3.36, of all that is wrong in a message
    (r"AssistantMessage', 'content'\), 'msg': '[^']*', 'input': None", NULLS),
    # llama-cpp-python; DeepSeek's API; LM Studio
    (r"Input should be 'text' or 'json_object'", JSON_SCHEMA),
    (r"response_format type is unavailable", JSON_SCHEMA),
    (r"response_format.type'? must be 'json_schema' or 'text'", JSON_OBJECT),
    # APIs of DeepSeek, Xiaomi, Moonshot, Alibaba
    (r"[Tt]hinking mode does not support this tool_choice", THINKING),
    (r"tool_choice.{0,80}(incompatible with thinking|in thinking mode)", THINKING),
    # llama.cpp's reader of JSON; Python's writer
    (r"surrogate U\+D[8C]00|surrogates not allowed", HALVES),
    *unread_replies.ROWS,
)
_OF_PICTURES = (400, 415, 422, 500)
_PICTURE = re.compile(r"(?i)((?:\w+\W+){0,2})(?<![a-z])(?:image|vision)\w*((?:\W+\w+){0,2})")
_ABOUT_ONE = re.compile(
    r"(?i)\b(?:too (?:large|big|many|long|small)|at most|maximum|exceeds?|limit|loading|load"
    r"|fetch\w*|download\w*|decod\w*|identify|corrupt\w*|truncated|timed out|base64|pixels?"
    r"|resolution|dimensions?|size|url)\b"
)
"""Words about a picture that the server would take otherwise, or that cannot be had."""
_NAMED = ("properties", "$defs", "definitions", "dependentSchemas")
"""Words of a schema under which each name is the user's own."""
_LISTED = ("anyOf", "oneOf", "allOf", "prefixItems", "items")
_INNER = ("items", "additionalProperties", "not", "if", "then", "else")
_BOOLEAN = ("additionalProperties", "not", "if", "then", "else")
"""Words that may have a boolean in a schema's place, for a grammar as well."""
_TYPES = ("string", "number", "integer", "boolean", "object", "array", "null")
_HELD_IN = (("function", "parameters"), ("json_schema", "schema"))
"""Places of a schema in a tool and in a response format."""
_DATA = re.compile(r"data:([\w.+/-]*)[^,]*,")
_NO_WORD = re.compile(r"\W+")


def refused(status: int, error: str, sent: str = "") -> frozenset[str]:
    """Return the names of the parts that a server has refused; empty for any other error.

    Words that stand in the request that was `sent` do not count, because a server may repeat a
    client's own words.
    """
    if status not in STATUSES:
        return frozenset()
    for row, *parts in _ROWS:
        if match := re.search(row, error):
            return frozenset() if _stands_in(match[0], sent) else frozenset(parts)
    quoted, names = refused_fields.named(error)
    return frozenset() if quoted and _stands_in(quoted, sent) else names


def refuses_pictures(status: int, error: str, body: Mapping[str, object]) -> bool:
    """Return True if a refusal that no row has is about pictures at all: then this request may go
    out without its pictures, and nothing is remembered. Neither the model's name nor the request's
    own words count.
    """
    model = re.escape(str(body.get("model")))
    left = re.sub(rf"(?<!\w){model}(?!\w)", " ", error, flags=re.IGNORECASE)
    quoted = [match[0] for match in _PICTURE.finditer(left)]
    if status not in _OF_PICTURES or not quoted or _ABOUT_ONE.search(left):
        return False
    if context_length.find(error):
        return False
    texts = (text for text in strings_of([*messages_of(body)]) if not text.startswith("data:"))
    sent = "\n".join(texts)
    return any(not _stands_in(each, sent) for each in quoted)


def _stands_in(quoted: str, sent: str) -> bool:
    """Return True if a request holds the quoted text, as JSON or in an address."""
    plain = _NO_WORD.sub(" ", quoted).strip().lower()
    spellings = (sent, unquote_plus(sent)) if sent else ()
    return any(plain in _NO_WORD.sub(" ", spelled).lower() for spelled in spellings)


def schemas(body: Mapping[str, object]) -> list[object]:
    """Return the parts of a chat completion that hold a schema."""
    tools = body.get("tools")
    return [*(tools if isinstance(tools, list) else []), body.get("response_format")]


def pared(part: object, names: frozenset[str]) -> object:
    """Return a tool or a response format without the words of these names in its schema."""
    for outer, inner in _HELD_IN:
        held = part.get(outer) if isinstance(part, dict) else None
        if isinstance(part, dict) and isinstance(held, dict) and inner in held:
            schema = _schema(held[inner], held[inner], names)
            return {**part, outer: {**held, inner: schema}}
    return part


def _schema(part: object, root: object, names: frozenset[str], deepest: int = _DEEPEST) -> object:
    """Return a part of the schema `root` without the words of `names`. A part that means nothing
    becomes a schema that allows anything.
    """
    odd = ODD in names
    if not isinstance(part, dict) or not deepest:
        return {} if odd else part
    if odd and "$ref" in part and not _leads_somewhere(root, part["$ref"]):
        return {}
    left_out = names | _odd_of(part) if odd else names
    pare = partial(_schema, root=root, names=names, deepest=deepest - 1)
    return {name: _under(name, each, pare) for name, each in part.items() if name not in left_out}


def _under(name: str, value: object, pare: Callable[[object], object]) -> object:
    if name in _NAMED and isinstance(value, dict):
        return {own: pare(schema) for own, schema in value.items()}
    if name in _LISTED and isinstance(value, list):
        return [pare(schema) for schema in value]
    if name not in _INNER or (name in _BOOLEAN and isinstance(value, bool)):
        return value
    return pare(value)


def _leads_somewhere(at: object, reference: object) -> bool:
    first, *path = str(reference).split("/")
    for name in path:
        own = name.replace("~1", "/").replace("~0", "~")
        at = at.get(own) if isinstance(at, dict) else None
    return first == "#" and isinstance(at, dict)


def _odd_of(schema: Mapping[str, object]) -> frozenset[str]:
    """Return the schema's words without a meaning: an unknown type, an empty `enum`, empty
    `properties`, and with these `additionalProperties`.
    """
    types = schema.get("type", "object")
    odd = {"enum"} if schema.get("enum") == [] else set()
    if any(each not in _TYPES for each in (types if isinstance(types, list) else [types])):
        odd.add("type")
    if schema.get("properties") == {}:
        odd |= {"properties", "additionalProperties"}
    return frozenset(odd)


def without_schemas(
    body: Mapping[str, object], names: Callable[[str], frozenset[str] | None]
) -> Mapping[str, object]:
    """Return a chat completion whose schemas lack these words. `names`: by a schema's digest."""

    def spared(part: object) -> object:
        left_out = names(_digest(part))
        return pared(part, left_out) if left_out else part

    changed = dict(body)
    if isinstance(tools := body.get("tools"), list):
        changed["tools"] = [spared(tool) for tool in tools]
    if "response_format" in body:
        changed["response_format"] = spared(body["response_format"])
    return body if changed == body else changed


def refused_schemas(body: Mapping[str, object], names: frozenset[str]) -> dict[str, frozenset[str]]:
    """Return the digests of a request's schemas that hold a refused word, each with all words."""
    keys = names & (SCHEMA_KEYS | {ODD})
    held = [part for part in schemas(body) if keys and pared(part, keys) != part]
    return {_digest(part): keys for part in held}


def _digest(part: object) -> str:
    return hashlib.sha256(json_text.write(part)).hexdigest()


def without_choice(body: Mapping[str, object]) -> Mapping[str, object]:
    """Return a request with tools whose call the server is not to read. One of the Messages API
    has schemas under a name of their own, and its choice is an object. One of the Responses API
    stays: vLLM 0.32 refuses none there.
    """
    chosen, tools = body.get("tool_choice") or "auto", json_text.objects(body.get("tools"))
    mode = chosen.get("type") if isinstance(chosen, Mapping) else chosen
    if mode != "auto" or not tools or "input" in body:
        return body
    of_messages = any("input_schema" in tool for tool in tools)
    return {**body, "tool_choice": {"type": "none"} if of_messages else "none"}


def without_pictures(body: Mapping[str, object]) -> Mapping[str, object]:
    """Return a chat completion with a line of text in each picture's place."""
    return with_each(body, lambda message: with_each_part(message, _picture_as_text))


def _picture_as_text(part: object) -> object:
    if not isinstance(part, dict) or part.get("type") != "image_url":
        return part
    image = part.get("image_url")
    url = str(image.get("url") if isinstance(image, dict) else image)
    if data := _DATA.match(url):
        size = (len(url) - data.end()) * 3 // 4
        name = f"{data[1] or 'of no type'}, {size} bytes"
    else:
        name = url.partition("?")[0].rpartition("/")[2]
    return {"type": "text", "text": f"[picture left out, as this model cannot see: {name}]"}


class Part(NamedTuple):
    """A part of a request that a server may refuse. `without`: makes the request that lacks the
    part. `lesson`: the name under which later requests for the model lack it as well; empty: they
    do not. `then`: the part that goes where the server refuses this one twice.
    """

    without: Callable[[Mapping[str, object]], Mapping[str, object]]
    lesson: str = ""
    then: str = ""


PARTS: Mapping[str, Part] = {
    PICTURES: Part(without_pictures, "blind "),
    PICTURES_ONCE: Part(without_pictures),
    PICTURES_OF_TOOLS: Part(refused_messages.with_pictures_of_users, "shown ", then=PICTURES_ONCE),
    TOOL_CHOICE: Part(without_choice, "unchosen "),
    PREFILL: Part(without_thought_behind_prefill, "prefill "),
    BEGUN: Part(continued, "begun "),
    TWO_BEGUN: Part(with_one_begun_turn, "twice "),
    SYSTEM: Part(with_one_system_turn, "heads "),
    NEIGHBOURS: Part(by_turns, "turns "),
    USERLESS: Part(refused_messages.with_user_turn, "users "),
    THOUGHTLESS: Part(refused_messages.with_thoughts, "thoughts "),
    NULLS: Part(refused_messages.without_nulls, "nulls "),
    IDS: Part(refused_messages.with_ids_anew, "ids "),
    ARGUMENTS: Part(refused_messages.with_arguments_anew, "arguments "),
    JSON_SCHEMA: Part(refused_messages.for_any_object, "objects "),
    JSON_OBJECT: Part(refused_messages.for_schema, "schemas "),
    THINKING: Part(refused_messages.without_thinking, "thoughtful ", then=CHOICE),
    CHOICE: Part(refused_messages.without_force, "forced "),
    READER: Part(unread_replies.read_by_us, "untold "),
    HALVES: Part(dict, "halves "),  # written anew, which makes each half U+FFFD
}
"""Parts that a server takes from no request for its model."""
REFUSABLE = frozenset((*PARTS, RENDERED, SCHEMAS, FIELDS))
NATIVE_PARTS = frozenset((TOOL_CHOICE,))
"""Parts that are left out of requests to a server's own endpoint of the client's dialect too."""


def not_yet(names: frozenset[str], left_out: frozenset[str]) -> frozenset[str]:
    """Return the parts to leave out next, where some of those that a server names were left out."""
    rows = {name: PARTS.get(name) for name in names & left_out}
    return names | {row.then for row in rows.values() if row and row.then}


def without(
    body: Mapping[str, object], names: frozenset[str], may_lack: frozenset[str]
) -> Mapping[str, object]:
    """Return a request without the parts of these names, if it `may_lack` them."""
    if SCHEMAS in may_lack:
        body = without_schemas(body, refused_schemas(body, names).get)
    for name, part in PARTS.items():
        body = part.without(body) if name in names & may_lack else body
    fields = refused_fields.fields_of(names) if FIELDS in may_lack else frozenset()
    return refused_fields.without_fields(body, fields)
