"""Text to thinking, text and tool calls.

- The grammar is rows: `rows` has their class, `families` those of thoughts, `tool_calls.forms`
  those of calls. `family_choice` tells which families are in force; `mark_search` finds marks in
  text that arrives in pieces.
- `engine` reads text by the rows. It stands on `thought` (one that goes out), `code_spans` and
  `json_extent` (where nothing is a mark), and `tool_calls` (the bodies of calls). Before it,
  `repeated_thought` drops a thought that the server's field has told.
- The other files are stages for events, which do not know each other. Before the engine:
  `half_characters`, `field_answer`. Behind it: `blanks`, `thought_ender`,
  `thinking_hider`, `folding`. `earlier_folds` is for requests.
- `reading` has what is known beforehand (`beginning`: how the reply begins), `findings` what the
  stages tell beside the events.
"""
