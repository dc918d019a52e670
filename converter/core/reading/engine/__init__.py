"""One engine over one grammar, beside the machines in series that it is to replace.

text -> `ReadingStage` -> thinking, text and tool calls

- `grammar`: the marks that count in each state, made of the rows of `families` and of
  `tool_calls.forms`. `states`: the table of steps.
- `context`: where a mark stands. `json_values`: JSON in which nothing is a tag.
- `scanner`: text up to the next mark, and its step. `engine`: what stands between a call's marks.
  `open_call`: one call while it is read, by the bodies of `tool_calls`. `outcome`: what waits.
- `stage`: the engine in the chain of one choice. `drafts`: calls within thoughts. `repeats`: calls
  that are said twice.

It gives the same events as the think stage and the stage of tool calls
(`tests/core/reading/engine/test_stage.py`), but for these, in which it follows the rules closer:

- A call ends where its form does, not at the first text that looks like its closing mark: tags
  behind a call whose closing mark is missing count, and none within its strings do.
- A closer within a call is no sign that the reply began inside a thought.
- A call behind an empty thought is no longer in the middle of a sentence that came before it.

The pipeline does not use it yet.
"""
