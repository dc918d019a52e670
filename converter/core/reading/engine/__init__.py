"""The engine: it reads thoughts, text and tool calls in the text of a model, in one scan.

text -> `ReadingStage` -> thinking, text and tool calls

- `engine`: the theory, the loop, and the step at each mark. `states`: its two tables. `mark_table`:
  the marks that count in each state, from the rows of `families` and `tool_calls.forms`. -
  `source`: text that was not read yet. `context`: the position of a mark (in code, in a sentence).
  `behind_mark`: tests of the text behind a mark that may begin a call. `grammar_start`: the state
  in which an answer begins that a grammar constrains. - `candidate`: a possible call while it is
  held. `outcome`: thoughts, answer and calls, with their text that waits. - `stage`: the engine as
  a stage. `evidence`: facts which show where the reply began. `thought_calls`: calls within closed
  thoughts. `repeats`: calls that stand twice.
"""
