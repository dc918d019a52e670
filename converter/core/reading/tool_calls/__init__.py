"""The forms in which models write tool calls into their text: one row a form.

`converter.core.reading.engine` finds their marks and hands the text behind one to a body here.

- `forms`: the rows. `call_row`: the class of a row. `bodies`: the five kinds of bodies.
- `head`: whether a call's head is complete. `extent`: where its text may end. `judge`: the calls
  that the text is, by a judge a kind: `json_judge` (over `json_object`), `keyed_judge` (over
  `keyed_marks`), `python_judge`, `gemma_judge`. `span`, `verdict`: what goes in and comes out.
- `calls_read`: the notes on calls.
"""
