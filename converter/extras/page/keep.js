// The dialog of the button *Keep as recording*, in which a person writes the expected thinking and text.

import { fetchText } from "./connection.js";
import { $, printable } from "./elements.js";
import { rows } from "./rows.js";

const expectedTexts = (form) => form.elements.thinking.value + "\0" + form.elements.text.value;

export const keepDialog = {
  // Open the dialog, filled with the `thinking` and `text` of the reply. For a misread reply `reread` has the `thinking` and
  // `text` that its remedy would give: the dialog shows these. `reread` is {} for any other reply.
  open(exchange, reread) {
    const form = $("keep").querySelector("form");
    const row = rows.get(exchange.id) || {};
    form.reset();
    this.showMessage("");
    form.querySelector(".main").hidden = this.isConfirmed = false;
    const model = (row.model || "exchange").split(/[\\/]/).at(-1).toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "");
    form.elements.name.value = `${model.slice(0, 60) || "exchange"}-${new Date(row.at * 1000).toTimeString().slice(0, 8).replaceAll(":", "")}`;
    for (const kind of ["thinking", "text"]) form.elements[kind].value = exchange.choices.get(0)?.textOf(kind) ?? "";
    this.textsRead = expectedTexts(form);
    for (const kind in reread) form.elements[kind].value = reread[kind];
    this.id = exchange.id;
    $("keep").showModal();
    form.elements.name.select();
  },

  showMessage(message, className = "problem") {
    const line = $("keep").querySelector("[role=alert]");
    line.className = className;
    line.textContent = printable(message);
  },

  // Send the form. The first attempt to keep the reply exactly as the addon read it only asks for confirmation.
  async submit(event) {
    event.preventDefault();
    const fields = event.target.elements;
    const button = event.target.querySelector(".main");
    if (expectedTexts(event.target) === this.textsRead && !this.isConfirmed) {
      this.isConfirmed = true;
      return this.showMessage("This is what the addon read. To keep it as correct, press Keep again.");
    }
    button.disabled = true;
    try {
      const message = Object.fromEntries(["name", "why", "thinking", "text"].map((name) => [name, fields[name].value]));
      this.showMessage(await fetchText(`exchanges/${this.id}/keep`, message), "kept");
      button.hidden = true;
    } catch (error) {
      this.showMessage(error.message);
    } finally {
      button.disabled = false;
    }
  },
};
