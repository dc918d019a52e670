"""Text of a model to thinking, text and tool calls.

- The grammar is tables of rows. `rows` has the class of a row, `families` the rows for thoughts,
  `tool_calls.forms` the rows for calls. `family_choice` selects the families for a reply, and
  `mark_search` finds their marks in text that arrives in pieces.
- `engine` reads text by the rows. It uses `thought` (emits a thought), `code_spans` and
  `json_extent` (find code and JSON, in which marks do not count) and `tool_calls` (reads calls).
  Before text reaches the engine, `repeated_thought` drops a thought that came in a field already.
- All other files are stages: each takes events and returns events, and does not know the others.
  Before the engine: `half_characters`, `field_answer`. Behind it: `turn_end`, `blanks`,
  `stop_strings`, `thought_ender`, `thinking_hider`, `folding`. `earlier_folds` is for requests.
- `reading` has the settings and the facts that are known before a reply comes (`beginning`: the
  state in which it begins). `findings` has the facts that the stages learn from the reply.
"""
