"""The engine that reads what a model writes: thoughts, text and tool calls, in one scan.

text -> `ReadingStage` -> thinking, text and tool calls

- `engine`: the theory, the loop, and the step at each mark. `states`: its two tables. `mark_table`:
  the marks that count in each state, made of the rows of `families` and of `tool_calls.forms`.
- `source`: text that is not read. `context`: where a mark stands. `behind_mark`: the text behind a
  mark that may begin a call. `grammar_start`: where an answer begins that a grammar makes.
- `candidate`: one call while it is held. `outcome`: what waits of thought, answer and calls.
- `stage`: the engine in the chain of one choice. `evidence`: where the reply proves to have begun.
  `thought_calls`: calls within thoughts that are closed. `repeats`: calls that are said twice.
"""
