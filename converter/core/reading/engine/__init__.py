"""One engine over one table of marks, beside the machines in series that it is to replace.

text -> `ReadingStage` -> thinking, text and tool calls

- `mark_table`: the marks that count in each state, made of the rows of `families` and of
  `tool_calls.forms`. `states`: the table of steps.
- `context`: where a mark stands. `json_values`: JSON in which nothing is a tag. `grammar_start`:
  where an answer begins that a grammar makes.
- `scanner`: text up to the next mark, and its step. `engine`: what stands between a call's marks.
  `open_call`: one call while it is read, by the bodies of `tool_calls`. `outcome`: what waits.
  `draft`: a call in a thought that is not closed, until it is known to be meant.
- `stage`: the engine in the chain of one choice. `drafts`: calls within thoughts that are closed.
  `repeats`: calls that are said twice.

It reads as the think stage and the stage of tool calls do, but for these, in which it follows the
rules closer:

- A call ends where its form does, not at the first text that looks like its closing mark: tags
  behind a call whose closing mark is missing count, and none within its strings do.
- A closer within a call is no sign that the reply began inside a thought.
- A call behind an empty thought is no longer in the middle of a sentence that came before it.

Not at parity yet: the law of calls for gpt-oss whose header lacks its first token. Then the swap
is: `ReadingStage` takes the place of `ThinkStage` and `ToolCallStage` in `STAGES`; `Mode` and
`Grammar` move into `states`; `RepeatedThought`, `CallsRead` and `Tools` get files of their own;
`think_parser`, `think_stage`, `think_states`, `tool_marks`, the tag matcher's `TagSet`, and
`tool_calls`' `parser` and `stage` go. Their tests run against `Engine` as they stand: it is made,
fed and flushed as `ThinkParser` is.
"""
