// One session: its context over its turns, the turns, and what each tool cost.

import { ask } from "./connection.js";
import { $, el, number, plural, say, seconds, visible } from "./elements.js";
import { STATES, tokens } from "./exchange.js";
import { sessionOf, subAgents } from "./rows.js";

const MOST = 500; // turns that are drawn, the newest
const TOOLS = ["Tool", "Calls", "Failed", "Written for it", "Results", "Description"];

export class Session {
  constructor(id) {
    this.name = id.slice(1);
    this.root = $("session-template").content.cloneNode(true).firstElementChild;
    this.draw();
  }

  rowsChanged(changed) { if (changed.length) this.draw(); }

  part(selector) { return this.root.querySelector(selector); }

  draw() {
    const { all, turns } = sessionOf(this.name);
    if (!turns.length) return;
    const sum = (key) => all.reduce((total, row) => total + (row[key] || 0), 0);
    const [first] = turns, ended = turns.filter((row) => row.input_tokens);
    this.part("h2").textContent = visible(first.title || "no words");
    const about = [first.model, first.client, plural(turns.length, "turn"), subAgents(all)];
    this.part(".about").textContent = visible(about.filter(Boolean).join(" · "));
    this.part(".legend").replaceChildren(...[["waited", "waiting"], ["thought", "thinking"]].filter(([key]) => sum(key)).map(([key, words]) => el("span", "", el("i", key), `${words} ${seconds(sum(key))}`)),
      el("span", "", `${seconds(sum("end"))} in all`), el("span", "", `${number(sum("output_tokens"))} tokens written in all`));
    this.part("[data-do=whole]").href = `think/exchanges/${turns.at(-1).id}/session`;
    this.graph(ended);
    this.part(".turns").replaceChildren(...all.slice(-MOST).map((row) => this.turn(row)));
    if (this.asked !== turns.at(-1).id + turns.at(-1).state) {
      this.asked = turns.at(-1).id + turns.at(-1).state;
      ask(`exchanges/${turns.at(-1).id}/tools`).then((told) => this.tools(JSON.parse(told)), (error) => say(error.message));
    }
  }

  // How much each turn read: a bar each, the cached part of it pale.
  graph(ended) {
    const most = Math.max(...ended.map((row) => row.input_tokens), 1);
    const newest = ended.at(-1);
    this.part(".context-now").textContent = newest ? `Context of the newest turn: ${number(newest.input_tokens)} tokens; the most was ${number(most)}.` : "The server reported no counts.";
    this.part(".graph").replaceChildren(...ended.map((row) => {
      const bar = el("a"), cached = el("i");
      bar.href = `#${row.id}`;
      bar.title = bar.ariaLabel = visible(`${row.title}: ${tokens(row)}`);
      bar.style.height = `${(100 * row.input_tokens) / most}%`;
      cached.style.height = `${(100 * (row.cached_tokens || 0)) / row.input_tokens}%`;
      bar.append(cached);
      return bar;
    }));
  }

  turn(row) {
    const link = el("a", "row", el("span", "line", el("b", "model", row.title || "no words"), el("time", "", new Date(row.at * 1000).toLocaleTimeString("en-GB"))),
      el("span", "line", el("span", "state", row.failure || STATES[row.state]), el("span", "", tokens(row))));
    link.href = `#${row.id}`;
    if ((row.session || row.id) !== this.name) link.classList.add("sub");
    return el("li", row.state, link);
  }

  tools(told) {
    const rowsOf = told.map(([name, ...numbers]) => el("tr", "", el("td", "", name), ...numbers.map((each) => el("td", "", number(each)))));
    const head = el("thead", "", el("tr", "", ...TOOLS.map((name) => el("th", "", name))));
    this.part(".tools").replaceChildren(...(told.length ? [el("h3", "", "Tools"), el("p", "note", "Tokens, about: each result and call once, a description as it stands in every turn."), el("div", "md", el("table", "", head, el("tbody", "", ...rowsOf)))] : []));
  }}
