// The form of "Keep as recording".

import { ask } from "./connection.js";
import { $, visible } from "./elements.js";
import { rows } from "./rows.js";

const words = (form) => form.elements.thinking.value + "\0" + form.elements.text.value;

export const keep = {
  // `meant`: the thinking and the text of a misread reply as its options read it.
  open(exchange, meant) {
    const form = $("keep").querySelector("form");
    const row = rows.get(exchange.id) || {};
    form.reset();
    this.say("");
    form.querySelector(".main").hidden = this.sure = false;
    const model = (row.model || "exchange").split(/[\\/]/).at(-1).toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "");
    form.elements.name.value = `${model.slice(0, 60) || "exchange"}-${new Date(row.at * 1000).toTimeString().slice(0, 8).replaceAll(":", "")}`;
    for (const kind of ["thinking", "text"]) form.elements[kind].value = exchange.choices.get(0)?.said(kind) ?? "";
    this.read = words(form);
    for (const kind in meant) form.elements[kind].value = meant[kind];
    this.id = exchange.id;
    $("keep").showModal();
    form.elements.name.select();
  },

  say(message, cls = "problem") {
    const line = $("keep").querySelector("[role=alert]");
    line.className = cls;
    line.textContent = visible(message);
  },

  async send(event) {
    event.preventDefault();
    const fields = event.target.elements;
    const button = event.target.querySelector(".main");
    if (words(event.target) === this.read && !this.sure) {
      this.sure = true;
      return this.say("This is what the addon read. To keep it as correct, press Keep again.");
    }
    button.disabled = true;
    try {
      const said = Object.fromEntries(["name", "why", "thinking", "text"].map((name) => [name, fields[name].value]));
      this.say(await ask(`exchanges/${this.id}/keep`, said), "kept");
      button.hidden = true;
    } catch (error) {
      this.say(error.message);
    } finally {
      button.disabled = false;
    }
  },
};
