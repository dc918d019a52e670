// The view of one exchange: title and times, the tabs *Conversation*, *Wire* and *Context*, and the buttons.

import { fetchText, send } from "./connection.js";
import { drawContext, percentOf } from "./context.js";
import { $, copyText, element, formatNumber, plural, showToast, formatSeconds, printable } from "./elements.js";
import { GrowingText } from "./growing_text.js";
import { keepDialog } from "./keep.js";
import { codeBlock } from "./markdown.js";
import { rootSession, rows } from "./rows.js";
import { LONG_THOUGHT, PARTS, Turn, splitTags, foldElement, lazyFold, partAsLine, hasUserText, savedThoughtsOpen, turnElement } from "./turns.js";

const SEGMENTS = ["waited", "thought", "answered"];
const LABELS = { waited: "waiting", thought: "thinking", answered: "answer" };
const CONFIRM_DELETE = "Delete: sure?";
const MOST_STEPS = 1500; // chunks of a running reply that the tab *Wire* keeps
const RESULTS_SHOWN = 3; // newest parts of a request, such as tools' results, that are shown as a line; the rest is folded
const KIND_LABELS = { result: "results of tools", tool: "descriptions of tools", turn: "questions and answers", system: "the system prompt", thought: "earlier thoughts", call: "calls", picture: "pictures" };

// Return the seconds of each segment of a row's bar, and `end`, their sum; null if no time is known. A running reply's
// times go on to the present.
function durations(row) {
  const now = row.running ? Math.max(row.end ?? 0, (Date.now() - row.began) / 1000) : row.end;
  if (now == null) return null;
  const waited = row.waited ?? now;
  const thought = row.thought ?? 0;
  const thinks = row.running && row.state === "thinking" ? Math.max(thought, now - waited) : thought;
  return { waited: Math.min(waited, now), thought: thinks, answered: Math.max(0, now - waited - thinks), end: now };
}

// Set the widths of a row's bar; return its `durations`.
export function drawBar(bar, row) {
  const times = durations(row);
  SEGMENTS.forEach((name, at) => { bar.children[at].style.flexGrow = times ? (1000 * times[name]) / (times.end || 1) : 0; });
  return times;
}

export const STATES = { waiting: "waiting", thinking: "thinking", answering: "answering", calling: "calling a tool", done: "done", left: "left", misread: "misread", broken: "broken" };
export const stateText = (row) => STATES[row.state] + (row.calling ? `, ${row.calling.toLocaleString("en")} chars` : "");

// Return the tokens of a row as text: "1,200 → 80 tokens · 40/s" for an exchange. For a session, whose row has `context`:
// "context 1,200 · wrote 640 in all". Prompts have no sum, because each repeats the one before.
export function tokensText(row) {
  if ("context" in row) return `${row.context ? `context ${formatNumber(row.context)} · ` : ""}wrote ${formatNumber(row.output_tokens)} in all`;
  if (row.output_tokens == null) {
    const length = (row.thinking || 0) + (row.text || 0);
    return length ? `${formatNumber(length)} characters` : "";
  }
  const speed = row.end - row.waited > 0.05 ? ` · ${Math.round(row.output_tokens / (row.end - row.waited))}/s` : "";
  const cached = row.cached_tokens ? ` (${formatNumber(row.cached_tokens)} cached)` : "";
  const about = row.tokens_estimated ? "about " : "";
  return `${about}${formatNumber(row.input_tokens || 0)}${cached} → ${formatNumber(row.output_tokens)} tokens${speed}`;
}

export class Exchange {
  constructor(id) {
    this.id = id;
    this.root = $("exchange-template").content.cloneNode(true).firstElementChild;
    this.running = false;
    this.choices = new Map();
    this.tab = "talk";
    this.frames = 0;
    this.root.addEventListener("click", (event) => this.onClick(event));
    this.find("[data-do=mitmweb]").href = `./#/flows/${id}/response`;
    this.find(".about").textContent = "Reading …";
    this.drawRow();
  }

  // Return the first element of this view that matches a CSS selector.
  find(selector) { return this.root.querySelector(selector); }

  onRowsChanged(changed) { if (changed.some((row) => row.id === this.id)) this.drawRow(); }

  // Draw what the exchange's row in the list has: title, state, times and tokens.
  drawRow() {
    const row = rows.get(this.id);
    if (!row) return;
    const link = this.find("[data-do=session]");
    link.href = row.broke ? `think/exchanges/${row.id}/session?from=${row.broke}&to=${row.id}` : `#s${rootSession(row)}`;
    link.target = row.broke ? "_blank" : "";
    if (row.broke) link.textContent = "What broke the cache";
    this.root.classList.remove(...Object.keys(STATES));
    this.root.classList.add(row.state);
    this.find("h2").textContent = printable(row.title || row.model || "no model");
    this.find(".title .state").textContent = stateText(row);
    const when = new Date(row.at * 1000).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "medium" });
    const about = [row.title && (row.model || "no model"), row.path, row.client, row.server, when, row.again && "asked again"];
    this.find(".about").textContent = printable(about.filter(Boolean).join(" · "));
    const times = drawBar(this.find(".bar"), row);
    const legend = times ? SEGMENTS.filter((name) => times[name] > 0.0005).map((name) => {
      const mark = element("i", name);
      return element("span", "", mark, `${LABELS[name]} ${formatSeconds(times[name])}`);
    }) : [];
    this.find(".legend").replaceChildren(...legend, element("span", "", tokensText(row)));
    for (const name of ["keep", "again", "forget"]) this.find(`[data-do=${name}]`).disabled = row.running;
  }

  // Draw changes that the server sent: the whole exchange (`request`), new parts of the reply (`said`), the end of the reply
  // (`end`), or that mitmweb no longer lists the exchange (`gone`).
  applyChanges(data) {
    const follows = data.request || this.isAtEnd();
    if (data.gone) this.find(".reply").replaceChildren(element("p", "note", "This exchange is not in mitmweb's list any more."));
    if (data.request || data.end) this.drawPromptSummary().catch((error) => showToast(error.message));
    if (data.request) this.drawWhole(data);
    for (const part of data.said || []) this.turnOfChoice(part.choice).add(part, part.fresh);
    if (data.said && data.said.length) this.find(".waiting")?.remove();
    if (data.end) {
      this.running = false;
      this.drawEnd(data.end);
      this.labelAndFoldThoughts(follows);
    }
    // Two exchanges side by side scroll together: to follow one would move the other out of sight.
    if (follows && this.running && !$("shown").classList.contains("two")) this.scrollToEnd();
  }

  // Draw the request, and as much of the reply as has come, in place of all that was drawn before.
  drawWhole(data) {
    this.running = data.running;
    this.choices.clear();
    this.find(".asked").replaceChildren(...this.requestElements(data.request));
    this.find(".reply").replaceChildren();
    this.find(".end").replaceChildren();
    for (const each of data.reply.turns) for (const part of each.parts) this.turnOfChoice(each.choice).add(part);
    for (const part of data.reply.rest) this.turnOfChoice(0).add(part);
    if (!data.running) this.labelAndFoldThoughts();
    if (data.running && !data.said?.length) this.find(".reply").append(element("p", "waiting", "Waiting for the first word …"));
    if (!data.running) this.drawEnd({ ...data, facts: data.reply.facts, beside: data.reply.beside });
  }

  // Show in one line how many tokens the prompt has, and which kind of part has the most.
  async drawPromptSummary() {
    const { window: windowSize, counted, kinds, unused } = JSON.parse(await fetchText(`exchanges/${this.id}/read`));
    const sum = kinds.reduce((all, [, tokens]) => all + tokens, 0);
    const [largest] = [...kinds].sort(([, one], [, other]) => other - one);
    const words = [`Read ${counted ? "" : "about "}${windowSize ? `${formatNumber(sum)} of ${formatNumber(windowSize)} tokens (${percentOf(sum, windowSize)})` : plural(sum, "token")}`];
    if (largest && kinds.length > 1) words.push(`most: ${KIND_LABELS[largest[0]] || largest[0]}, about ${formatNumber(largest[1])}`);
    if (unused) words.push(`tools never called: about ${formatNumber(unused)}`);
    this.find(".read").textContent = sum ? words.join(" · ") : "";
  }

  // Return the elements of a request. The newest user's turn and the newest tools' results are in sight; settings, system
  // prompt, earlier turns and earlier steps are folded. A step is a turn after the user's: the model's calls, the results.
  requestElements(request) {
    const made = [], folds = element("div", "folds");
    const system = request.turns.filter((each) => each.role === "system" || each.role === "developer");
    const long = request.turns.filter((each) => each.role === "settings").flatMap((each) => each.parts); // folded, because Codex sends a whole screen of settings
    const others = request.turns.filter((each) => !system.includes(each) && each.role !== "settings");
    const settings = request.asked.length + long.length;
    if (settings) folds.append(lazyFold(plural(settings, "setting"), () => [element("p", "asks", ...request.asked.map(([name, words]) => element("span", "", `${name} ${words}`))), ...long.map(PARTS.field)]));
    const last = Math.max(0, others.findLastIndex((each) => each.role === "user" && hasUserText(each)));
    if (system.length) folds.append(lazyFold("System prompt", () => system.map((each) => turnElement(each, this))));
    if (last) folds.append(lazyFold(plural(last, "earlier turn"), () => others.slice(0, last).map((each) => turnElement(each, this))));
    const [asking, ...steps] = others.slice(last);
    made.push(folds, ...(asking ? [turnElement(asking, this)] : []));
    const old = steps.findLastIndex((each) => each.role === "assistant") + 1;
    const more = element("div", "folds");
    if (old) more.append(lazyFold(plural(old, "earlier step"), () => steps.slice(0, old).map((each) => turnElement(each, this))));
    const named = new Map(others.flatMap((each) => each.parts).filter((part) => part.kind === "call").map((part) => [part.id, part.name]));
    const fresh = steps.slice(old).flatMap((each) => each.parts).flatMap((part) => [...splitTags(part)]).map((part) => (part.kind === "result" ? { ...part, name: part.name || named.get(part.id) } : part));
    const seen = fresh.filter((part) => part.kind !== "beside"), below = seen.slice(-RESULTS_SHOWN);
    const above = fresh.filter((part) => !below.includes(part));
    if (above.length) more.append(lazyFold(plural(above.length, "more part"), () => above.map((part) => partAsLine(part, this))));
    made.push(more, ...below.map((part) => partAsLine(part, this)), ...request.rest.map((part) => PARTS[part.kind](part, this)));
    return made;
  }

  // Write the length of each thought into its title, and fold long thoughts, so that the answer is in sight. `isUnread`: false
  // if the reader has scrolled up and may be reading a thought, which then stays open.
  labelAndFoldThoughts(isUnread = true) {
    const thoughts = [...this.choices.values()].flatMap((choice) => choice.parts.filter((part) => part.kind === "thinking" && part.made));
    const took = thoughts.length === 1 && rows.get(this.id)?.thought;
    for (const part of thoughts) {
      const length = part.pieces.reduce((sum, piece) => sum + piece.length, 0);
      const about = [part.note, plural(length, "character"), took ? formatSeconds(took) : ""].filter(Boolean).join(" · ");
      part.made.firstElementChild.replaceChildren("Thinking", element("small", "", about));
      if (isUnread && length > LONG_THOUGHT && (this.thoughtsOpen ?? savedThoughtsOpen()) === null) part.made.open = false;
    }
  }

  // Return the turn of the reply's choice `index`; add it to the page if it is new.
  turnOfChoice(index) {
    let found = this.choices.get(index);
    if (!found) {
      const body = element("div", "body");
      this.find(".reply").append(element("section", "turn assistant", element("h3", "", index ? `assistant ${index + 1}` : "assistant"), body));
      this.choices.set(index, (found = new Turn(body, this)));
    }
    return found;
  }

  // Draw what is known when a reply has ended: its failure, withheld thoughts, notes, facts and remedy.
  drawEnd(data) {
    const made = [];
    const thoughts = (data.withheld || []).map((words) => {
      const fold = foldElement("thinking", "Thinking that the client did not get", plural(words.length, "character"), words.length <= LONG_THOUGHT);
      new GrowingText(fold.appendChild(element("div"))).add(words);
      return fold;
    });
    const failure = rows.get(this.id)?.failure || "";
    const shownError = this.find(".reply .error b"); // the failure's message is in the reply: show only the status
    if (shownError && data.status) shownError.textContent = printable(`The client got ${data.status}`);
    else if (rows.get(this.id)?.state === "left") made.push(element("p", "note", "The client hung up before the reply was whole."));
    else if (!shownError && (data.status || data.ended || failure)) {
      made.push(element("div", "part error", element("b", "", data.status ? `The client got ${data.status}` : "The connection ended"), data.ended || (data.status ? "" : failure)));
    }
    this.find(".how").replaceChildren(...data.notes.map((words) => element("p", "", words)));
    this.find(".reply").prepend(...thoughts);
    const facts = element("dl", "", ...data.facts.filter(([label]) => label !== "broke off").flatMap(([label, words]) => [element("dt", "", label), element("dd", "", words)]));
    if (data.facts.length) made.push(facts);
    made.push(...data.beside.map((part) => PARTS[part.kind](part, this)));
    this.find(".waiting")?.remove();
    this.find(".end").replaceChildren(...made);
    this.remedy = data.remedy;
    this.find(".remedy").hidden = !data.remedy;
    this.find(".remedy figure").replaceWith(codeBlock(data.remedy || "", "options"));
    this.find("[data-do=keep]").hidden = !data.kept;
    this.drawRow();
  }

  // Return the element that scrolls: on a narrow screen the page, else the column of the conversation.
  scrollingElement() { return $("talk").scrollHeight > $("talk").clientHeight + 1 ? $("talk") : document.querySelector("main"); }
  isAtEnd() { const at = this.scrollingElement(); return at.scrollHeight - at.scrollTop - at.clientHeight < 120; }
  // Scroll to the end, again at each of the next animation frames: elements get their height only when they come into view.
  scrollToEnd(repeats = 3) {
    const at = this.scrollingElement();
    at.scrollTop = at.scrollHeight;
    if (repeats) requestAnimationFrame(() => this.scrollToEnd(repeats - 1));
  }

  // Draw steps of the reply in the tab *Wire*: a row for each chunk, with its time, the chunk's frames, and the frames that the
  // client got for it.
  drawSteps(data) {
    const list = this.find(".frames");
    if (data.from !== this.frames || !data.from) { list.replaceChildren(); this.first = data.from; this.seenFields = new Set(); }
    for (const [at, chunk, got] of data.rows) {
      list.append(element("li", "",
        element("span", "at", at === null ? "end" : `${at.toFixed(3)} s`),
        element("div", "came", ...frameElements(chunk, this.seenFields)),
        element("div", "went", ...(chunk === got && chunk ? [element("p", "held", "as it came")] : frameElements(got, this.seenFields)))));
    }
    this.frames = data.from + data.rows.length;
    while (this.running && list.childElementCount > MOST_STEPS) { list.firstElementChild.remove(); this.first++; }
    const above = this.first ? `${plural(this.first, "earlier chunk")} not shown. ` : "";
    this.find(".wire .note").textContent = printable(above + data.note);
    this.find("[data-do=frames]").hidden = this.running || this.frames >= data.total;
    this.find("[data-do=frames]").textContent = `Show more of ${plural(data.total, "chunk")}`;
  }

  // Show the tab `talk`, `wire` or `context`, and ask the server for what it needs.
  showTab(tab) {
    this.tab = tab;
    for (const button of this.root.querySelectorAll("[data-tab]")) button.setAttribute("aria-selected", button.dataset.tab === tab);
    for (const panel of this.root.querySelectorAll(".panel")) panel.hidden = !panel.classList.contains(tab);
    this.frames = 0;
    this.find(".frames").replaceChildren();
    if (tab === "context") fetchText(`exchanges/${this.id}/context`).then((parts) => drawContext(this.find(".context"), JSON.parse(parts)), (error) => showToast(error.message));
    send({ wire: tab === "wire" ? { id: this.id, from: this.running ? -1 : 0 } : null });
  }

  async onClick(event) {
    const button = event.target.closest("[data-do], [data-tab]");
    if (!button) return;
    if (button.dataset.tab) return this.showTab(button.dataset.tab);
    try {
      await this.actions[button.dataset.do]?.call(this);
    } catch (error) {
      showToast(error.message);
    }
  }

  // Value of a button's `data-do` -> what the button does.
  actions = {
    async keep() { keepDialog.open(this, this.remedy ? JSON.parse(await fetchText(`exchanges/${this.id}/reread`)) : {}); },
    async apply() { showToast(await fetchText(`exchanges/${this.id}/apply`, {})); },
    frames() { send({ wire: { id: this.id, from: this.frames } }); },
    async again() { const other = await fetchText(`exchanges/${this.id}/again`, {}); location.hash = `${this.id}&${other}`; },
    async forget() {
      const button = this.find("[data-do=forget]");
      if (button.textContent !== CONFIRM_DELETE) { button.textContent = CONFIRM_DELETE; return; }
      await fetchText(`exchanges/${this.id}/forget`, {});
      location.hash = "";
    },
    async curl() { await copyText(await fetchText(`exchanges/${this.id}/curl`), "as curl"); },
    async text() { await copyText(await fetchText(`exchanges/${this.id}/text`), "as text"); },
  };
}

const LONGEST_FRAME = 4000; // characters of a frame that are shown at once
const FIELD = '"(?:id|object|created|model|system_fingerprint|service_tier)": ?(?:"[^"\\\\]{0,200}"|\\d{1,20}|null)';
const REPEATED_FIELDS = new RegExp(`${FIELD}(?:, ?${FIELD})+,? ?`, "g"); // neighbouring fields that servers repeat in every frame

// Return an element for each frame in `text`. Fields in `seenFields`, which earlier frames had with the same values, are
// replaced by dots; new ones are added to it.
function frameElements(text, seenFields) {
  return text.split(/(?:\r?\n){2,}/).filter((frame) => frame.trim()).map((frame) => {
    const made = element("p");
    if (frame.length > LONGEST_FRAME) {
      const more = element("button", "more", `Show all ${formatNumber(frame.length)} characters`);
      more.addEventListener("click", () => made.replaceChildren(printable(frame)));
      made.append(printable(frame.slice(0, LONGEST_FRAME)), " … ", more);
      return made;
    }
    let at = 0;
    for (const found of frame.matchAll(REPEATED_FIELDS)) {
      if (seenFields.has(found[0])) {
        const dots = element("span", "same", "… ");
        dots.title = printable(found[0]);
        made.append(printable(frame.slice(at, found.index)), dots);
        at = found.index + found[0].length;
      }
      seenFields.add(found[0]);
    }
    made.append(printable(frame.slice(at)));
    return made;
  });
}
