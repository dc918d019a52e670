"""The engine: it reads thoughts, text and tool calls in the text of a model, in one scan.

text -> `ReadingStage` -> thinking, text and tool calls

- `engine` has the loop and the step at each mark, and tells how they work. `states` has the states
  and the tables that the engine follows. `mark_table` makes the marks that count in each state from
  the rows of `families` and `tool_calls.forms`.
- `source` has the text that was not read yet. `context` tells the position of a mark (in code, in a
  sentence).
- `candidate` holds the text of a possible call. `outcome` has the thoughts, answer and calls that
  were read, with their held text.
- `stage` makes the engine a stage, for one choice. `evidence` collects facts which show where the
  reply began. `thought_calls` reads calls within closed thoughts, and within thoughts that the
  server sends in a field. `repeats` drops calls that come twice.
"""
