"""The engine: it reads thoughts, text and tool calls in the text of a model, in one scan.

text -> `ReadingStage` -> thinking, text and tool calls

- `engine`: how the reading works, the loop, and the step at each mark. `states`: the tables of
  states, and of the calls that count. `mark_table`: the marks that count in each state, from the
  rows of `families` and `tool_calls.forms`.
- `source`: the text that was not read yet. `context`: the position of a mark (in code, in a
  sentence).
- `candidate`: a possible call while its text is held. `outcome`: the thoughts, answer and calls
  that were read, with their held text.
- `stage`: the engine as a stage of a choice. `evidence`: facts which show where the reply began.
  `thought_calls`: calls within closed thoughts. `repeats`: calls that stand twice.
"""
