"""Traits of requests that servers refuse: `refused_traits` reads from an error which ones, and
`without_traits` makes the request without them, which `hooks/refused_request.py` has sent again.
Most functions that remove a single trait are in `refused_*.py`.

Examples of traits: a keyword of a JSON schema that the server's grammar does not know; a picture
for a model that cannot see; `tool_choice` on a server that reads no calls; an order of turns that
the chat template refuses; a field that the server does not know.

Each row of `_ROWS` has a pattern of a server's error, and the names of the traits that this error
refuses. `TRAITS` has for each name the function that makes the request without the trait.
"""

import hashlib
import re
from collections.abc import Callable, Mapping
from functools import partial
from urllib.parse import unquote_plus

from converter.addon.servers import refused_messages, unread_replies
from converter.addon.servers.refused_fields import FIELD, is_field, unknown_fields, without_fields
from converter.addon.servers.refused_turns import (
    with_alternating_turns,
    with_continuation,
    with_one_begun_turn,
    with_one_system_turn,
    without_thought_behind_prefill,
)
from converter.addon.servers.unread_replies import READER, RENDERED
from converter.core.dialects import context_length
from converter.core.model.raw_messages import map_messages, map_parts, messages_of, strings_of
from converter.core.wire import json_text
from converter.core.wire.bounds import DEEPEST

STATUSES = (400, 404, 415, 422, 500)
"""Statuses of a server's error that may refuse a trait of a request. mlx-lm 0.32 answers 404 to a
content part that it cannot read, FastAPI 422 to an unknown field.
"""
# Names of traits, as the log shows them.
PICTURES, PICTURES_ONCE = "pictures", "pictures, this once"
"""The trait of a request with pictures, under two names. `PICTURES` is remembered as a lesson, so
that later requests lose their pictures too. `PICTURES_ONCE` is removed from this request alone.
"""
TOOL_CHOICE = "tool_choice"
"""The trait `"tool_choice": "auto"`. A request without this trait has `"none"` and keeps its tools:
vLLM still writes the tools into the prompt, and the calls come as text, which the addon reads.
"""
SCHEMAS, FIELDS = "words of schemas", "fields"
"""Names for two kinds of traits: all keywords of schemas, and all body fields. A set of removable
traits has them, because a kind is removable as a whole. The lesson about a model that has refused
some schema has `SCHEMAS`; lessons about the schemas have the keywords.
"""
PREFILL, BEGUN, TWO_BEGUN = "thinking behind a prefill", "a begun turn", "a second begun turn"
HALVES, ARGUMENTS = "halves of characters", "arguments as they came"
IDS, NULLS = "long ids of calls", "content that is null"
THOUGHTLESS, USERLESS = "calls without a thought", "a history without a user's turn"
PICTURES_OF_TOOLS = "pictures in results of tools"
"""The trait of a request in which a tool's result has pictures."""
JSON_SCHEMA, JSON_OBJECT = "a format that is a schema", "a format that is any object"
THINKING, CHOICE = "thinking before a forced choice", "a forced choice"
SYSTEM, NEIGHBOURS = "later system turns", "neighbours of one role"
ODD = "schemas without a meaning"
"""The trait of a JSON schema with inner schemas that restrict nothing, but that a server's grammar
cannot express: a reference without a target, an unknown type, `true` as a schema. A request without
this trait has `{}` in their place, which allows anything.
"""
_RESTRICTIONS = """
pattern format minLength maxLength minimum maximum exclusiveMinimum exclusiveMaximum multipleOf
minItems maxItems uniqueItems contains minContains maxContains unevaluatedItems
minProperties maxProperties propertyNames patternProperties unevaluatedProperties
not if then else dependencies dependentRequired dependentSchemas
"""
"""Keywords of JSON schemas that only restrict a value, as one text with blanks between them."""
SCHEMA_KEYS = frozenset(_RESTRICTIONS.split())
"""Keywords of JSON schemas that only restrict a value, so that a request without them still works:
a schema without them allows all that it allowed, and more.
"""
KEYWORDS = SCHEMA_KEYS | {ODD}
"""Names of all traits of JSON schemas that a server may refuse."""
# The comment at a row, or above several rows, names the servers that send such errors.
_ROWS: tuple[tuple[str, ...], ...] = (
    # `Pattern must start` is sent by llama.cpp and LM Studio 0.4.19, for a pattern without anchors;
    # `Invalid pattern` is sent by newer llama.cpp
    (r"Pattern must start with '\^'|Invalid pattern ", "pattern"),
    # `JSON schema error` is sent by llama.cpp of September 2026, `Unrecognized schema` by an older
    # llama.cpp
    (r"JSON schema error at #|Unrecognized schema: ", ODD),
    # Sent by llama.cpp and LM Studio 0.4.20, for escapes such as `\d`, too many repetitions, or
    # objects without properties. llama.cpp b7786 sent no such error: it ignored the grammar
    (r"[Ff]ailed to parse grammar|JSON schema conversion failed", *SCHEMA_KEYS, ODD),
    # These two rows are sent by vLLM since 0.8.4, with its grammar engine xgrammar or outlines
    (r"not supported by xgrammar|json schema into a (grammar|regex)", *SCHEMA_KEYS),
    (r"unsupported feature for structured outputs|anchored universal start state", *SCHEMA_KEYS),
    (r"Grammar error: ", *SCHEMA_KEYS),  # sent by vLLM 0.19, with its engine guidance
    # `image input` is sent by llama.cpp since b5394 if it has no image projector, and by Ollama
    # 0.33, which runs llama.cpp; `content part type` is sent by llama.cpp before b5394
    (r"image input is not supported|content part type: \W*image_url", PICTURES),
    # Sent by LM Studio 0.3.8 to 0.3.30. Ollama since 0.30 sends it for models in its cloud and for
    # models that MLX runs
    (r"[Mm]odel does not support images?\b", PICTURES),
    (r"missing data required for image input", PICTURES),  # sent by Ollama 0.6 to 0.31
    # Both errors are sent by vLLM: `is not a multimodal model` since 0.10, for a model without
    # vision; `At most 0` for a vision model that was started with a limit of 0 images
    (r"is not a multimodal model|At most 0 (image|vision_chunk)\(s\)", PICTURES),
    # These three rows are sent by SGLang 0.5.23, by mlx-lm 0.32 (with a 404) and by rapid-mlx 0.16,
    # in this order
    (r"received unsupported content type \W*(image|video|audio)_url", PICTURES),
    (r"Only 'text' content type is supported", PICTURES),
    (r"is serving text-only; image input is unsupported", PICTURES),
    # Sent by a vLLM (0.32) that was started without --enable-auto-tool-choice and
    # --tool-call-parser
    (r'"auto" tool choice requires --enable-auto-tool-choice', TOOL_CHOICE),
    # Sent by llama.cpp of 2025 and 2026, and by LM Studio, if the last turn is the assistant's and
    # thinking is on
    (r"prefill is incompatible with enable_thinking", PREFILL),
    # Sent by llama.cpp 11549: it continues an assistant turn at the end, but refuses two of them
    (r"Cannot have 2 or more assistant messages at the end", TWO_BEGUN),
    # Sent by vLLM with the Mistral tokenizer, if the last turn is the assistant's
    (r"Expected last role User or Tool .{0,99} but got assistant", BEGUN),
    # Raised by the chat templates of Qwen3.5, Gemma and Mistral. `Unexpected message role` is what
    # the template of Qwen3.5 raises for the role `developer`
    (r"System (message|role|prompt)s? must (be|come) (at the beginning|first)", SYSTEM),
    (r"Unexpected message role|[Oo]nly the first message (can|may) be .?system", SYSTEM),
    (r"roles must alternate user/assistant", NEIGHBOURS),
    # Sent by llama.cpp if its JSON parser refuses the arguments of an earlier call
    (r"Failed to parse tool call arguments as JSON", ARGUMENTS),
    # `Tool call id was` is sent by Mistral's API and by servers with its tokenizer; the other error
    # is raised by Mistral's chat templates
    (r"Tool call id was .{0,99} but must be|[Tt]ool call IDs should be", IDS),
    # Raised by the chat templates of Qwen3.5 and later, if the client has dropped the first turns
    # of a tool loop, and with them the user's turn
    (r"No user query found in messages", USERLESS),
    # `is missing` is sent by Moonshot's API, `must be passed back` by DeepSeek's API
    (r"reasoning_content\W.{0,40}(is missing|must be passed back)", THOUGHTLESS),
    # These two rows are sent by vLLM and OpenAI, in this order
    (r"Tool message content only supports text", PICTURES_OF_TOOLS),
    (r"[Ii]mage.{0,20} are only allowed for messages with role", PICTURES_OF_TOOLS),
    # Sent by llama-cpp-python 0.3.36. Its error lists every fault of a message; this is the fault
    # of an assistant message whose content is null
    (r"AssistantMessage', 'content'\), 'msg': '[^']*', 'input': None", NULLS),
    # These three rows are sent by llama-cpp-python, DeepSeek's API and LM Studio, in this order
    (r"Input should be 'text' or 'json_object'", JSON_SCHEMA),
    (r"response_format type is unavailable", JSON_SCHEMA),
    (r"response_format.type'? must be 'json_schema' or 'text'", JSON_OBJECT),
    # Both rows are sent by the APIs of DeepSeek, Xiaomi, Moonshot and Alibaba
    (r"[Tt]hinking mode does not support this tool_choice", THINKING),
    (r"tool_choice.{0,80}(incompatible with thinking|in thinking mode)", THINKING),
    # Sent for half a character (a lone surrogate): `surrogate U+D800` by llama.cpp's JSON parser,
    # `surrogates not allowed` by the UTF-8 encoder of servers in Python
    (r"surrogate U\+D[8C]00|surrogates not allowed", HALVES),
    *unread_replies.ROWS,
)
"""Each row has a pattern of a server's error, and then the names of the traits that this error
refuses. The first row whose pattern occurs in an error counts.
"""
_PICTURE_STATUSES = (400, 415, 422, 500)
"""Statuses of an error that may refuse pictures although it fits no row of `_ROWS`."""
_PICTURE = re.compile(r"(?i)((?:\w+\W+){0,2})(?<![a-z])(?:image|vision)\w*((?:\W+\w+){0,2})")
"""Finds the word `image` or `vision` in an error, with up to two words before and after it."""
_ABOUT_ONE = re.compile(
    r"(?i)\b(?:too (?:large|big|many|long|small)|at most|maximum|exceeds?|limit|loading|load"
    r"|fetch\w*|download\w*|decod\w*|identify|corrupt\w*|truncated|timed out|base64|pixels?"
    r"|resolution|dimensions?|size|url)\b"
)
"""Finds words of an error about one picture, which is too large, is broken or cannot be fetched.
Such an error does not refuse all pictures.
"""
_NAMED = ("properties", "$defs", "definitions", "dependentSchemas")
"""Keywords of JSON schemas whose value is an object: a name chosen by the schema's author -> a
schema.
"""
_LISTED = ("anyOf", "oneOf", "allOf", "prefixItems", "items")
"""Keywords of JSON schemas whose value may be a list of schemas."""
_INNER = ("items", "additionalProperties", "not", "if", "then", "else")
"""Keywords of JSON schemas whose value may be one schema."""
_BOOLEAN = ("additionalProperties", "not", "if", "then", "else")
"""Keywords of JSON schemas whose value may be a boolean instead of a schema. A boolean there stays
as it is, because the grammars of servers take it.
"""
_TYPES = ("string", "number", "integer", "boolean", "object", "array", "null")
"""All types that JSON Schema defines."""
_SCHEMA_KEY_PAIRS = (("function", "parameters"), ("json_schema", "schema"))
"""The outer and the inner key under which a tool has its JSON schema, and the two keys under which
a response format has it.
"""
_DATA = re.compile(r"data:([\w.+/-]*)[^,]*,")
"""Matches the head of a `data:` URL; group 1 is the media type."""
_NO_WORD = re.compile(r"\W+")
"""Finds the blanks and punctuation between two words."""


def refused_traits(status: int, error: str, sent: str = "") -> frozenset[str]:
    """Return the names of the traits that a server's error refuses; empty for any other error, and
    for a status that is not in `STATUSES`.

    `sent`: the text of the request. If the words of `error` by which it fits a row also stand in
    `sent`, the result is empty, because the error may only quote the client.
    """
    if status not in STATUSES:
        return frozenset()
    for pattern, *traits in _ROWS:
        if match := re.search(pattern, error):
            return frozenset() if _is_in_request(match[0], sent) else frozenset(traits)
    quoted, names = unknown_fields(error)
    return frozenset() if quoted and _is_in_request(quoted, sent) else names


def refuses_pictures(status: int, error: str, body: Mapping[str, object]) -> bool:
    """Return True if an error that fits no row of `_ROWS` probably refuses all pictures: it has the
    word `image` or `vision`, which is neither a part of the model's name nor quoted from the
    request, and it is not about one picture's fault or a prompt that is too long. The caller then
    sends this request again without its pictures, and learns no lesson.
    """
    model = re.escape(str(body.get("model")))
    left = re.sub(rf"(?<!\w){model}(?!\w)", " ", error, flags=re.IGNORECASE)
    quoted = [match[0] for match in _PICTURE.finditer(left)]
    if status not in _PICTURE_STATUSES or not quoted or _ABOUT_ONE.search(left):
        return False
    if context_length.overflow_in(error):
        return False
    texts = (text for text in strings_of([*messages_of(body)]) if not text.startswith("data:"))
    sent = "\n".join(texts)
    return any(not _is_in_request(each, sent) for each in quoted)


def _is_in_request(quoted: str, sent: str) -> bool:
    """Return True if the request's text `sent` contains the text `quoted` from an error. Case,
    punctuation and URL escapes make no difference.
    """
    plain = _NO_WORD.sub(" ", quoted).strip().lower()
    spellings = (sent, unquote_plus(sent)) if sent else ()
    return any(plain in _NO_WORD.sub(" ", spelled).lower() for spelled in spellings)


def without_keywords(owner: object, names: frozenset[str]) -> object:
    """Return a tool or a response format (`owner`) with the keywords `names` left out of its
    schema.
    """
    for outer_key, inner_key in _SCHEMA_KEY_PAIRS if names else ():
        inner = owner.get(outer_key) if isinstance(owner, dict) else None
        if isinstance(owner, dict) and isinstance(inner, dict) and inner_key in inner:
            schema = _schema_without_keywords(inner[inner_key], inner[inner_key], names)
            return {**owner, outer_key: {**inner, inner_key: schema}}
    return owner


def _schema_without_keywords(
    schema: object, root: object, names: frozenset[str], deepest: int = DEEPEST
) -> object:
    """Return `schema`, a schema within the whole JSON schema `root` or `root` itself, without the
    keywords `names`. If `ODD` is among the names, a schema that a grammar cannot express (`true`, a
    `$ref` without a target) becomes `{}`, which allows anything, and `_odd_keywords` are left out.
    `deepest`: how many levels of schemas are read. A deeper schema stays as it is, or becomes `{}`
    if `ODD` is among the names.
    """
    odd = ODD in names
    if not isinstance(schema, dict) or not deepest:
        return {} if odd else schema
    if odd and "$ref" in schema and not _has_target(root, schema["$ref"]):
        return {}
    removed = names | _odd_keywords(schema) if odd else names
    trim = partial(_schema_without_keywords, root=root, names=names, deepest=deepest - 1)
    return {
        name: _trim_value(name, each, trim) for name, each in schema.items() if name not in removed
    }


def _trim_value(name: str, value: object, trim: Callable[[object], object]) -> object:
    """Return `value`, which a JSON schema has under the keyword `name`, with `trim` applied to each
    schema in the value.
    """
    if name in _NAMED and isinstance(value, dict):
        return {own: trim(schema) for own, schema in value.items()}
    if name in _LISTED and isinstance(value, list):
        return [trim(schema) for schema in value]
    if name not in _INNER or (name in _BOOLEAN and isinstance(value, bool)):
        return value
    return trim(value)


def _has_target(at: object, reference: object) -> bool:
    """Return True if a `$ref` such as `#/$defs/City` leads to an object in the JSON schema `at`."""
    first, *path = str(reference).split("/")
    for name in path:
        own = name.replace("~1", "/").replace("~0", "~")
        at = at.get(own) if isinstance(at, dict) else None
    return first == "#" and isinstance(at, dict)


def _odd_keywords(schema: Mapping[str, object]) -> frozenset[str]:
    """Return the keywords of a JSON schema that a server's grammar cannot express: `type` with an
    unknown type; an empty `enum`; `properties` if they are empty, and then also
    `additionalProperties`.
    """
    types = schema.get("type", "object")
    odd = {"enum"} if schema.get("enum") == [] else set()
    if any(each not in _TYPES for each in (types if isinstance(types, list) else [types])):
        odd.add("type")
    if schema.get("properties") == {}:
        odd |= {"properties", "additionalProperties"}
    return frozenset(odd)


def without_schema_keywords(
    body: Mapping[str, object], keys_of: Callable[[str], frozenset[str]]
) -> Mapping[str, object]:
    """Return a chat-completions request with keywords left out of the schemas in its tools and
    response format. `keys_of`: digest of a tool or format -> the keywords to leave out.
    """
    changed = dict(body)
    if isinstance(tools := body.get("tools"), list):
        changed["tools"] = [without_keywords(tool, keys_of(_digest(tool))) for tool in tools]
    if answer := body.get("response_format"):
        changed["response_format"] = without_keywords(answer, keys_of(_digest(answer)))
    return body if changed == body else changed


def refused_schemas(body: Mapping[str, object], keys: frozenset[str]) -> list[str]:
    """Return the digest of each tool or response format that has one of the keywords `keys`."""
    tools = body.get("tools")
    owners = [*(tools if isinstance(tools, list) else ()), body.get("response_format")]
    return [_digest(owner) for owner in owners if without_keywords(owner, keys) != owner]


def _digest(schema_owner: object) -> str:
    """Return the digest of a tool or response format, by which a lesson names its schema."""
    return hashlib.sha256(json_text.write(schema_owner)).hexdigest()


def without_choice(body: Mapping[str, object]) -> Mapping[str, object]:
    """Return a request with the `tool_choice` `none` instead of `auto` or of no choice, so that the
    server does not parse calls, which then come as text. A Messages request, whose tools have
    `input_schema`, gets `{"type": "none"}`. A request without tools stays as it is, and so does a
    Responses request: vLLM 0.32 accepts `auto` there.
    """
    chosen, tools = body.get("tool_choice") or "auto", json_text.objects(body.get("tools"))
    mode = chosen.get("type") if isinstance(chosen, Mapping) else chosen
    if mode != "auto" or not tools or "input" in body:
        return body
    of_messages = any("input_schema" in tool for tool in tools)
    return {**body, "tool_choice": {"type": "none"} if of_messages else "none"}


def without_pictures(body: Mapping[str, object]) -> Mapping[str, object]:
    """Return a chat-completions request in which a line of text replaces each picture."""
    return map_messages(body, lambda message: map_parts(message, _picture_as_text))


def _picture_as_text(part: object) -> object:
    """Return a text part that names the picture, if `part` of a message's content is a picture;
    else the part itself.
    """
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


TRAITS: Mapping[str, Callable[[Mapping[str, object]], Mapping[str, object]]] = {
    PICTURES: without_pictures,
    PICTURES_ONCE: without_pictures,
    PICTURES_OF_TOOLS: refused_messages.with_pictures_in_user_turns,
    TOOL_CHOICE: without_choice,
    PREFILL: without_thought_behind_prefill,
    BEGUN: with_continuation,
    TWO_BEGUN: with_one_begun_turn,
    SYSTEM: with_one_system_turn,
    NEIGHBOURS: with_alternating_turns,
    USERLESS: refused_messages.with_user_turn,
    THOUGHTLESS: refused_messages.with_thoughts,
    NULLS: refused_messages.without_nulls,
    IDS: refused_messages.with_new_short_ids,
    ARGUMENTS: refused_messages.with_rewritten_arguments,
    JSON_SCHEMA: refused_messages.with_json_object_format,
    JSON_OBJECT: refused_messages.with_json_schema_format,
    THINKING: refused_messages.without_thinking,
    CHOICE: refused_messages.without_forced_call,
    READER: unread_replies.with_tools_as_text,
    HALVES: dict,  # the copy is written as JSON anew, with U+FFFD for each lone surrogate
}
"""Name of a trait of requests that a server may refuse -> the function that makes a request without
this trait.
"""
_NEXT = {PICTURES_OF_TOOLS: PICTURES_ONCE, THINKING: CHOICE}
"""Name of a trait -> the trait to remove next, if the server refuses a request because of the first
trait although the request already lacks it.
"""
REFUSABLE = frozenset((*TRAITS, RENDERED, SCHEMAS, FIELDS))
"""The names of all traits that may be removed from a refused request. `SCHEMAS` and `FIELDS` stand
for all traits of their kind.
"""
_NAMES = REFUSABLE | KEYWORDS
"""Names of traits that a stored lesson may have, beside those of fields (`field seed`)."""
NATIVE_TRAITS = frozenset((TOOL_CHOICE,))
"""Traits that may also be removed from requests in the server's own dialect, which the addon does
not translate.
"""


def is_trait_name(name: str) -> bool:
    """Return True if `name`, from a stored lesson, is the name of a trait of requests."""
    return name in _NAMES or is_field(name)


def next_traits(names: frozenset[str], left_out: frozenset[str]) -> frozenset[str]:
    """Return the traits to remove after an error that refuses the traits `names`: these traits, and
    the next trait in `_NEXT` for each of them that the refused request lacked already (`left_out`).
    So `CHOICE` is removed too, if a request that lacks `THINKING` is refused for `THINKING`.
    """
    return names | {_NEXT[name] for name in names & left_out & _NEXT.keys()}


def without_traits(
    body: Mapping[str, object], names: frozenset[str], removable: frozenset[str]
) -> Mapping[str, object]:
    """Return a request without those of the traits `names` that `removable` has too. `removable`:
    the traits that may be removed. It has `SCHEMAS` in place of the keywords of schemas, and
    `FIELDS` in place of the names of fields, so that all of a kind are removable, or none.
    """
    if SCHEMAS in removable and (keys := names & KEYWORDS):
        body = without_schema_keywords(body, lambda _: keys)
    for name, change in TRAITS.items():
        body = change(body) if name in names & removable else body
    fields = {name.removeprefix(FIELD) for name in names if name.startswith(FIELD)}
    return without_fields(body, fields) if FIELDS in removable else body
