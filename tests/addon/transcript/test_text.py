"""The text of a content view: what it says, and that mitmproxy's highlighter colours it as it is
meant, whatever models write.
"""

import json
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from converter.addon.transcript import text
from converter.addon.transcript.turns import (
    FailurePart,
    Field,
    Media,
    Part,
    Raw,
    ShownTurn,
    Transcript,
)
from converter.core.model.conversation import TextBlock, ThinkingBlock, ToolResult, ToolUse
from tests.support.strategies import law
from tests.support.transcript_samples import JSON

with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
    from ruamel.yaml import YAML

DATA = "A" * 4000


def shown(*parts: Part) -> str:
    written = text.write(Transcript((ShownTurn("assistant", parts),)))
    assert written.startswith("assistant:\n")
    return written.removeprefix("assistant:\n")


@pytest.mark.parametrize(
    ("part", "lines"),
    [
        (TextBlock("Hi"), "  text: |\n    Hi\n"),
        (TextBlock("\n\nHi\n\nthere\n"), "  text: |\n    Hi\n\n    there\n"),
        (TextBlock("  indented\nnot"), "  text: |2\n      indented\n    not\n"),
        (TextBlock("No.", "refusal"), "  refusal: |\n    No.\n"),
        (
            ThinkingBlock("deep\n\n# deeper: x"),
            "  thinking:\n    #│ deep\n    #│\n    #│ # deeper: x\n",
        ),
        (ThinkingBlock("deep", note="plan"), "  thinking:  # plan\n    #│ deep\n"),
        (
            ThinkingBlock("", note="only its vendor can read it"),
            "  thinking:  # only its vendor can read it\n",
        ),
        (ToolUse("a", "look", '{"at":"sky"}'), "  call look:  # a\n    at: sky\n"),
        (
            ToolUse("a", "look", '{"at":"sky"}', read_from="text"),
            "  call look:  # a, read from text\n    at: sky\n",
        ),
        (
            ToolUse("", "look", '{"at":"1","n":1,"x":{"y":[]}}'),
            '  call look:\n    at: 1\n    n: 1\n    x: {"y": []}\n',
        ),
        (
            ToolUse("a", "write", '{"text":"a\\n  b"}'),
            "  call write:  # a\n    text: |\n      a\n        b\n",
        ),
        (ToolUse("a", "look", "[1]"), "  call look a: |\n    [\n      1\n    ]\n"),
        (ToolUse("a", "look", '{"at":1,"at":2}'), '  call look a: |\n    {"at":1,"at":2}\n'),
        (ToolUse("a", "look", '{"a: b":1}'), "  call look:  # a\n    'a: b': 1\n"),
        (ToolUse("a", "look at: it", ""), "  'call look at: it a': ''\n"),
        (ToolResult("a", (TextBlock("wet\nand cold"),)), "  result a: |\n    wet\n    and cold\n"),
        (ToolResult("", (TextBlock("gone"),), is_error=True), "  failed: |\n    gone\n"),
        (Media("image", "image/png", 12_345), "  image: image/png 12.3 kB\n"),
        (Media("image", address="https://h/c.png?a=1"), "  image: 'https://h/c.png?a=1'\n"),
        (Field("x", "word"), "  x: word\n"),
        (Field("x", "two\nlines"), "  x: |\n    two\n    lines\n"),
        (Field("odd: name", {"a": [1]}), "  'odd: name': {\"a\": [1]}\n"),
        (Field("n" * 300, 1), f"  '{'n' * 200}': 1\n"),
        (FailurePart("broken", "api_error"), "  error api_error: |\n    broken\n"),
        (
            Raw(f'{{"data": "{DATA}"}}'),
            '  unread: |\n    {\n      "data": "[base64, 3.0 kB]"\n    }\n',
        ),
        (TextBlock("\x1b[2J\u202e"), "  text: |\n    ␛[2J\\u202e\n"),
        (TextBlock("x" * 5000), f"  text: |\n    {'x' * 5000}\n"),
        (TextBlock("\n\n"), ""),
    ],
)
def test_each_part_has_its_lines(part: Part, lines: str) -> None:
    assert shown(part) == lines


def test_a_request_reads_from_top_to_bottom() -> None:
    turns = (
        ShownTurn("system", (TextBlock("Be kind."),)),
        ShownTurn("user", (TextBlock("Hi"), Media("image", "image/png", 3))),
    )
    settings = {
        "model": "m",
        "stream": True,
        "stop": '["a"]',
        "thinking": "enabled, at most 2,000 tokens",
    }
    assert text.write(Transcript(turns, settings)) == (
        'model: m\nstream: true\nstop: ["a"]\nthinking: enabled, at most 2,000 tokens\n\n'
        "system: |\n  Be kind.\n\n"
        "user:\n  text: |\n    Hi\n  image: image/png 3 B\n"
    )


_LIKE_YAML = st.lists(
    st.sampled_from(
        [
            "a: b",
            "- x",
            "{",
            "}",
            "[",
            "# c",
            "---",
            "...",
            "|",
            ">",
            "'",
            '"',
            "&a",
            "*a",
            "!!t",
            "%T",
            "?",
            ":",
            "\t",
            " ",
            "\n",
        ]
    )
    | st.text(max_size=3),
    max_size=12,
).map("".join)
_PARTS = st.one_of(
    st.builds(TextBlock, _LIKE_YAML, st.sampled_from(["", "refusal"])),
    st.builds(ThinkingBlock, _LIKE_YAML, note=_LIKE_YAML),
    st.builds(ToolUse, _LIKE_YAML, _LIKE_YAML, _LIKE_YAML),
    st.builds(
        ToolResult,
        _LIKE_YAML,
        st.tuples(st.builds(TextBlock, _LIKE_YAML)),
        st.booleans(),
        _LIKE_YAML,
    ),
    st.builds(Media, _LIKE_YAML, _LIKE_YAML),
    st.builds(
        ToolUse,
        st.just("look"),
        _LIKE_YAML,
        st.dictionaries(_LIKE_YAML, _LIKE_YAML | JSON, max_size=3).map(json.dumps),
    ),
    st.builds(Field, _LIKE_YAML, _LIKE_YAML | JSON),
    st.builds(FailurePart, _LIKE_YAML, _LIKE_YAML),
    st.builds(Raw, _LIKE_YAML),
)
_TRANSCRIPTS = st.builds(
    Transcript,
    st.lists(
        st.builds(
            ShownTurn, _LIKE_YAML, st.lists(_PARTS, max_size=3).map(tuple), st.integers(0, 1)
        ),
        max_size=3,
    ).map(tuple),
    st.dictionaries(_LIKE_YAML, _LIKE_YAML | st.integers() | st.booleans(), max_size=2),
    st.dictionaries(st.sampled_from(["model", "finish", "odd"]), _LIKE_YAML, max_size=2),
    st.lists(_LIKE_YAML, max_size=1).map(tuple),
    st.lists(st.builds(Field, _LIKE_YAML, JSON), max_size=2).map(tuple),
)


@law(500)
@given(_TRANSCRIPTS)
def test_the_text_is_valid_yaml_whatever_is_written_in_it(transcript: Transcript) -> None:
    yaml = YAML(typ="safe", pure=True)
    yaml.allow_duplicate_keys = True
    yaml.load(text.write(transcript))
