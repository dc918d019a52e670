// State that all scripts share: `rows`, flow's id -> row of the list, and `shown`, id -> `Exchange` or `Session` that is open.

import { plural } from "./elements.js";

export const rows = new Map();
export const shown = new Map();

// Return the name of the session that is no branch, from which the row's session branches directly or not.
export function rootSession(row) {
  let name = row.session || row.id;
  for (let up = row; up?.within; up = rows.get(name)) name = up.within;
  return name;
}

// Return the rows of a session, the oldest first: `turns` are the session's own, `all` includes those of its branches.
export function exchangesOfSession(name) {
  const all = [...rows.values()].filter((row) => rootSession(row) === name).sort((one, other) => one.at - other.at);
  return { all, turns: all.filter((row) => (row.session || row.id) === name) };
}

// Return the number of sub-agents among a session's rows as text: "2 sub-agents", "" for none.
export function subAgentsText(all) {
  const count = new Set(all.filter((row) => row.wish !== "title").map((row) => row.session)).size - 1;
  return count > 0 ? plural(count, "sub-agent") : "";
}
