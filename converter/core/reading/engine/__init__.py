"""The engine that reads what a model writes: thoughts, text and tool calls, in one scan.

text -> `ReadingStage` -> thinking, text and tool calls

- `states`: the states, the marks that count in each, the steps. `mark_table`: these marks, made of
  the rows of `families` and of `tool_calls.forms`.
- `context`: where a mark stands. `json_values`: JSON in which nothing is a tag. `grammar_start`:
  where an answer begins that a grammar makes.
- `scanner`: text up to the next mark, and its step. `engine`: what stands between a call's marks.
  `open_call`: one call while it is read, by the bodies of `tool_calls`. `outcome`: what waits of
  thought, answer and calls.
- `stage`: the engine in the chain of one choice. `evidence`: where the reply proves to have begun.
  `thought_calls`: calls within thoughts that are closed. `repeats`: calls that are said twice.
"""
