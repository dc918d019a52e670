// The list of exchanges, its filters and its search.

import { fetchText } from "./connection.js";
import { $, element, formatNumber, plural, formatSeconds, printable } from "./elements.js";
import { drawBar, stateText, tokensText } from "./exchange.js";
import { rootSession, rows, shown, subAgentsText } from "./rows.js";

export const ROWS_AT_ONCE = 1000; // rows that are drawn; *Show older ones* draws as many again
// A change of these fields of a row may move the row to another session.
const GROUP_FIELDS = ["session", "within"];
export const FILTERS = { model: "models", server: "servers", client: "clients", state: "states" };

export const list = {
  items: new Map(), // id of an exchange, or `s` and the name of a session -> its element
  groups: new Map(), // session's name -> ids of its exchanges that match, the newest first
  unfolded: new Set(), // names of the sessions whose exchanges are shown
  matchingIds: null, // ids that the search has found; null without a search
  limit: ROWS_AT_ONCE,

  // Store new and changed rows, remove others, and draw what has changed.
  update(newRows, removedIds) {
    const grown = new Set();
    for (const row of newRows) {
      row.began = Date.now() - row.age * 1000;
      const before = rows.get(row.id);
      rows.set(row.id, row);
      if (before && this.items.has(row.id)) this.drawItem(row);
      grown.add(rootSession(row));
      if (!before || [...GROUP_FIELDS, ...Object.keys(FILTERS)].some((name) => before[name] !== row[name])) this.stale = true;
    }
    for (const id of removedIds) {
      rows.delete(id);
      this.items.get(id)?.remove();
      this.items.delete(id);
      this.stale = true;
    }
    if (this.stale) this.arrange();
    else for (const name of grown) if (this.items.has(`s${name}`)) this.drawItem(this.sessionRow(name));
  },

  // Return a row that stands for a session: the times and written tokens of all its exchanges together, and in `context` the
  // prompt's tokens of its newest turn.
  sessionRow(name) {
    const of = this.groups.get(name).map((id) => rows.get(id));
    const sum = (key) => of.reduce((total, row) => total + (row[key] || 0), 0);
    const model = [plural(of.filter((row) => row.wish !== "title").length, "turn"), subAgentsText(of)].filter(Boolean).join(" · ");
    const made = { ...of[0], id: `s${name}`, title: (rows.get(name) || of.at(-1)).title || "no words", model, running: false, broke: "" };
    for (const key of ["waited", "thought", "end", "output_tokens"]) made[key] = sum(key);
    made.context = of.find((row) => row.session === name && row.input_tokens)?.input_tokens;
    return made;
  },

  clear() {
    rows.clear();
    this.items.clear();
    $("rows").replaceChildren();
  },

  matches(row) {
    const wanted = Object.keys(FILTERS).every((name) => !$(name).value || row[name] === $(name).value);
    return wanted && (!this.matchingIds || this.matchingIds.has(row.id));
  },

  // Bring the elements of all rows that match filters and search into order, the newest first. Elements that are in order stay
  // where they are, so that focus and scroll position remain.
  arrange() {
    this.stale = false;
    this.drawFilters();
    const wanted = [...rows.values()].filter((row) => this.matches(row)).sort((one, other) => other.at - one.at);
    this.groups = new Map();
    for (const row of wanted) {
      const name = rootSession(row);
      if (!this.groups.has(name)) this.groups.set(name, []);
      this.groups.get(name).push(row.id);
    }
    const order = [...this.groups].flatMap(([name, ids]) => (ids.length < 2 ? ids : [`s${name}`, ...(this.unfolded.has(name) ? ids : [])]));
    this.order = order.slice(0, this.limit);
    const keep = new Set(this.order);
    for (const [id, item] of this.items) if (!keep.has(id)) { item.remove(); this.items.delete(id); }
    let at = $("rows").firstElementChild;
    for (const id of this.order) {
      const item = this.items.get(id) || this.createItem(id), row = rows.get(id);
      if (!row) this.drawItem(this.sessionRow(id.slice(1)));
      item.firstElementChild.classList.toggle("in", Boolean(row && this.groups.get(rootSession(row)).length > 1));
      item.firstElementChild.classList.toggle("sub", Boolean(row?.within));
      if (item === at) at = at.nextElementSibling;
      else $("rows").insertBefore(item, at);
    }
    const total = rows.size;
    const some = wanted.length === total ? plural(total, "exchange") : `${formatNumber(wanted.length)} of ${plural(total, "exchange")}`;
    $("count").textContent = total ? some : "No exchanges yet. Ask a model through the proxy.";
    $("older").hidden = order.length <= this.limit;
  },

  // Return a new element for an exchange's or session's row.
  createItem(id) {
    const made = $("row-template").content.cloneNode(true).firstElementChild;
    this.items.set(id, made);
    if (!rows.has(id)) return this.makeSessionButton(made, id);
    made.firstElementChild.href = `#${id}`;
    if (shown.has(id)) made.firstElementChild.setAttribute("aria-current", "true");
    this.drawItem(rows.get(id));
    return made;
  },

  // Turn the element of a session's row into a button: it unfolds the session's exchanges and shows the session, or folds them.
  makeSessionButton(made, id) {
    const name = id.slice(1), button = element("button", "row", ...made.firstElementChild.childNodes);
    button.id = id;
    button.ariaExpanded = String(this.unfolded.has(name));
    if (shown.has(id)) button.setAttribute("aria-current", "true");
    button.onclick = () => {
      const unfolds = !this.unfolded.delete(name);
      if (unfolds) this.unfolded.add(name);
      button.ariaExpanded = String(unfolds);
      this.arrange();
      if (unfolds) location.hash = id;
    };
    made.replaceChildren(button);
    return made;
  },

  drawItem(row) {
    const item = this.items.get(row.id);
    const part = (selector) => item.querySelector(selector);
    item.className = row.state;
    part(".model").textContent = printable(row.title || row.model || "no model");
    part("time").textContent = new Date(row.at * 1000).toLocaleTimeString("en-GB");
    part(".state").textContent = printable(row.failure || stateText(row));
    part(".client").textContent = printable([row.again && "again", row.title && row.model, row.client || row.path].filter(Boolean).join(" · "));
    part(".tokens").textContent = `${row.broke ? "cache broken · " : ""}${tokensText(row)}`;
    const times = drawBar(part(".bar"), row);
    part(".took").textContent = times ? formatSeconds(times.end) : "";
  },

  // Offer in each filter the values that rows have, and the value that is chosen.
  drawFilters() {
    for (const name in FILTERS) {
      const field = $(name), chosen = field.value;
      const values = [...new Set([...rows.values()].map((row) => row[name]))].filter(Boolean).sort();
      if (chosen && !values.includes(chosen)) values.push(chosen);
      const key = values.join("\n");
      if (field.dataset.values === key) continue;
      field.dataset.values = key;
      field.replaceChildren(new Option(`All ${FILTERS[name]}`, ""), ...values.map((value) => new Option(printable(value), value)));
      field.value = chosen;
    }
  },

  // Ask the server which exchanges contain the words. A result is dropped if another search has begun meanwhile.
  async search() {
    const words = $("words").value.trim();
    const mine = (this.lastSearch = {});
    if (!words) this.matchingIds = null;
    else {
      $("count").textContent = "Searching …";
      const { found } = JSON.parse(await fetchText(`search?words=${encodeURIComponent(words)}`));
      if (mine !== this.lastSearch) return;
      this.matchingIds = new Set(found);
    }
    this.arrange();
  },

  // Choose the row `offset` places below the current one. An exchange is shown; a session's row only takes the focus, and Enter
  // unfolds it.
  moveBy(offset) {
    const head = this.order.indexOf(document.activeElement.id);
    const at = head < 0 ? this.order.indexOf([...shown.keys()][0]) : head;
    const id = this.order[at < 0 ? 0 : Math.min(Math.max(at + offset, 0), this.order.length - 1)];
    if (!id) return;
    if (head >= 0) document.activeElement.blur();
    if (rows.has(id)) location.hash = id;
    else $(id).focus();
    this.items.get(id).scrollIntoView({ block: "nearest" });
  },
};
