// The page at /think: what is chosen and heard, keys and buttons.

import { ask, connect, send } from "./connection.js";
import { $, el, say, stored } from "./elements.js";
import { Exchange } from "./exchange.js";
import { keep } from "./keep.js";
import { CHOICES, SHOWN, list } from "./list.js";
import { codeBlock } from "./markdown.js";
import { drawNumbers } from "./numbers.js";
import { rows, shown } from "./rows.js";
import { Session } from "./session.js";
import { thoughtsOpen } from "./turns.js";

let follows = !location.hash; // until somebody chooses, the newest is shown

function choose() {
  if (location.hash === "#talk") return;
  const ids = location.hash.slice(1).split("&").filter((id) => /^s?[0-9a-f-]+$/.test(id)).slice(0, 2);
  put(ids);
}

function put(ids) {
  shown.clear();
  for (const id of ids) shown.set(id, id.startsWith("s") ? new Session(id) : new Exchange(id));
  $("shown").replaceChildren(...[...shown.values()].map((each) => each.root));
  $("shown").classList.toggle("two", ids.length > 1);
  $("nothing").hidden = ids.length > 0;
  document.body.classList.toggle("chosen", ids.length > 0);
  for (const [id, item] of list.items) item.firstElementChild.toggleAttribute("aria-current", shown.has(id));
  for (const id of ids) list.items.get(id)?.firstElementChild.setAttribute("aria-current", "true");
  $("talk").scrollTop = 0;
  send({ choose: ids.filter((id) => !id.startsWith("s")) });
}

// Show the newest until somebody chooses, but no other while it runs; a narrow screen has room for the list alone.
function follow() {
  const [now] = [...shown.keys()].map((id) => rows.get(id));
  if (!follows || now?.running || matchMedia("(max-width: 720px)").matches) return;
  const newest = [...rows.values()].reduce((one, other) => (one && one.at > other.at ? one : other), null);
  if (newest && newest !== now) put([newest.id]);
}

// What to copy while there is no exchange.
async function greet() {
  $("first").hidden = rows.size > 0;
  if (rows.size || $("first").childElementCount) return;
  const { proxy, lines } = JSON.parse(await ask("lines"));
  if (proxy) $("first").replaceChildren(el("p", "", "Clients connect to ", el("b", "", proxy)), codeBlock("think-addon claude", "Claude Code, set up by itself (also codex, opencode, aider)"), ...lines.map(([title, line]) => codeBlock(line, title)));
}

function begin() {
  list.clear();
  list.arrange();
  choose();
  setTimeout(() => greet().catch((error) => say(error.message)), 500); // the list comes first
}

function hear(news) {
  if (news.rows || news.gone) {
    list.hear(news.rows || [], news.gone || []);
    for (const view of shown.values()) view.rowsChanged(news.rows || []);
    if (news.gone || news.rows.some((row) => !row.running)) drawNumbers();
  }
  for (const data of news.chosen || []) shown.get(data.id)?.hear(data);
  if (news.rows || news.gone) { follow(); $("first").hidden = rows.size > 0; }
  if (news.wire) shown.get(news.wire.id)?.wire(news.wire);
}

// What runs and says nothing grows older all the same.
setInterval(() => {
  if (document.hidden) return;
  for (const row of rows.values()) {
    if (!row.running) continue;
    if (list.items.has(row.id)) list.draw(row);
    shown.get(row.id)?.row();
  }
}, 500);

// Keys, buttons, light and dark.

const THEMES = { "": "auto", light: "light", dark: "dark" };

function theme(name) {
  document.documentElement.style.colorScheme = name || "light dark";
  $("theme").textContent = `Theme: ${THEMES[name] || THEMES[""]}`;
}

function foldThoughts() {
  const all = [...document.querySelectorAll("#shown details.thinking")];
  const open = all.length ? !all.some((each) => each.open) : thoughtsOpen() === false;
  stored.set("thoughts", open ? "open" : "folded");
  for (const each of shown.values()) each.thoughts = open;
  for (const each of all) each.open = open;
}

function turnTo(tab) {
  const [first] = shown.values();
  first?.show?.(first.tab === tab ? "talk" : tab);
}

const KEYS = {
  j: () => list.step(1),
  k: () => list.step(-1),
  "/": () => $("words").focus(),
  t: foldThoughts,
  w: () => turnTo("wire"),
  c: () => turnTo("context"),
  "?": () => $("keys").showModal(),
  Escape: () => { follows = false; if (location.hash) location.hash = ""; else put([]); },
};

document.addEventListener("keydown", (event) => {
  const typing = event.target.closest("input, textarea, select, dialog[open]");
  if (typing && event.key === "Escape" && typing === $("words")) return $("words").blur();
  if (typing || event.ctrlKey || event.metaKey || event.altKey || !KEYS[event.key]) return;
  event.preventDefault();
  KEYS[event.key]();
});
document.querySelector("[data-close]").addEventListener("click", () => $("keep").close());
$("theme").addEventListener("click", () => {
  const names = Object.keys(THEMES);
  const next = names[(names.indexOf(stored.get("theme") || "") + 1) % names.length];
  stored.set("theme", next);
  theme(next);
});
$("help").addEventListener("click", KEYS["?"]);
$("keep").querySelector("form").addEventListener("submit", (event) => keep.send(event));
$("older").addEventListener("click", () => { list.limit += SHOWN; list.arrange(); });
$("filter").addEventListener("submit", (event) => event.preventDefault());
$("words").addEventListener("input", () => {
  clearTimeout(list.typed);
  list.typed = setTimeout(() => list.search().catch((error) => say(error.message)), 250);
});
for (const name in CHOICES) {
  $(name).addEventListener("change", () => { $(name).classList.toggle("set", Boolean($(name).value)); list.arrange(); drawNumbers(); });
}
window.addEventListener("hashchange", () => { follows = false; choose(); });
if (location.search) history.replaceState(null, "", location.pathname + location.hash); // the token is in a cookie by now
theme(stored.get("theme") || "");
list.arrange();
connect(begin, hear);
