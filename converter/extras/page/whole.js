// A session as one page: the turns that each exchange added, its branches, and what differs in two requests.

import { $, el, plural, say, seconds, visible } from "./elements.js";
import { tokens } from "./exchange.js";
import { PARTS, folded, later, turn } from "./turns.js";

const view = { running: false };
const numbered = (each) => `${each.number} · ${each.title}`;

function fold(kind, label, ...inside) {
  const made = folded(kind, label);
  made.append(...inside);
  return made;
}

// A prompt is folded, because it is long and repeated.
function turnOf(data) {
  if (data.role !== "system" && data.role !== "developer") return turn(data, view);
  const length = data.parts.reduce((sum, part) => sum + part.text.length, 0);
  return later(`${data.role} prompt · ${plural(length, "character")}`, () => [turn(data, view)]);
}

function article(each) {
  const { request, reply } = each;
  const { waited, thought, end } = each;
  const about = [each.model, each.client, waited && `waited ${seconds(waited)}`, thought && `thought ${seconds(thought)}`, end && `${seconds(end)} in all`, tokens(each), each.failure];
  return el("article", "",
    el("div", "title", el("h2", "", numbered(each)), el("p", "about", about.filter(Boolean).join(" · "))),
    el("p", "asks", ...request.asked.map(([name, words]) => el("span", "", `${name} ${words}`))),
    ...[...request.turns, ...reply.turns].map(turnOf),
    ...[...request.rest, ...reply.rest].map((part) => PARTS[part.kind](part, view)));
}

// The exchanges of a session. A branch stands behind the exchange during which it began.
function nested(own, sessions) {
  const branches = sessions.filter(([first]) => first.within === own[0].session);
  return own.flatMap((each, at) => {
    const end = own[at + 1]?.number ?? Infinity;
    const begun = branches.splice(0, branches.filter(([first]) => first.number < end).length);
    return [article(each), ...begun.map((branch) => fold("branch", `Sub-agent · ${branch[0].title}`, ...nested(branch, sessions)))];
  });
}

function draw({ exchanges, differences }) {
  exchanges.forEach((each, at) => { each.number = at + 1; });
  const title = visible(exchanges.find((each) => each.title)?.title || "A session");
  document.title = document.querySelector("h1").textContent = title;
  const asked = new URLSearchParams(location.search);
  ["from", "to"].forEach((name, at) => {
    const field = document.querySelector(`[name=${name}]`);
    field.append(...exchanges.map((each) => new Option(visible(numbered(each)), each.id)));
    field.value = asked.get(name) || exchanges.at(Math.max(at - 2, -exchanges.length))?.id;
  });
  $("differs").hidden = !differences;
  const marked = (line) => el({ "+": "ins", "-": "del" }[line[0]] || "span", "", line);
  $("differs").append(...(differences || []).map(([name, lines]) => fold("call", name, el("pre", "", ...lines.map(marked)))));
  if (!differences?.length) $("differs").append("Nothing.");
  // On the top level stand branches as well whose session is not in mitmweb's list any more.
  const sessions = [...Map.groupBy(exchanges, (each) => each.session).values()];
  const tops = sessions.filter(([first]) => !sessions.some(([other]) => other.session === first.within));
  document.querySelector("main").append(...tops.flatMap((own) => nested(own, sessions)));
}

const answer = await fetch(`whole${location.search}`);
if (answer.ok) draw(await answer.json());
else say(await answer.text());
