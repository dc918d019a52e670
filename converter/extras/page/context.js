// What fills a request.

import { el, number } from "./elements.js";

export function draw(into, { note, about, kinds, parts }) {
  const mark = (at, grow = 0) => {
    const made = el("i");
    made.style.cssText = `--kind:${at};flex-grow:${grow}`;
    return made;
  };
  const body = el("tbody");
  const heads = ["Kind", "Part", "Tokens"].map((name, at) => {
    const head = el("th", "", el("button", "copy", name));
    head.onclick = () => sort(at, head.ariaSort === "descending" ? 1 : -1);
    return head;
  });
  function sort(at, way) {
    for (const each of heads) each.ariaSort = "none";
    heads[at].ariaSort = way < 0 ? "descending" : "ascending";
    parts.sort((one, other) => way * String(one[at]).localeCompare(other[at], "en", { numeric: true }));
    body.replaceChildren(...parts.map((part) => el("tr", "", ...part.map((each) => el("td", "", number(each))))));
  }
  const legend = kinds.map(([kind, tokens], at) => el("span", "", mark(at), `${kind} ${number(tokens)}`));
  into.replaceChildren(
    el("p", "note", note, about && ` Of the model: ${about}.`),
    el("div", "bar large", ...kinds.map(([, tokens], at) => mark(at, tokens))),
    el("p", "legend", ...legend),
    el("div", "md", el("table", "", el("thead", "", el("tr", "", ...heads)), body)));
  sort(2, -1);
}
