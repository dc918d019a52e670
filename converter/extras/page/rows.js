// The rows of the list and the exchanges that are shown, by the id of their flows.

import { plural } from "./elements.js";

export const rows = new Map();
export const shown = new Map();

// The session at the head of a row's branches.
export function rootSession(row) {
  let name = row.session || row.id;
  for (let up = row; up?.within; up = rows.get(name)) name = up.within;
  return name;
}

// The exchanges of a session in their order: those that carry the conversation on, and those of all its branches.
export function exchangesOfSession(name) {
  const all = [...rows.values()].filter((row) => rootSession(row) === name).sort((one, other) => one.at - other.at);
  return { all, turns: all.filter((row) => (row.session || row.id) === name) };
}

// How many sub-agents a session's exchanges have, "" for none.
export function subAgentsText(all) {
  const count = new Set(all.filter((row) => row.wish !== "title").map((row) => row.session)).size - 1;
  return count > 0 ? plural(count, "sub-agent") : "";
}
