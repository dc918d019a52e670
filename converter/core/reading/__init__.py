"""Reading of a model's text: it becomes thinking, text and tool calls.

- The grammar is tables of rows. `rows` has the base of a row, `families` the rows for thoughts,
  `tool_calls.forms` the rows for calls. `family_choice` selects the families for a reply, and
  `mark_search` finds their marks in text that arrives in pieces.
- `engine` reads text by the rows. It uses `thought` (emits a thought), `code_spans` and
  `json_extent` (find code and JSON, in which marks do not count) and `tool_calls` (reads calls).
  Before text reaches the engine, `repeated_thought` drops a thought that came in a field already.
- Other files are stages: each takes events and returns events, and does not know the others.
  `reply.stages` has their order. Before the engine: `half_characters`, `field_answer`. Behind it:
  `turn_end`, `blanks`, `stop_strings`, `thought_ender`, `thinking_hider`, `folding`.
  `earlier_folds` undoes `folding` in requests. `call_in_name` repairs a call that a server put into
  the call's name.
- `reading` has the settings and the facts that are known before a reply comes (`beginning`: where
  it begins). `findings` has the facts that the stages learn from the reply; `unread_tag` finds one
  of them, the tag of an unknown family.
"""
