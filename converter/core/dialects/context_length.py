"""`overflow_in` recognises an error that says that a request is too long for the model's context.
The `ContextOverflow` that it returns has the numbers of tokens; `message` is the Anthropic API's
own sentence for such an error.

Clients of the Messages API get only this sentence, because Claude Code acts on no other:

- If the prompt is too long, Claude Code compacts the conversation.
- If prompt and reply are too long together, it asks for a shorter reply.

`_SENTENCES` has patterns for the sentences of known servers, which are found whatever a gateway
writes around them. Any other error is recognised by its meaning: a term for the prompt, and a term
for exceeding a limit. Of the error's numbers the largest one counts the prompt, and the next one is
the limit; a single number is the limit.
"""

import re
from dataclasses import dataclass

TOO_LONG = "prompt is too long"
"""The beginning of the Anthropic API's sentence for a prompt that is too long."""
_LIMIT = r"maximum context length (?:is|of) (?P<most>\d+) tokens"
"""The pattern of a phrase with the context's length, which the sentences of several servers have.
"""
_SENTENCES = (
    # llama.cpp 11549 writes "exceeds", SGLang "is longer".
    r"\((?P<tokens>\d+) tokens\) (?:exceeds the available context size|"
    r"is longer than the model's context length) \((?P<most>\d+) tokens\)",
    # LM Studio writes both counts in parentheses.
    r"\(n_keep: (?P<tokens>\d+) ?>= ?n_ctx: (?P<most>\d+)\)",
    # vLLM, if prompt and reply are too long together
    rf"'max_tokens'.{{0,60}}is too large: (?P<reply>\d+)\..{{0,20}}{_LIMIT} "
    r"and your request has (?P<tokens>\d+) input tokens",
    # vLLM and OpenAI's API, also if prompt and reply are too long together
    rf"{_LIMIT}[.,] [Hh]owever,? you requested \d+ tokens "
    r"\((?P<tokens>\d+) in (?:the messages|your prompt)[,;] (?P<reply>\d+) \w+ the completion\)",
    # vLLM 0.32, and older versions. 0.32 stops counting at the limit, and then writes "at least".
    rf"{_LIMIT}\. However,(?: you requested (?P<reply>\d+) output tokens and)? your "
    r"(?:prompt contains|request has) (?P<least>at least )?(?P<tokens>\d+) input tokens",
    # vLLM 0.32, which checks the reply's limit before it counts the prompt. Each endpoint has its
    # own name for the field with the limit.
    r"max(?:_completion|_output)?_tokens=(?P<reply>\d+) "
    r"cannot be greater than max_model_len=(?P<most>\d+)",
    # SGLang, if prompt and reply are too long together
    rf"{_LIMIT}\. You requested a total of \d+ tokens: "
    r"(?P<tokens>\d+) tokens from the input.{0,20} and (?P<reply>\d+) tokens",
    # SGLang 0.5.23, if the reply alone is too long. Its two sentences have no blank between them.
    r"max(?:_completion)?_tokens is too large: (?P<reply>\d+)\."
    r"This model supports at most (?P<most>\d+) completion tokens",
    # Anthropic's API and its copies: for the prompt alone, then for prompt and reply together
    r"prompt is too long: (?P<tokens>\d+) tokens > (?P<most>\d+)",
    r"exceed context limit: (?P<tokens>\d+) \+ (?P<reply>\d+) > (?P<most>\d+)",
)
"""Patterns of the sentences in which known servers say that a request is too long. Their groups are
numbers of tokens: `tokens` of the prompt, `most` that fit into the context, `reply` that the
request allows for the reply. The group `least` matches the words `at least ` before the number
`tokens`: then the prompt may have more tokens.
"""
_PATTERNS = tuple(re.compile(row.replace(r"\d+", r"\d{1,12}")) for row in _SENTENCES)
"""The compiled `_SENTENCES`, in which a number has at most 12 digits: no prompt has more tokens,
and Python refuses to parse a number of thousands of digits.
"""
_LONGEST = 1000
"""How many characters of an error are searched for its meaning. The limit is there because a server
may repeat the request in its error.
"""
_PROMPT = r"(?:prompts?|inputs?|messages?|conversation|history|sequence|request(?:ed)?|tokens?)"
"""Terms that name the prompt or a part of it, such as `input`."""
_EXCEEDS = (
    r"(?:exceed\w*|too (?:long|large|big|many|short|small)|(?:long|larg|great|bigg|high)er than|"
    r"(?:no|not) (?:more|longer|larger|greater|enough)|(?:more|less|fewer|smaller|shorter) than|"
    r"at most|only supports|over(?:flow|run)\w*|beyond|above|over (?:the|its)|surpass\w*|fits?|"
    r"full|reached|ran out|however|but|while|whereas|given|received|reduce|shorten|truncat\w*|"
    r"[<>]=?|超)"
)
"""Terms that stand between the prompt and its limit in an error about both: `exceeds`, `but`. Such
a term alone proves nothing: `_MEANINGS` says which terms must stand before and behind it.
"""
_OF_CONTEXT = re.compile(
    r"(?:context (?:\w+ )?(?:length|len|window|size|limit|space|capacity|budget|overflow|tokens?)|"
    r"context (?:is |was )?(?:exceeded|full|too)|exceed\w* (?:the )?(?:\w+ )?context|"
    r"n ctx|ctx size|"
    r"max (?:model|seq|sequence|input|prompt|position|kv|total|context)\w*(?: \w+)? ?"
    r"(?:len|length|tokens|size|embeddings|limit)|"
    r"(?:max|maximum) (?:\w+ )?(?:model|context|prompt|input|sequence|message|position)s?"
    r"(?: \w+)? (?:length|size|tokens?|limit)|"
    r"(?:model'?s?|this model|model only) (?:\w+ ){0,3}(?:limit|supports up to|"
    r"max(?:imum)? length)|(?:input|prompt|total|model) tokens? (?:\w+ )?limit|token limit|"
    r"(?:input|prompt) limit)"
)
"""Terms that name the context or its limit, such as `context length`."""
_MEANINGS = tuple(
    re.compile(meaning)
    for meaning in (
        rf"\b{_PROMPT}\b.{{0,80}}{_EXCEEDS}.{{0,200}}(?:tokens?|limit)\b",
        rf"\btokens?\b.{{0,80}}{_EXCEEDS}.{{0,80}}(?:\d|limit|max)",
        rf"\b{_PROMPT} (?:tokens? )?(?:length|size|count)\b.{{0,60}}{_EXCEEDS}",
        r"\b(?:prompt|inputs?|messages?|conversation|history|context)(?: \w+){0,3} "
        r"(?:too (?:long|large|big)|exceed\w*)",
        r"(?:too many|number of) (?:\w+ )?tokens?.{0,60}(?:prompt|input|exceed|limit|max)",
        r"prompt (?:has|contains|with) too many tokens|too many (?:input|prompt|context) tokens",
        r"(?:reduce|shorten|shorter) (?:the |your )?(?:length of )?(?:the |your )?"
        r"(?:input|prompt|messages|conversation|context)",
        r"range of input length|(?:prompt|input|tokens?|上下文|输入).{0,12}(?:超长|超过|超出|过长)",
    )
)
"""Patterns of messages which say that the prompt is too long. They are searched in the output of
`_normalised`: lower case, with blanks in place of underscores and hyphens.
"""
_OTHER_LIMIT = re.compile(
    r"per (?:sec|min|hour|day|month)|\b[tr]p[mdhs]\b|rate limit|quota|throttl|too many requests|"
    r"out of memory|\bcuda\b|insufficient (?:funds|balance|credit)|deadline|\d{13}"
)
"""Terms of errors about other limits (rate, quota, memory). An error with such a term is not taken
for one about the context, because a shorter prompt would not help.
"""
_REPLY = re.compile(
    r"max (?:completion |output |new )?tokens|maximum tokens|n predict|budget tokens|"
    r"(?:output|completion|generated|new) tokens"
)
"""Terms that name the limit of the reply's tokens, such as `max tokens`."""
_OF_PROMPT = re.compile(
    r"\b(?:prompts?|inputs?|messages?|context|conversation|sequence|max model len|n ctx)\b"
)
"""Terms for the prompt and the context. An error about the reply's tokens counts as one about the
context only if it also has such a term.
"""
_ONE_FIELD = re.compile(
    r"string (?:too long|should)|string length|characters?\b|\d ?[kmg]i?b\b|bytes|images?\b|"
    r"files?\b|pixels|audio|content length|\bstop\b|tool names?|function names?|descriptions?\b|"
    r"metadata|entity too large|body|input should|items after"
)
"""Terms of errors about the limit of a single field, such as a tool's name. An error with such a
term counts as one about the context only if it also names the context (`_OF_CONTEXT`).
"""
_NUMBER = re.compile(r"(?<![\w.,-])(?:\d{1,3}(?:,\d{3}){1,3}|\d{2,12})(?![\w,]?\d|[a-z-])")
"""A number of 2 to 12 digits, with or without commas (`4,096`), that is no part of a word."""
_NO_COUNTS = re.compile(r"(?:code|status|error|http)\W{0,4}\d+|(?:exceeded|length)\D{0,30} by \d+")
"""Numbers that do not count the tokens of a prompt: a code, a status, and the number of tokens
beyond the limit.
"""


@dataclass(frozen=True, slots=True)
class ContextOverflow:
    """An error that says that a request is too long for the context, with its counts of tokens. A
    count that the error lacks is 0.
    """

    prompt_tokens: int
    """Tokens of the prompt."""
    context_tokens: int
    """Tokens that fit into the context."""
    reply_tokens: int = 0
    """Tokens that the request allows for the reply."""
    at_least: bool = False
    """True if the prompt may be longer than `prompt_tokens`: the server stopped counting at its
    limit, or the error has the limit but no count of the prompt.
    """
    text: str = ""
    """The beginning of the server's error, if no number of tokens is in it; else empty."""

    def message(self) -> str:
        """Return the error in the Anthropic API's own sentence, with the counts; without counts the
        beginning of that sentence and the server's error (`text`).
        """
        if not self.context_tokens:
            return self.text if self.text.startswith(TOO_LONG) else f"{TOO_LONG}: {self.text}"
        if self.prompt_tokens >= self.context_tokens or not self.reply_tokens:
            tokens = self.prompt_tokens or f"more than {self.context_tokens}"
            return f"{TOO_LONG}: {tokens} tokens > {self.context_tokens} maximum"
        return (
            "input length and `max_tokens` exceed context limit: "
            f"{self.prompt_tokens} + {self.reply_tokens} > {self.context_tokens}, "
            "decrease input length or `max_tokens` and try again"
        )


def overflow_in(message: str) -> ContextOverflow | None:
    """Return the `ContextOverflow` for an error message; None if it is about anything else."""
    for pattern in _PATTERNS:
        if match := pattern.search(message):
            numbers = match.groupdict()
            tokens, limit = (int(numbers.get(name) or 0) for name in ("tokens", "reply"))
            bound = not tokens or bool(numbers.get("least"))
            return ContextOverflow(tokens, int(numbers["most"]), limit, bound)
    begun = message[:_LONGEST]
    plain = _normalised(begun)
    if not _means_too_long(plain):
        return None
    written = _NUMBER.findall(_NO_COUNTS.sub(" ", plain))
    sizes = sorted({int(number.replace(",", "")) for number in written}, reverse=True)
    if not sizes:
        return ContextOverflow(0, 0, text=begun)
    tokens, most = sizes[:2] if len(sizes) > 1 else (0, sizes[0])
    return ContextOverflow(tokens, most, at_least=not tokens)


def with_name(message: str, *names: object) -> str:
    """Return the message of an error. One of the error's `names` (its code, its type) is added if
    only this name tells that the prompt is too long:

        "Bad request", "context_length_exceeded" -> "Bad request (context_length_exceeded)"
    """
    if overflow_in(message) is None:
        for name in names:
            if isinstance(name, str) and _means_too_long(_normalised(name)):
                return f"{message} ({name})"
    return message


def _normalised(message: str) -> str:
    """Return a message in the form in which `_MEANINGS` and the other patterns are searched. It is
    in lower case, without apostrophes, and has blanks in place of underscores, hyphens and
    quotation marks. A blank also parts the words of a name: `maxTokens` -> `max tokens`.
    """
    split = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", message)
    bare = re.sub(r"[_`\"]|(?<=[a-z])-(?=[a-z])", " ", split.lower().replace("'", ""))
    return " ".join(bare.split())


def _means_too_long(plain: str) -> bool:
    """Return True if a message says that the prompt is too long. `plain`: the output of
    `_normalised` for the message.
    """
    if _OTHER_LIMIT.search(plain) or (_REPLY.search(plain) and not _OF_PROMPT.search(plain)):
        return False
    if _OF_CONTEXT.search(plain) and re.search(_EXCEEDS, plain):
        return True
    return not _ONE_FIELD.search(plain) and any(meaning.search(plain) for meaning in _MEANINGS)
