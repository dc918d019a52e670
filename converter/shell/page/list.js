// The list of exchanges, and what narrows it.

import { $, number, plural, seconds, visible } from "./elements.js";
import { STATES, drawBar, tokens } from "./exchange.js";
import { rows, shown } from "./known.js";
import { ask } from "./line.js";

export const SHOWN = 1000; // rows that are drawn; older ones when they are asked for
export const CHOICES = { model: "models", server: "servers", client: "clients", state: "states" };

export const list = {
  items: new Map(),
  found: null,
  limit: SHOWN,

  hear(fresh, gone) {
    for (const row of fresh) {
      row.began = Date.now() - row.age * 1000;
      const before = rows.get(row.id);
      rows.set(row.id, row);
      if (before && this.items.has(row.id)) this.draw(row);
      if (!before || Object.keys(CHOICES).some((name) => before[name] !== row[name])) this.stale = true;
    }
    for (const id of gone) {
      rows.delete(id);
      this.items.get(id)?.remove();
      this.items.delete(id);
      this.stale = true;
    }
    if (this.stale) this.arrange();
  },

  clear() {
    rows.clear();
    this.items.clear();
    $("rows").replaceChildren();
  },

  matches(row) {
    const wanted = Object.keys(CHOICES).every((name) => !$(name).value || row[name] === $(name).value);
    return wanted && (!this.found || this.found.has(row.id));
  },

  // Put the rows that match into their order, the newest first; those that stand right are left where they are.
  arrange() {
    this.stale = false;
    this.options();
    const wanted = [...rows.values()].filter((row) => this.matches(row)).sort((one, other) => other.at - one.at);
    this.order = wanted.slice(0, this.limit).map((row) => row.id);
    const keep = new Set(this.order);
    for (const [id, item] of this.items) if (!keep.has(id)) { item.remove(); this.items.delete(id); }
    let at = $("rows").firstElementChild;
    for (const id of this.order) {
      const item = this.items.get(id) || this.item(id);
      if (item === at) at = at.nextElementSibling;
      else $("rows").insertBefore(item, at);
    }
    const total = rows.size;
    const some = wanted.length === total ? plural(total, "exchange") : `${number(wanted.length)} of ${plural(total, "exchange")}`;
    $("count").textContent = total ? some : "No exchanges yet. Ask a model through the proxy.";
    $("older").hidden = wanted.length <= this.limit;
  },

  item(id) {
    const made = $("row-template").content.cloneNode(true).firstElementChild;
    made.firstElementChild.href = `#${id}`;
    this.items.set(id, made);
    if (shown.has(id)) made.firstElementChild.setAttribute("aria-current", "true");
    this.draw(rows.get(id));
    return made;
  },

  draw(row) {
    const item = this.items.get(row.id);
    const part = (selector) => item.querySelector(selector);
    item.className = row.state;
    part(".model").textContent = visible(row.title || row.model || "no model");
    part("time").textContent = new Date(row.at * 1000).toLocaleTimeString("en-GB");
    part(".state").textContent = visible(row.failure || STATES[row.state]);
    part(".client").textContent = visible([row.again && "again", row.title && row.model, row.client || row.path].filter(Boolean).join(" · "));
    part(".tokens").textContent = tokens(row);
    const times = drawBar(part(".bar"), row);
    part(".took").textContent = times ? seconds(times.end) : "";
  },

  options() {
    for (const name in CHOICES) {
      const field = $(name), chosen = field.value;
      const values = [...new Set([...rows.values()].map((row) => row[name]))].filter(Boolean).sort();
      if (chosen && !values.includes(chosen)) values.push(chosen);
      const key = values.join("\n");
      if (field.dataset.values === key) continue;
      field.dataset.values = key;
      field.replaceChildren(new Option(`All ${CHOICES[name]}`, ""), ...values.map((value) => new Option(visible(value), value)));
      field.value = chosen;
    }
  },

  async search() {
    const words = $("words").value.trim();
    const mine = (this.asked = {});
    if (!words) this.found = null;
    else {
      $("count").textContent = "Searching …";
      const { found } = JSON.parse(await ask(`search?words=${encodeURIComponent(words)}`));
      if (mine !== this.asked) return;
      this.found = new Set(found);
    }
    this.arrange();
  },

  // Go to an older or a newer one.
  step(by) {
    const at = this.order.indexOf([...shown.keys()][0]);
    const id = this.order[at < 0 ? 0 : Math.min(Math.max(at + by, 0), this.order.length - 1)];
    if (id) { location.hash = id; this.items.get(id).scrollIntoView({ block: "nearest" }); }
  },
};
