// The tab *Context*: which parts of a prompt have how many tokens.

import { element, formatNumber, plural } from "./elements.js";

// Percentage of `whole`: `percentOf(5, 20)` -> "25.0%".
export const percentOf = (tokens, whole) => (whole ? `${((100 * tokens) / whole).toFixed(1)}%` : "–");

// Draw into `panel` a bar with a segment for each kind of part, a legend, and a table of the parts that can be sorted.
export function drawContext(panel, { note, about, window: windowSize, unused, kinds, parts }) {
  const coloredMark = (kind, width = 0) => {
    const made = element("i");
    made.style.cssText = `--kind:${kind};flex-grow:${width}`;
    return made;
  };
  const sum = kinds.reduce((all, [, tokens]) => all + tokens, 0);
  const body = element("tbody");
  const heads = ["Kind", "Part", "Tokens", windowSize ? "Of the window" : "Share"].map((name, at) => {
    const column = Math.min(at, 2); // the fourth column sorts by tokens as the third does: shares have the same order
    const head = element("th", "", element("button", "copy", name));
    head.onclick = () => sortParts(head, column, head.ariaSort === "descending" ? 1 : -1);
    return head;
  });
  function sortParts(head, column, direction) {
    for (const each of heads) each.ariaSort = "none";
    head.ariaSort = direction < 0 ? "descending" : "ascending";
    parts.sort((one, other) => direction * String(one[column]).localeCompare(other[column], "en", { numeric: true }));
    body.replaceChildren(...parts.map(([kind, part, tokens]) => element("tr", "", element("td", "", kind), element("td", "", part), element("td", "", formatNumber(tokens)), element("td", "", percentOf(tokens, windowSize || sum)))));
  }
  const legend = kinds.map(([kind, tokens], at) => element("span", "", coloredMark(at), `${kind} ${formatNumber(tokens)}`));
  const filled = windowSize ? `${percentOf(sum, windowSize)} of a window of ${formatNumber(windowSize)} tokens. ` : "";
  const idle = unused ? `Tools that were never called: ${plural(unused, "token")}. ` : "";
  panel.replaceChildren(
    element("p", "note", note, ` ${filled}${idle}`, about && `Of the model: ${about}.`),
    element("div", "bar large", ...kinds.map(([, tokens], at) => coloredMark(at, tokens))),
    element("p", "legend", ...legend),
    element("div", "md", element("table", "", element("thead", "", element("tr", "", ...heads)), body)));
  sortParts(heads[2], 2, -1);
}
