// One exchange: its head, the conversation, its end, and the frames of both sides.

import { ask, send } from "./connection.js";
import { draw, share } from "./context.js";
import { $, copy, el, number, plural, say, seconds, visible } from "./elements.js";
import { GrowingText } from "./growing_text.js";
import { keep } from "./keep.js";
import { codeBlock } from "./markdown.js";
import { root, rows } from "./rows.js";
import { LONG_THOUGHT, PARTS, Turn, apart, folded, later, line, speaks, thoughtsOpen, turn } from "./turns.js";

const SEGMENTS = ["waited", "thought", "answered"];
const CALLED = { waited: "waiting", thought: "thinking", answered: "answer" };
const SURE = "Delete: sure?";
const MOST_FRAMES = 1500;
const RESULTS = 3; // of tools, the last of which are in sight, a line each
const KINDS = { result: "results of tools", tool: "descriptions of tools", turn: "questions and answers", system: "the system prompt", thought: "earlier thoughts", call: "calls", picture: "pictures" };

function spans(row) {
  const now = row.running ? Math.max(row.end ?? 0, (Date.now() - row.began) / 1000) : row.end;
  if (now == null) return null;
  const waited = row.waited ?? now;
  const thought = row.thought ?? 0;
  const thinks = row.running && row.state === "thinking" ? Math.max(thought, now - waited) : thought;
  return { waited: Math.min(waited, now), thought: thinks, answered: Math.max(0, now - waited - thinks), end: now };
}

export function drawBar(bar, row) {
  const times = spans(row);
  SEGMENTS.forEach((name, at) => { bar.children[at].style.flexGrow = times ? (1000 * times[name]) / (times.end || 1) : 0; });
  return times;
}

export const STATES = { waiting: "waiting", thinking: "thinking", answering: "answering", calling: "calling a tool", done: "done", left: "left", misread: "misread", broken: "broken" };
export const stateOf = (row) => STATES[row.state] + (row.calling ? `, ${row.calling.toLocaleString("en")} chars` : "");

// What was read and written: of an exchange, or of a session, where the sizes of prompts have no sum.
export function tokens(row) {
  if ("context" in row) return `${row.context ? `context ${number(row.context)} · ` : ""}wrote ${number(row.output_tokens)} in all`;
  if (row.output_tokens == null) {
    const said = (row.thinking || 0) + (row.text || 0);
    return said ? `${number(said)} characters` : "";
  }
  const speed = row.end - row.waited > 0.05 ? ` · ${Math.round(row.output_tokens / (row.end - row.waited))}/s` : "";
  const cached = row.cached_tokens ? ` (${number(row.cached_tokens)} cached)` : "";
  const about = row.tokens_estimated ? "about " : "";
  return `${about}${number(row.input_tokens || 0)}${cached} → ${number(row.output_tokens)} tokens${speed}`;
}

export class Exchange {
  constructor(id) {
    this.id = id;
    this.root = $("exchange-template").content.cloneNode(true).firstElementChild;
    this.running = false;
    this.choices = new Map();
    this.tab = "talk";
    this.frames = 0;
    this.root.addEventListener("click", (event) => this.clicked(event));
    this.part("[data-do=mitmweb]").href = `./#/flows/${id}/response`;
    this.part(".about").textContent = "Reading …";
    this.row();
  }

  part(selector) { return this.root.querySelector(selector); }

  rowsChanged(changed) { if (changed.some((row) => row.id === this.id)) this.row(); }

  // Draw what the list knows.
  row() {
    const row = rows.get(this.id);
    if (!row) return;
    const link = this.part("[data-do=session]");
    link.href = row.broke ? `think/exchanges/${row.id}/session?from=${row.broke}&to=${row.id}` : `#s${root(row)}`;
    link.target = row.broke ? "_blank" : "";
    if (row.broke) link.textContent = "What broke the cache";
    this.root.classList.remove(...Object.keys(STATES));
    this.root.classList.add(row.state);
    this.part("h2").textContent = visible(row.title || row.model || "no model");
    this.part(".title .state").textContent = stateOf(row);
    const when = new Date(row.at * 1000).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "medium" });
    const about = [row.title && (row.model || "no model"), row.path, row.client, row.server, when, row.again && "asked again"];
    this.part(".about").textContent = visible(about.filter(Boolean).join(" · "));
    const times = drawBar(this.part(".bar"), row);
    const legend = times ? SEGMENTS.filter((name) => times[name] > 0.0005).map((name) => {
      const mark = el("i", name);
      return el("span", "", mark, `${CALLED[name]} ${seconds(times[name])}`);
    }) : [];
    this.part(".legend").replaceChildren(...legend, el("span", "", tokens(row)));
    for (const name of ["keep", "again", "forget"]) this.part(`[data-do=${name}]`).disabled = row.running;
  }

  // Take all of it, or what is new.
  hear(data) {
    const follows = data.request || this.atEnd();
    if (data.gone) this.part(".reply").replaceChildren(el("p", "note", "This exchange is not in mitmweb's list any more."));
    if (data.request || data.end) this.reads().catch((error) => say(error.message));
    if (data.request) this.whole(data);
    for (const part of data.said || []) this.choice(part.choice).add(part, part.fresh);
    if (data.said && data.said.length) this.part(".waiting")?.remove();
    if (data.end) {
      this.running = false;
      this.end(data.end);
      this.fold(follows);
    }
    // of two beside each other the end of one would take the other out of sight
    if (follows && this.running && !$("shown").classList.contains("two")) this.toEnd();
  }

  whole(data) {
    this.running = data.running;
    this.choices.clear();
    this.part(".asked").replaceChildren(...this.asked(data.request));
    this.part(".reply").replaceChildren();
    this.part(".end").replaceChildren();
    for (const each of data.reply.turns) for (const part of each.parts) this.choice(each.choice).add(part);
    for (const part of data.reply.rest) this.choice(0).add(part);
    if (!data.running) this.fold();
    if (data.running && !data.said?.length) this.part(".reply").append(el("p", "waiting", "Waiting for the first word …"));
    if (!data.running) this.end({ ...data, facts: data.reply.facts, beside: data.reply.beside });
  }

  // Say in a line what fills the prompt.
  async reads() {
    const { window: room, counted, kinds, unused } = JSON.parse(await ask(`exchanges/${this.id}/read`));
    const sum = kinds.reduce((all, [, tokens]) => all + tokens, 0);
    const [largest] = [...kinds].sort(([, one], [, other]) => other - one);
    const words = [`Read ${counted ? "" : "about "}${room ? `${number(sum)} of ${number(room)} tokens (${share(sum, room)})` : plural(sum, "token")}`];
    if (largest && kinds.length > 1) words.push(`most: ${KINDS[largest[0]] || largest[0]}, about ${number(largest[1])}`);
    if (unused) words.push(`tools never called: about ${number(unused)}`);
    this.part(".read").textContent = sum ? words.join(" · ") : "";
  }

  asked(request) {
    const made = [], folds = el("div", "folds");
    const system = request.turns.filter((each) => each.role === "system" || each.role === "developer");
    const long = request.turns.filter((each) => each.role === "settings").flatMap((each) => each.parts); // Codex sends a screen of them
    const others = request.turns.filter((each) => !system.includes(each) && each.role !== "settings");
    const settings = request.asked.length + long.length;
    if (settings) folds.append(later(plural(settings, "setting"), () => [el("p", "asks", ...request.asked.map(([name, words]) => el("span", "", `${name} ${words}`))), ...long.map(PARTS.field)]));
    const last = Math.max(0, others.findLastIndex((each) => each.role === "user" && speaks(each)));
    if (system.length) folds.append(later("System prompt", () => system.map((each) => turn(each, this))));
    if (last) folds.append(later(plural(last, "earlier turn"), () => others.slice(0, last).map((each) => turn(each, this))));
    const [asking, ...steps] = others.slice(last);
    made.push(folds, ...(asking ? [turn(asking, this)] : []));
    const old = steps.findLastIndex((each) => each.role === "assistant") + 1;
    const more = el("div", "folds");
    if (old) more.append(later(plural(old, "earlier step"), () => steps.slice(0, old).map((each) => turn(each, this))));
    const named = new Map(others.flatMap((each) => each.parts).filter((part) => part.kind === "call").map((part) => [part.id, part.name]));
    const fresh = steps.slice(old).flatMap((each) => each.parts).flatMap((part) => [...apart(part)]).map((part) => (part.kind === "result" ? { ...part, name: part.name || named.get(part.id) } : part));
    const seen = fresh.filter((part) => part.kind !== "beside"), below = seen.slice(-RESULTS);
    const above = fresh.filter((part) => !below.includes(part));
    if (above.length) more.append(later(plural(above.length, "more part"), () => above.map((part) => line(part, this))));
    made.push(more, ...below.map((part) => line(part, this)), ...request.rest.map((part) => PARTS[part.kind](part, this)));
    return made;
  }

  // Say how long each thought was, and fold a long one, so that its answer is in sight: not under the eyes of who reads it.
  fold(unread = true) {
    const thoughts = [...this.choices.values()].flatMap((choice) => choice.parts.filter((part) => part.kind === "thinking" && part.made));
    const took = thoughts.length === 1 && rows.get(this.id)?.thought;
    for (const part of thoughts) {
      const length = part.pieces.reduce((sum, piece) => sum + piece.length, 0);
      const about = [part.note, plural(length, "character"), took ? seconds(took) : ""].filter(Boolean).join(" · ");
      part.made.firstElementChild.replaceChildren("Thinking", el("small", "", about));
      if (unread && length > LONG_THOUGHT && (this.thoughts ?? thoughtsOpen()) === null) part.made.open = false;
    }
  }

  choice(index) {
    let found = this.choices.get(index);
    if (!found) {
      const body = el("div", "body");
      this.part(".reply").append(el("section", "turn assistant", el("h3", "", index ? `assistant ${index + 1}` : "assistant"), body));
      this.choices.set(index, (found = new Turn(body, this)));
    }
    return found;
  }

  end(data) {
    const made = [];
    const thoughts = (data.withheld || []).map((words) => {
      const fold = folded("thinking", "Thinking that the client did not get", plural(words.length, "character"), words.length <= LONG_THOUGHT);
      new GrowingText(fold.appendChild(el("div"))).add(words);
      return fold;
    });
    const failure = rows.get(this.id)?.failure || "";
    const told = this.part(".reply .error b"); // its words stand there already
    if (told && data.status) told.textContent = visible(`The client got ${data.status}`);
    else if (rows.get(this.id)?.state === "left") made.push(el("p", "note", "The client hung up before the reply was whole."));
    else if (!told && (data.status || data.ended || failure)) {
      made.push(el("div", "part error", el("b", "", data.status ? `The client got ${data.status}` : "The connection ended"), data.ended || (data.status ? "" : failure)));
    }
    this.part(".how").replaceChildren(...data.notes.map((words) => el("p", "", words)));
    this.part(".reply").prepend(...thoughts);
    const facts = el("dl", "", ...data.facts.filter(([label]) => label !== "broke off").flatMap(([label, words]) => [el("dt", "", label), el("dd", "", words)]));
    if (data.facts.length) made.push(facts);
    made.push(...data.beside.map((part) => PARTS[part.kind](part, this)));
    this.part(".waiting")?.remove();
    this.part(".end").replaceChildren(...made);
    this.remedy = data.remedy;
    this.part(".remedy").hidden = !data.remedy;
    this.part(".remedy figure").replaceWith(codeBlock(data.remedy || "", "options"));
    this.part("[data-do=keep]").hidden = !data.kept;
    this.row();
  }

  scroller() { return $("talk").scrollHeight > $("talk").clientHeight + 1 ? $("talk") : document.querySelector("main"); }
  atEnd() { const at = this.scroller(); return at.scrollHeight - at.scrollTop - at.clientHeight < 120; }
  // Go to the end, and again while what has come into view is laid out and grows.
  toEnd(pictures = 3) {
    const at = this.scroller();
    at.scrollTop = at.scrollHeight;
    if (pictures) requestAnimationFrame(() => this.toEnd(pictures - 1));
  }

  // The frames of both sides.
  wire(data) {
    const into = this.part(".frames");
    if (data.from !== this.frames || !data.from) { into.replaceChildren(); this.first = data.from; this.before = new Set(); }
    for (const [at, came, went] of data.rows) {
      into.append(el("li", "",
        el("span", "at", at === null ? "end" : `${at.toFixed(3)} s`),
        el("div", "came", ...framesOf(came, this.before)),
        el("div", "went", ...(came === went && came ? [el("p", "held", "as it came")] : framesOf(went, this.before)))));
    }
    this.frames = data.from + data.rows.length;
    while (this.running && into.childElementCount > MOST_FRAMES) { into.firstElementChild.remove(); this.first++; }
    const above = this.first ? `${plural(this.first, "earlier chunk")} not shown. ` : "";
    this.part(".wire .note").textContent = visible(above + data.note);
    this.part("[data-do=frames]").hidden = this.running || this.frames >= data.total;
    this.part("[data-do=frames]").textContent = `Show more of ${plural(data.total, "chunk")}`;
  }

  show(tab) {
    this.tab = tab;
    for (const button of this.root.querySelectorAll("[data-tab]")) button.setAttribute("aria-selected", button.dataset.tab === tab);
    for (const panel of this.root.querySelectorAll(".panel")) panel.hidden = !panel.classList.contains(tab);
    this.frames = 0;
    this.part(".frames").replaceChildren();
    if (tab === "context") ask(`exchanges/${this.id}/context`).then((parts) => draw(this.part(".context"), JSON.parse(parts)), (error) => say(error.message));
    send({ wire: tab === "wire" ? { id: this.id, from: this.running ? -1 : 0 } : null });
  }

  async clicked(event) {
    const button = event.target.closest("[data-do], [data-tab]");
    if (!button) return;
    if (button.dataset.tab) return this.show(button.dataset.tab);
    try {
      await this.actions[button.dataset.do]?.call(this);
    } catch (error) {
      say(error.message);
    }
  }

  actions = {
    async keep() { keep.open(this, this.remedy ? JSON.parse(await ask(`exchanges/${this.id}/reread`)) : {}); },
    async apply() { say(await ask(`exchanges/${this.id}/apply`, {})); },
    frames() { send({ wire: { id: this.id, from: this.frames } }); },
    async again() { const other = await ask(`exchanges/${this.id}/again`, {}); location.hash = `${this.id}&${other}`; },
    async forget() {
      const button = this.part("[data-do=forget]");
      if (button.textContent !== SURE) { button.textContent = SURE; return; }
      await ask(`exchanges/${this.id}/forget`, {});
      location.hash = "";
    },
    async curl() { await copy(await ask(`exchanges/${this.id}/curl`), "as curl"); },
    async text() { await copy(await ask(`exchanges/${this.id}/text`), "as text"); },
  };
}

const SHORT = 4000;
const FIELD = '"(?:id|object|created|model|system_fingerprint|service_tier)": ?(?:"[^"\\\\]{0,200}"|\\d{1,20}|null)';
const SAME = new RegExp(`${FIELD}(?:, ?${FIELD})+,? ?`, "g"); // what servers repeat in every frame

// Draw a body's frames; fields that the frame before had as well are cut to a few dots.
function framesOf(text, before) {
  return text.split(/(?:\r?\n){2,}/).filter((frame) => frame.trim()).map((frame) => {
    const made = el("p");
    if (frame.length > SHORT) {
      const more = el("button", "more", `Show all ${number(frame.length)} characters`);
      more.addEventListener("click", () => made.replaceChildren(visible(frame)));
      made.append(visible(frame.slice(0, SHORT)), " … ", more);
      return made;
    }
    let at = 0;
    for (const found of frame.matchAll(SAME)) {
      if (before.has(found[0])) {
        const dots = el("span", "same", "… ");
        dots.title = visible(found[0]);
        made.append(visible(frame.slice(at, found.index)), dots);
        at = found.index + found[0].length;
      }
      before.add(found[0]);
    }
    made.append(visible(frame.slice(at)));
    return made;
  });
}
