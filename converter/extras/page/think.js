// The main script of the page at /think: which exchanges are shown, updates from the server, keys and buttons.

import { fetchText, connect, send } from "./connection.js";
import { $, element, showToast, storage } from "./elements.js";
import { Exchange } from "./exchange.js";
import { keepDialog } from "./keep.js";
import { FILTERS, ROWS_AT_ONCE, list } from "./list.js";
import { codeBlock } from "./markdown.js";
import { drawNumbers } from "./numbers.js";
import { rows, shown } from "./rows.js";
import { Session } from "./session.js";
import { savedThoughtsOpen } from "./turns.js";

let followsNewest = !location.hash; // true until the reader chooses an exchange

// Show the exchanges or sessions in the URL's fragment, at most two: `#ID&ID`, `#sNAME`.
function showChosen() {
  if (location.hash === "#talk") return;
  const ids = location.hash.slice(1).split("&").filter((id) => /^s?[0-9a-f-]+$/.test(id)).slice(0, 2);
  show(ids);
}

// Show these exchanges and sessions, and subscribe to updates of the exchanges.
function show(ids) {
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

// Show the newest exchange until the reader chooses one. An exchange that runs is not replaced by a newer one. On a narrow
// screen nothing is shown, because it would cover the list.
function followNewest() {
  const [now] = [...shown.keys()].map((id) => rows.get(id));
  if (!followsNewest || now?.running || matchMedia("(max-width: 720px)").matches) return;
  const newest = [...rows.values()].reduce((one, other) => (one && one.at > other.at ? one : other), null);
  if (newest && newest !== now) show([newest.id]);
}

// Show commands to copy while the list is empty.
async function drawFirstLines() {
  $("first").hidden = rows.size > 0;
  if (rows.size || $("first").childElementCount) return;
  const { proxy, lines } = JSON.parse(await fetchText("lines"));
  if (proxy) $("first").replaceChildren(element("p", "", "Clients connect to ", element("b", "", proxy)), codeBlock("think-addon claude", "Claude Code, set up by itself (also codex, opencode, aider)"), ...lines.map(([title, line]) => codeBlock(line, title)));
}

// Start again with an empty list: after each new connection the server sends all rows.
function onConnected() {
  list.clear();
  list.arrange();
  showChosen();
  setTimeout(() => drawFirstLines().catch((error) => showToast(error.message)), 500); // the rows, if there are any, come within this time
}

// Draw an update from the server.
function onNews(news) {
  if (news.rows || news.gone) {
    list.update(news.rows || [], news.gone || []);
    for (const view of shown.values()) view.onRowsChanged(news.rows || []);
    if (news.gone || news.rows.some((row) => !row.running)) drawNumbers();
  }
  for (const data of news.chosen || []) shown.get(data.id)?.applyChanges(data);
  if (news.rows || news.gone) { followNewest(); $("first").hidden = rows.size > 0; }
  if (news.wire) shown.get(news.wire.id)?.drawSteps(news.wire);
}

// Redraw the times of running exchanges, which grow even if the server sends nothing.
setInterval(() => {
  if (document.hidden) return;
  for (const row of rows.values()) {
    if (!row.running) continue;
    if (list.items.has(row.id)) list.drawItem(row);
    shown.get(row.id)?.drawRow();
  }
}, 500);

// Keys, buttons and the color theme.

const THEMES = { "": "auto", light: "light", dark: "dark" };

function setTheme(name) {
  document.documentElement.style.colorScheme = name || "light dark";
  $("theme").textContent = `Theme: ${THEMES[name] || THEMES[""]}`;
}

// Fold all thoughts if one is open, else open all; remember this for other exchanges.
function toggleThoughts() {
  const all = [...document.querySelectorAll("#shown details.thinking")];
  const open = all.length ? !all.some((each) => each.open) : savedThoughtsOpen() === false;
  storage.set("thoughts", open ? "open" : "folded");
  for (const each of shown.values()) each.thoughtsOpen = open;
  for (const each of all) each.open = open;
}

// Show a tab of the first exchange, or its conversation if the tab is shown already.
function toggleTab(tab) {
  const [first] = shown.values();
  first?.showTab?.(first.tab === tab ? "talk" : tab);
}

const KEYS = {
  j: () => list.moveBy(1),
  k: () => list.moveBy(-1),
  "/": () => $("words").focus(),
  t: toggleThoughts,
  w: () => toggleTab("wire"),
  c: () => toggleTab("context"),
  "?": () => $("keys").showModal(),
  Escape: () => { followsNewest = false; if (location.hash) location.hash = ""; else show([]); },
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
  const next = names[(names.indexOf(storage.get("theme") || "") + 1) % names.length];
  storage.set("theme", next);
  setTheme(next);
});
$("help").addEventListener("click", KEYS["?"]);
$("keep").querySelector("form").addEventListener("submit", (event) => keepDialog.submit(event));
$("older").addEventListener("click", () => { list.limit += ROWS_AT_ONCE; list.arrange(); });
$("filter").addEventListener("submit", (event) => event.preventDefault());
$("words").addEventListener("input", () => {
  clearTimeout(list.typed);
  list.typed = setTimeout(() => list.search().catch((error) => showToast(error.message)), 250);
});
for (const name in FILTERS) {
  $(name).addEventListener("change", () => { $(name).classList.toggle("set", Boolean($(name).value)); list.arrange(); drawNumbers(); });
}
window.addEventListener("hashchange", () => { followsNewest = false; showChosen(); });
if (location.search) history.replaceState(null, "", location.pathname + location.hash); // hide the login's token: the login is in a cookie by now
setTheme(storage.get("theme") || "");
list.arrange();
connect(onConnected, onNews);
