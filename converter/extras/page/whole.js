// The page of a whole session: the turns that each exchange added, branches, and the differences between two requests.

import { $, element, plural, showToast, formatSeconds, printable } from "./elements.js";
import { tokensText } from "./exchange.js";
import { PARTS, foldElement, lazyFold, turnElement } from "./turns.js";

const view = { running: false };
const numberedTitle = (each) => `${each.number} · ${each.title}`;

function fold(kind, label, ...inside) {
  const made = foldElement(kind, label);
  made.append(...inside);
  return made;
}

// Return a turn's element. A system prompt is folded, because it is long and repeated.
function turnOrPrompt(data) {
  if (data.role !== "system" && data.role !== "developer") return turnElement(data, view);
  const length = data.parts.reduce((sum, part) => sum + part.text.length, 0);
  return lazyFold(`${data.role} prompt · ${plural(length, "character")}`, () => [turnElement(data, view)]);
}

function exchangeElement(each) {
  const { request, reply } = each;
  const { waited, thought, end } = each;
  const about = [each.model, each.client, waited && `waited ${formatSeconds(waited)}`, thought && `thought ${formatSeconds(thought)}`, end && `${formatSeconds(end)} in all`, tokensText(each), each.failure];
  return element("article", "",
    element("div", "title", element("h2", "", numberedTitle(each)), element("p", "about", about.filter(Boolean).join(" · "))),
    element("p", "asks", ...request.asked.map(([name, words]) => element("span", "", `${name} ${words}`))),
    ...[...request.turns, ...reply.turns].map(turnOrPrompt),
    ...[...request.rest, ...reply.rest].map((part) => PARTS[part.kind](part, view)));
}

// Return the elements of a session's exchanges `own`. Each branch among `sessions` follows the exchange during which it began.
function nestedElements(own, sessions) {
  const branches = sessions.filter(([first]) => first.within === own[0].session);
  return own.flatMap((each, at) => {
    const end = own[at + 1]?.number ?? Infinity;
    const begun = branches.splice(0, branches.filter(([first]) => first.number < end).length);
    return [exchangeElement(each), ...begun.map((branch) => fold("branch", `Sub-agent · ${branch[0].title}`, ...nestedElements(branch, sessions)))];
  });
}

function drawSession({ exchanges, differences }) {
  exchanges.forEach((each, at) => { each.number = at + 1; });
  const title = printable(exchanges.find((each) => each.title)?.title || "A session");
  document.title = document.querySelector("h1").textContent = title;
  const asked = new URLSearchParams(location.search);
  ["from", "to"].forEach((name, at) => {
    const field = document.querySelector(`[name=${name}]`);
    field.append(...exchanges.map((each) => new Option(printable(numberedTitle(each)), each.id)));
    field.value = asked.get(name) || exchanges.at(Math.max(at - 2, -exchanges.length))?.id;
  });
  $("differs").hidden = !differences;
  const marked = (line) => element({ "+": "ins", "-": "del" }[line[0]] || "span", "", line);
  $("differs").append(...(differences || []).map(([name, lines]) => fold("call", name, element("pre", "", ...lines.map(marked)))));
  if (!differences?.length) $("differs").append("Nothing.");
  // Branches whose session is no longer in mitmweb's list are shown on the top level too.
  const sessions = [...Map.groupBy(exchanges, (each) => each.session).values()];
  const tops = sessions.filter(([first]) => !sessions.some(([other]) => other.session === first.within));
  document.querySelector("main").append(...tops.flatMap((own) => nestedElements(own, sessions)));
}

const answer = await fetch(`whole${location.search}`);
if (answer.ok) drawSession(await answer.json());
else showToast(await answer.text());
