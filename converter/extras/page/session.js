// The view of one session: a graph of its prompts' tokens, its turns, and the tokens that each tool has cost.

import { fetchText } from "./connection.js";
import { $, element, formatNumber, plural, showToast, formatSeconds, printable } from "./elements.js";
import { STATES, tokensText } from "./exchange.js";
import { exchangesOfSession, subAgentsText } from "./rows.js";

const MOST_TURNS = 500; // newest turns that are drawn
const TOOL_COLUMNS = ["Tool", "Calls", "Failed", "Written for it", "Results", "Description"];

export class Session {
  constructor(id) {
    this.name = id.slice(1);
    this.root = $("session-template").content.cloneNode(true).firstElementChild;
    this.draw();
  }

  onRowsChanged(changed) { if (changed.length) this.draw(); }

  find(selector) { return this.root.querySelector(selector); }

  draw() {
    const { all, turns } = exchangesOfSession(this.name);
    if (!turns.length) return;
    const sum = (key) => all.reduce((total, row) => total + (row[key] || 0), 0);
    const [first] = turns, ended = turns.filter((row) => row.input_tokens);
    this.find("h2").textContent = printable(first.title || "no words");
    const about = [first.model, first.client, plural(turns.length, "turn"), subAgentsText(all)];
    this.find(".about").textContent = printable(about.filter(Boolean).join(" · "));
    this.find(".legend").replaceChildren(...[["waited", "waiting"], ["thought", "thinking"]].filter(([key]) => sum(key)).map(([key, words]) => element("span", "", element("i", key), `${words} ${formatSeconds(sum(key))}`)),
      element("span", "", `${formatSeconds(sum("end"))} in all`), element("span", "", `${formatNumber(sum("output_tokens"))} tokens written in all`));
    this.find("[data-do=whole]").href = `think/exchanges/${turns.at(-1).id}/session`;
    this.drawGraph(ended);
    this.find(".turns").replaceChildren(...all.slice(-MOST_TURNS).map((row) => this.turnLink(row)));
    if (this.drawnFor !== turns.at(-1).id + turns.at(-1).state) {
      this.drawnFor = turns.at(-1).id + turns.at(-1).state;
      fetchText(`exchanges/${turns.at(-1).id}/tools`).then((costs) => this.drawTools(JSON.parse(costs)), (error) => showToast(error.message));
    }
  }

  // Draw a bar for each turn's prompt tokens, with the cached part pale.
  drawGraph(ended) {
    const most = Math.max(...ended.map((row) => row.input_tokens), 1);
    const newest = ended.at(-1);
    this.find(".context-now").textContent = newest ? `Context of the newest turn: ${formatNumber(newest.input_tokens)} tokens; the most was ${formatNumber(most)}.` : "The server reported no counts.";
    this.find(".graph").replaceChildren(...ended.map((row) => {
      const bar = element("a"), cached = element("i");
      bar.href = `#${row.id}`;
      bar.title = bar.ariaLabel = printable(`${row.title}: ${tokensText(row)}`);
      bar.style.height = `${(100 * row.input_tokens) / most}%`;
      cached.style.height = `${(100 * (row.cached_tokens || 0)) / row.input_tokens}%`;
      bar.append(cached);
      return bar;
    }));
  }

  turnLink(row) {
    const link = element("a", "row", element("span", "line", element("b", "model", row.title || "no words"), element("time", "", new Date(row.at * 1000).toLocaleTimeString("en-GB"))),
      element("span", "line", element("span", "state", row.failure || STATES[row.state]), element("span", "", tokensText(row))));
    link.href = `#${row.id}`;
    if ((row.session || row.id) !== this.name) link.classList.add("sub");
    return element("li", row.state, link);
  }

  drawTools(costs) {
    const toolRows = costs.map(([name, ...numbers]) => element("tr", "", element("td", "", name), ...numbers.map((each) => element("td", "", formatNumber(each)))));
    const head = element("thead", "", element("tr", "", ...TOOL_COLUMNS.map((name) => element("th", "", name))));
    this.find(".tools").replaceChildren(...(costs.length ? [element("h3", "", "Tools"), element("p", "note", "Tokens, about: each result and call once, a description as it stands in every turn."), element("div", "md", element("table", "", head, element("tbody", "", ...toolRows)))] : []));
  }}
