"""Tool calls in the text of models: this package has the table of forms in which models write them,
and reads the calls in a candidate's text.

`converter.core.reading.engine` finds the marks of calls and passes the text behind a mark to the
functions of this package.

- `forms`: the table. `call_row`: the class of its rows. `bodies`: the five kinds of text that a
  form may have between the opener and closer of a call.
- `head` reads the head of a call: the beginning of its text, up to the tool's name. `extent` finds
  the points at which the text of a call may end.
- `judge` reads the calls in the text up to such a point. It has a module for each kind of body:
  `json_judge` (with `json_object`), `keyed_judge` (with `keyed_marks`), `python_judge` and
  `gemma_judge`.
- `span`: the input of these modules. `verdict`: the result of `judge`.
- `calls_read`: counts and names of the calls that were read from a reply, for the log; and the
  tools that the request offers.
"""
