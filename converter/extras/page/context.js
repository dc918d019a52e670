// What fills a request.

import { el, number, plural } from "./elements.js";

export const share = (tokens, whole) => (whole ? `${((100 * tokens) / whole).toFixed(1)}%` : "–");

export function draw(into, { note, about, window: room, unused, kinds, parts }) {
  const mark = (at, grow = 0) => {
    const made = el("i");
    made.style.cssText = `--kind:${at};flex-grow:${grow}`;
    return made;
  };
  const sum = kinds.reduce((all, [, tokens]) => all + tokens, 0);
  const body = el("tbody");
  const heads = ["Kind", "Part", "Tokens", room ? "Of the window" : "Share"].map((name, at) => {
    const column = Math.min(at, 2); // shares are in the order of tokens
    const head = el("th", "", el("button", "copy", name));
    head.onclick = () => sort(head, column, head.ariaSort === "descending" ? 1 : -1);
    return head;
  });
  function sort(by, at, way) {
    for (const each of heads) each.ariaSort = "none";
    by.ariaSort = way < 0 ? "descending" : "ascending";
    parts.sort((one, other) => way * String(one[at]).localeCompare(other[at], "en", { numeric: true }));
    body.replaceChildren(...parts.map(([kind, part, tokens]) => el("tr", "", el("td", "", kind), el("td", "", part), el("td", "", number(tokens)), el("td", "", share(tokens, room || sum)))));
  }
  const legend = kinds.map(([kind, tokens], at) => el("span", "", mark(at), `${kind} ${number(tokens)}`));
  const filled = room ? `${share(sum, room)} of a window of ${number(room)} tokens. ` : "";
  const idle = unused ? `Tools that were never called: ${plural(unused, "token")}. ` : "";
  into.replaceChildren(
    el("p", "note", note, ` ${filled}${idle}`, about && `Of the model: ${about}.`),
    el("div", "bar large", ...kinds.map(([, tokens], at) => mark(at, tokens))),
    el("p", "legend", ...legend),
    el("div", "md", el("table", "", el("thead", "", el("tr", "", ...heads)), body)));
  sort(heads[2], 2, -1);
}
