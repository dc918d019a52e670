// The form of "Keep as recording".

import { $, say, visible } from "./elements.js";
import { rows } from "./known.js";
import { ask } from "./line.js";

export const keep = {
  open(exchange) {
    const form = $("keep").querySelector("form");
    const row = rows.get(exchange.id) || {};
    form.reset();
    $("keep").querySelector(".problem").textContent = "";
    const model = (row.model || "exchange").split(/[\\/]/).at(-1).toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "");
    form.elements.name.value = `${model.slice(0, 60) || "exchange"}-${new Date(row.at * 1000).toTimeString().slice(0, 8).replaceAll(":", "")}`;
    for (const kind of ["thinking", "text"]) form.elements[kind].value = exchange.choices.get(0)?.said(kind) ?? "";
    this.id = exchange.id;
    $("keep").showModal();
    form.elements.name.select();
  },

  async send(event) {
    event.preventDefault();
    const fields = event.target.elements;
    const button = event.target.querySelector(".main");
    button.disabled = true;
    try {
      const said = Object.fromEntries(["name", "why", "thinking", "text"].map((name) => [name, fields[name].value]));
      say(`Kept ${await ask(`exchanges/${this.id}/keep`, said)}`);
      $("keep").close();
    } catch (error) {
      $("keep").querySelector(".problem").textContent = visible(error.message);
    } finally {
      button.disabled = false;
    }
  },
};
