"""The forms in which models write tool calls into their text: one row a form.

`converter.core.reading.engine` finds their marks and hands the text behind one to a body here.

- `forms`: the rows. `call_row`: the class of a row. `calls_read`: the notes on calls.
- `source`: text for bodies. `place`: one place that may hold calls.
- Kinds of bodies, shared by the rows: `json_body` (over `members`, `json_value`), `tag_body` (over
  `value_end`, `values`), `python_body`, `gemma_body`.
"""
