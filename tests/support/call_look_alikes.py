"""Replies that look like tool calls and are none, by the reason why."""

from tests.support.rows import rows_of

ROWS = rows_of(__file__)

CALL = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call>'
ONE_LINE = '<tool_call>{"name": "now", "arguments": {}}</tool_call>'
FUNCTION = "<function=get_weather>\n<parameter=city>\nOslo\n</parameter>\n</function>"

WRONG_NAMES = ROWS["wrong names"]
PROSE = ROWS["prose"]
REQUESTED = ROWS["requested"]
CODE = [
    f"`{ONE_LINE}`",
    f"``{ONE_LINE}``",
    f"```\n{CALL}\n```",
    f"```xml\n{CALL}\n```\n",
    f"~~~\n{FUNCTION}\n~~~",
    f"- a list:\n  ```\n  {ONE_LINE}\n  ```",
    f"```python\nTEXT = '''{CALL}'''\n```",
    f"Run `grep '{ONE_LINE}'` to find them.",
    f"```\n{CALL}",
]
QUOTED_LINES = [
    f"+{ONE_LINE}",
    f"--- a/x\n+++ b/x\n@@ -1 +1 @@\n-{ONE_LINE}\n+nothing",
    "+<tool_call>\n+" + '{"name": "now", "arguments": {}}' + "\n+</tool_call>",
    f"> {ONE_LINE}",
    f"> it wrote\n> {ONE_LINE}\n",
    "-<function=now>\n-</function>",
]
HALF = ROWS["half"]
LOOK_ALIKES = [*WRONG_NAMES, *PROSE, *REQUESTED, *CODE, *QUOTED_LINES, *HALF]
