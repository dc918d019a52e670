"""Tool calls that models write into their text: one row a form, read as they come.

text -> ToolCallParser -> text and tool calls; `ToolCallStage` does so for all choices of a reply.

- `forms`: the rows. `call_form`: the class of a row.
- `source`: text for grammars. `reading`: one place that may hold calls.
- Kinds of grammar, shared by the rows: `json_body`, `tag_body`, `python_body`, `gemma_body`.
"""
