"use strict";
// The page at /think: everything is made of elements and text nodes, never of markup, so what a model writes stays text.

// ---- small things

const $ = (id) => document.getElementById(id);
const ACTING = /\r(?!\n)|[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff\ufffe\uffff]|\p{Cs}/gu;

// Spell out what would act on a reader or a terminal: control characters, marks that turn the direction of text.
function visible(text) {
  return String(text).replace(ACTING, (found) => {
    const code = found.codePointAt(0);
    if (code < 32) return String.fromCharCode(0x2400 + code);
    return code === 127 ? "␡" : (code < 256 ? "\\x" : "\\u") + code.toString(16).padStart(code < 256 ? 2 : 4, "0");
  });
}

function el(name, cls, ...inside) {
  const made = document.createElement(name);
  if (cls) made.className = cls;
  for (const each of inside) if (each !== null) made.append(each.nodeType ? each : visible(each));
  return made;
}

function svg(name, values) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const key in values) made.setAttribute(key, values[key]);
  return made;
}

const number = (value) => value.toLocaleString("en");
const plural = (count, word) => `${number(count)} ${word}${count === 1 ? "" : "s"}`;

function seconds(value) {
  if (value == null) return "–";
  if (value < 1) return `${Math.round(value * 1000)} ms`;
  if (value < 60) return `${value.toFixed(value < 10 ? 2 : 1)} s`;
  return `${Math.floor(value / 60)} min ${String(Math.floor(value % 60)).padStart(2, "0")} s`;
}

function say(words) {
  $("toast").textContent = visible(words);
  $("toast").classList.add("seen");
  clearTimeout(say.later);
  say.later = setTimeout(() => $("toast").classList.remove("seen"), 4000);
}

async function copy(words, what) {
  try {
    await navigator.clipboard.writeText(words);
  } catch { // no permission, or a page that is not on this machine
    const field = el("textarea");
    field.value = words;
    (document.querySelector("dialog[open]") || document.body).append(field);
    field.select();
    document.execCommand("copy");
    field.remove();
  }
  say(`Copied ${what}`);
}

const stored = {
  get(name) { try { return localStorage.getItem("think-" + name); } catch { return null; } },
  set(name, value) { try { localStorage.setItem("think-" + name, value); } catch { /* a browser that keeps nothing */ } },
};

async function ask(path, body) {
  const cookie = /(?:^|; )_mitmproxy_xsrf=([^;]*)/.exec(document.cookie);
  const headers = { "Content-Type": "application/json", "X-XSRFToken": cookie ? cookie[1] : "" };
  const answer = await fetch("think/" + path, body === undefined ? {} : { method: "POST", headers, body: JSON.stringify(body) });
  const words = await answer.text();
  if (!answer.ok) throw new Error(answer.status === 403 ? "mitmweb asks for its password again: load the page anew" : words);
  return words;
}

// ---- Markdown, of elements alone

const LARGE = 20000; // characters of a block; a longer one is shown plain, a stretch at a time
const SHEET = 8000; // characters of blocks that are laid out together
const GOES_ON = /^[ \t]|^(?:[-*+]|\d{1,9}[.)])[ \t]/; // a line that may belong to the list before it
const PICTURE = /^data:image\/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/=]+$/;
const INLINE = new RegExp([
  String.raw`\\([!-/:-@[-${"`"}{-~])`,
  "(`{1,3})(?!`)([^\\n]{1,500}?)(?<!`)\\2(?!`)",
  String.raw`(\*\*|__)(?=\S)([^\n]{1,500}?\S?)\4`,
  String.raw`\*(?=[^\s*])([^*\n]{1,300}?)(?<=\S)\*`,
  String.raw`(?<![\w_])_(?=[^\s_])([^_\n]{1,300}?)(?<=\S)_(?!\w)`,
  String.raw`~~(?=\S)([^~\n]{1,300}?)~~`,
  String.raw`!\[([^\]\n]{0,200})\]\(([^)\s]{1,15000})\)`,
  String.raw`\[([^\]\n]{1,300})\]\((https?:\/\/[^\s)]{1,1000})\)`,
  String.raw`(https?:\/\/[^\s<>"')\]]{1,1000})`,
].join("|"), "g");

function inline(text, into, depth = 0) {
  let at = 0;
  const inner = (name, words) => { const made = el(name); inline(words, made, depth + 1); return made; };
  for (const found of depth > 4 ? [] : text.matchAll(INLINE)) {
    const [whole, escaped, , code, , strong, star, line, struck, alt, source, label, link, bare] = found;
    if (found.index > at) into.append(visible(text.slice(at, found.index)));
    at = found.index + whole.length;
    if (escaped !== undefined) into.append(escaped);
    else if (code !== undefined) into.append(el("code", "", code.replace(/^ (.*\S.*) $/, "$1")));
    else if (strong !== undefined) into.append(inner("strong", strong));
    else if ((star ?? line) !== undefined) into.append(inner("em", star ?? line));
    else if (struck !== undefined) into.append(inner("s", struck));
    else if (source !== undefined) into.append(PICTURE.test(source) ? picture(source, alt) : visible(whole));
    else into.append(...anchor(link ?? bare, label ?? bare));
  }
  if (at < text.length) into.append(visible(text.slice(at)));
}

function anchor(address, label) {
  const made = el("a", "", label);
  made.href = address;
  made.target = "_blank";
  made.rel = "noopener noreferrer nofollow";
  made.title = visible(address);
  const host = made.host;
  return label.includes(host) ? [made] : [made, el("span", "host", ` (${host})`)];
}

function picture(source, words) {
  const made = el("img");
  made.src = source;
  made.alt = visible(words || "picture");
  return made;
}

function codeBlock(words, language) {
  const button = el("button", "copy", "Copy");
  button.type = "button";
  button.dataset.copy = "";
  return el("figure", "code", el("figcaption", "", el("span", "", language || "code"), button), el("pre", "", el("code", "", words)));
}

const FENCE = /^ {0,3}(`{3,}|~{3,})[ \t]*([^\s`]{0,40})[^`\n]*$/;
const ITEM = /^( {0,12})([-*+]|\d{1,9}[.)])(?:[ \t]+(.*)|)$/;
const RULE = /^ {0,3}([-*_])(?:[ \t]*\1){2,}[ \t]*$/;
const CELLS = /^\s*\|?(?:\s*:?-+:?\s*\|)+\s*:?-*:?\s*$/;

// Yield the elements of a text.
function* blocks(text, depth = 0) {
  const lines = text.split("\n");
  let words = [];
  const paragraph = () => {
    const made = el("p");
    made.dir = "auto";
    inline(words.join("\n"), made);
    words = [];
    return made;
  };
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at];
    const fence = FENCE.exec(line);
    const item = depth < 8 ? ITEM.exec(line) : null;
    const heading = /^ {0,3}(#{1,6})[ \t]+(.*?)[ \t#]*$/.exec(line);
    const table = line.includes("|") && at + 1 < lines.length && CELLS.test(lines[at + 1].slice(0, 2000)) && lines[at + 1].includes("-");
    const quoted = depth < 8 && /^ {0,3}>/.test(line);
    const starts = fence || heading || table || quoted || RULE.test(line) || (item && (item[3] ?? "") !== "");
    if (words.length && (starts || !line.trim())) yield paragraph();
    if (fence) {
      const inside = [];
      while (++at < lines.length && !closes(lines[at], fence[1])) inside.push(lines[at]);
      yield codeBlock(inside.join("\n"), fence[2]);
    } else if (RULE.test(line)) yield el("hr");
    else if (heading) {
      const made = el("h" + Math.min(6, heading[1].length + 3));
      inline(heading[2], made);
      yield made;
    } else if (table) {
      const rows = [line];
      for (at++; at + 1 < lines.length && lines[at + 1].includes("|"); at++) rows.push(lines[at + 1]);
      yield tableOf(rows);
    } else if (quoted) {
      const inside = [];
      for (; at < lines.length && /^ {0,3}>/.test(lines[at]); at++) inside.push(lines[at].replace(/^ {0,3}> ?/, ""));
      at--;
      yield el("blockquote", "", ...blocks(inside.join("\n"), depth + 1));
    } else if (starts) {
      const end = endOfList(lines, at, item);
      yield listOf(lines.slice(at, end), item, depth);
      at = end - 1;
    } else if (line.trim()) words.push(line);
  }
  if (words.length) yield paragraph();
}

const closes = (line, marks) => { const end = line.trim(); return end.length >= marks.length && end === marks[0].repeat(end.length); };

function endOfList(lines, at, item) {
  const ordered = /\d/.test(item[2]);
  let end = at + 1;
  for (; end < lines.length; end++) {
    const line = lines[end];
    const other = ITEM.exec(line);
    if (!line.trim()) { if (!/^\s/.test(lines[end + 1] ?? "") && !ITEM.test(lines[end + 1] ?? "")) break; }
    else if (other && other[1].length <= item[1].length) { if (/\d/.test(other[2]) !== ordered) break; }
    else if (!/^\s/.test(line) && (FENCE.test(line) || RULE.test(line) || /^#{1,6} /.test(line) || !lines[end - 1].trim())) break;
  }
  return end;
}

function listOf(lines, first, depth) {
  const ordered = /\d/.test(first[2]);
  const made = el(ordered ? "ol" : "ul");
  if (ordered && parseInt(first[2], 10) !== 1) made.start = parseInt(first[2], 10);
  let inside = null;
  const add = () => {
    if (!inside) return;
    const entry = el("li");
    entry.dir = "auto";
    const [head, ...rest] = inside;
    if (FENCE.test(head)) rest.unshift(head); else inline(head, entry);
    entry.append(...blocks(rest.join("\n"), depth + 1));
    made.append(entry);
  };
  for (const line of lines) {
    const item = ITEM.exec(line);
    if (item && item[1].length <= first[1].length + 1) { add(); inside = [item[3] ?? ""]; }
    else inside.push(line.replace(/^(?: {1,4}|\t)/, ""));
  }
  add();
  return made;
}

function tableOf(rows) {
  const body = el("tbody");
  rows.forEach((row, index) => {
    const made = el("tr");
    for (const words of row.trim().replace(/^\||\|$/g, "").split("|").slice(0, 60)) {
      const cell = el(index ? "td" : "th");
      inline(words.trim(), cell);
      made.append(cell);
    }
    body.append(made);
  });
  return el("table", "", body);
}

// Words that grow: a block is drawn once when it is over, only the last one is drawn again as more of it comes. Blocks stand on
// sheets, which a browser lays out when they are looked at.
class Words {
  constructor(root) {
    this.tail = "";
    this.fence = null; // the marks and the language of a code block whose beginning is drawn
    this.live = el("div", "live");
    this.room = 0;
    root.classList.add("md");
    root.append(this.live);
  }

  add(text) {
    this.tail += text.replaceAll("\r\n", "\n");
    for (let end; (end = this.boundary() || this.cut()); ) {
      this.put(this.tail.slice(0, end), this.fence, this.plain);
      this.fence = this.open;
      this.plain = false;
      this.tail = this.tail.slice(end);
    }
    this.live.replaceChildren(...drawn(this.tail, this.fence));
  }

  put(text, fence, plain) {
    if (this.room < text.length) {
      this.sheet = el("div", "sheet");
      this.live.before(this.sheet);
      this.room = SHEET;
    }
    const sheet = this.sheet;
    soon(() => sheet.append(...(plain ? [el("p", "", text)] : drawn(text, fence))));
    this.room -= text.length;
  }

  // Return where blocks end that are over: behind a blank line that no code and no list holds; 0 for nowhere.
  boundary() {
    let marks = this.fence && this.fence[0], end = 0;
    for (let at = 0, next; end < SHEET && (next = this.tail.indexOf("\n", at) + 1); at = next) {
      const line = this.tail.slice(at, next - 1);
      const found = FENCE.exec(line);
      if (marks) { if (closes(line, marks)) marks = null; }
      else if (found) marks = found[1];
      else if (!line.trim() && next < this.tail.length && !GOES_ON.test(this.tail.slice(next, next + 12))) end = next;
    }
    this.open = null;
    return end;
  }

  // Return where to cut a block that is too long to be drawn again and again; 0 for nowhere.
  cut() {
    if (this.tail.length <= LARGE) return 0;
    const line = this.tail.lastIndexOf("\n", LARGE);
    const end = line > LARGE / 2 ? line + 1 : LARGE;
    this.open = left(this.tail.slice(0, end), this.fence);
    this.plain = !this.fence && !this.open;
    return end;
  }
}

function drawn(text, fence) {
  if (!fence) return blocks(text);
  const lines = text.split("\n");
  const end = lines.findIndex((line) => closes(line, fence[0]));
  if (end < 0) return [codeBlock(text, fence[1])];
  return [codeBlock(lines.slice(0, end).join("\n"), fence[1]), ...blocks(lines.slice(end + 1).join("\n"))];
}

// Draw now what there is time for, the rest with the next pictures, in order.
const jobs = [];
let spent = 0, due = false;

function soon(job) {
  if (job) jobs.push(job);
  while (jobs.length && spent < 10) {
    const begun = performance.now();
    jobs.shift()();
    spent += performance.now() - begun;
  }
  if (!due) requestAnimationFrame(() => { due = false; spent = 0; if (jobs.length) soon(); });
  due = true;
}

// Return the marks and the language of the code that a text leaves open.
function left(text, fence) {
  for (const line of text.split("\n")) {
    if (fence) { if (closes(line, fence[0])) fence = null; }
    else { const found = FENCE.exec(line); fence = found && [found[1], found[2]]; }
  }
  return fence;
}

// ---- parts of a turn

function folded(kind, label, about, open = true) {
  const made = el("details", `part ${kind}`, el("summary", "", label, about ? el("small", "", about) : null));
  made.open = open;
  return made;
}

const thoughtsOpen = () => stored.get("thoughts") !== "folded";

const PARTS = {
  thinking(part, view) {
    const made = folded("thinking", "Thinking", part.note, view.thoughts ?? thoughtsOpen());
    made.append(el("div"));
    return made;
  },
  text: (part) => (part.text.trim() || part.grows ? el("div", "part said", part.note ? el("p", "note", part.note) : null, el("div")) : null),
  call(part) {
    const made = folded("call", `→ ${part.name}`, part.id);
    made.append(el("pre", "", part.text));
    return made;
  },
  result(part) {
    const made = folded(part.failed ? "result failed" : "result", `← ${part.failed ? "failed " : ""}${part.name || "result"}`, part.id, part.text.length < 2000);
    made.append(el("pre", "", part.text));
    return made;
  },
  media: (part) => el("figure", "part", part.source ? picture(part.source, part.text) : null, el("figcaption", "", `[${part.text}]`)),
  field: (part) => el("div", "part field", `${part.name}: ${part.text}`),
  error: (part) => el("div", "part error", el("b", "", `Error ${part.name}`), part.text),
  raw: (part) => el("pre", "part", part.text),
};

const AT_ONCE = 500; // parts of a turn that are drawn; more when they are asked for

// A turn whose parts may grow.
class Turn {
  constructor(root, view) {
    this.root = root;
    this.view = view;
    this.parts = [];
    this.drawn = 0;
    this.limit = AT_ONCE;
    this.words = null;
  }

  add(part, fresh = true) {
    const last = this.parts.at(-1);
    if (!fresh && last && last.kind === part.kind) {
      last.pieces.push(part.text);
      this.words?.add(part.text);
      return;
    }
    this.parts.push({ ...part, pieces: [part.text] });
    this.words = null;
    if (this.view.running) this.limit = Infinity;
    this.draw();
  }

  draw() {
    while (this.drawn < Math.min(this.parts.length, this.limit)) this.one(this.parts[this.drawn++]);
    const left = this.parts.length - this.drawn;
    if (!left) { this.more?.remove(); return; }
    if (!this.more) {
      this.more = el("button", "more", "");
      this.more.addEventListener("click", () => { this.limit += AT_ONCE; this.draw(); });
    }
    this.more.textContent = `Show more of ${plural(left, "part")}`;
    if (!this.more.isConnected || this.more.nextSibling) this.root.append(this.more);
  }

  one(part) {
    const grows = part.kind === "thinking" || part.kind === "text";
    const text = part.pieces.join("");
    const made = PARTS[part.kind]({ ...part, text, grows: grows && this.view.running }, this.view);
    if (!made) return;
    if (this.more?.isConnected) this.more.before(made); else this.root.append(made);
    if (!grows) return;
    this.words = new Words(made.lastElementChild);
    this.words.add(part.kind === "thinking" || this.drawn === 1 ? text.replace(/^[\r\n]+/, "") : text);
  }

  // Return all words of a kind, as an expectation has them.
  said(kind) {
    const found = this.parts.filter((part) => part.kind === kind).map((part) => part.pieces.join("").replace(/^[\r\n]+|[\r\n]+$/g, ""));
    return found.filter(Boolean).join("\n\n");
  }
}

function turn(data, view) {
  const body = el("div", "body");
  const made = el("section", `turn ${/^\w+$/.test(data.role) ? data.role : ""}`, el("h3", "", data.role + (data.choice ? ` ${data.choice + 1}` : "")), body);
  const parts = new Turn(body, view);
  data.parts.forEach((part) => parts.add(part));
  return made;
}

// A fold whose inside is made when it is opened.
function later(label, make) {
  const made = el("details", "fold", el("summary", "", label));
  made.addEventListener("toggle", () => { if (made.open && made.childElementCount === 1) made.append(...make()); });
  return made;
}

// ---- one exchange

const SEGMENTS = ["waited", "thought", "answered"];
const CALLED = { waited: "waiting", thought: "thinking", answered: "answer" };
const MOST_FRAMES = 1500;

function spans(row) {
  const now = row.running ? Math.max(row.end ?? 0, (Date.now() - row.began) / 1000) : row.end;
  if (now == null) return null;
  const waited = row.waited ?? now;
  const thought = row.thought ?? 0;
  const thinks = row.running && row.state === "thinking" ? Math.max(thought, now - waited) : thought;
  return { waited: Math.min(waited, now), thought: thinks, answered: Math.max(0, now - waited - thinks), end: now };
}

function drawBar(bar, row) {
  const times = spans(row);
  SEGMENTS.forEach((name, at) => { bar.children[at].style.flexGrow = times ? (1000 * times[name]) / (times.end || 1) : 0; });
  return times;
}

const STATES = { waiting: "waiting", thinking: "thinking", answering: "answering", calling: "calling a tool", done: "done", broken: "broken" };

function tokens(row) {
  if (row.output_tokens == null) {
    const said = (row.thinking || 0) + (row.text || 0);
    return said ? `${number(said)} characters` : "";
  }
  const speed = row.end - row.waited > 0.05 ? ` · ${Math.round(row.output_tokens / (row.end - row.waited))}/s` : "";
  return `${number(row.input_tokens || 0)} → ${number(row.output_tokens)} tokens${speed}`;
}

class Exchange {
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

  // Draw what the list knows.
  row() {
    const row = list.rows.get(this.id);
    if (!row) return;
    this.root.classList.remove(...Object.keys(STATES));
    this.root.classList.add(row.state);
    this.part("h2").textContent = visible(row.model || "no model");
    this.part(".title .state").textContent = STATES[row.state];
    const when = new Date(row.at * 1000).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "medium" });
    this.part(".about").textContent = visible([row.path, row.client, row.server, when, row.again ? "asked again" : "", row.failure].filter(Boolean).join(" · "));
    const times = drawBar(this.part(".bar"), row);
    const legend = times ? SEGMENTS.filter((name) => times[name] > 0.0005).map((name) => {
      const mark = el("i", name);
      return el("span", "", mark, `${CALLED[name]} ${seconds(times[name])}`);
    }) : [];
    this.part(".legend").replaceChildren(...legend, el("span", "", tokens(row)));
    for (const name of ["keep", "again"]) this.part(`[data-do=${name}]`).disabled = row.running;
  }

  // Take all of it, or what is new.
  hear(data) {
    const follows = this.atEnd();
    if (data.gone) this.part(".reply").replaceChildren(el("p", "note", "This exchange is not in mitmweb's list any more."));
    if (data.request) this.whole(data);
    for (const part of data.said || []) this.choice(part.choice).add(part, part.fresh);
    if (data.said && data.said.length) this.part(".waiting")?.remove();
    if (data.end) { this.running = false; this.end(data.end); }
    if (follows && this.running) this.toEnd();
  }

  whole(data) {
    this.running = data.running;
    this.choices.clear();
    this.part(".asked").replaceChildren(...this.asked(data.request));
    this.part(".reply").replaceChildren();
    this.part(".end").replaceChildren();
    for (const each of data.reply.turns) for (const part of each.parts) this.choice(each.choice).add(part);
    for (const part of data.reply.rest) this.choice(0).add(part);
    if (data.running && !data.said?.length) this.part(".reply").append(el("p", "waiting", "Waiting for the first word …"));
    if (!data.running) this.end({ ...data, facts: data.reply.facts, beside: data.reply.beside });
  }

  asked(request) {
    const made = [];
    if (request.asked.length) made.push(el("p", "asks", ...request.asked.map(([name, words]) => el("span", "", `${name} ${words}`))));
    const system = request.turns.filter((each) => each.role === "system" || each.role === "developer");
    const others = request.turns.filter((each) => !system.includes(each));
    const last = Math.max(0, others.findLastIndex((each) => each.role === "user"));
    if (system.length) made.push(later("System prompt", () => system.map((each) => turn(each, this))));
    if (last) made.push(later(plural(last, "earlier turn"), () => others.slice(0, last).map((each) => turn(each, this))));
    made.push(...others.slice(last).map((each) => turn(each, this)), ...request.rest.map((part) => PARTS[part.kind](part, this)));
    return made;
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
      const fold = folded("thinking", "Thinking that the client did not get", plural(words.length, "character"), false);
      new Words(fold.appendChild(el("div"))).add(words);
      return fold;
    });
    if (data.status || data.ended) {
      made.push(el("div", "part error", el("b", "", data.status ? `The client got ${data.status}` : "The connection ended"), data.ended || "The words of the error stand above."));
    }
    if (data.notes.length) made.push(el("div", "how", ...data.notes.map((words) => el("p", "", words))));
    made.push(...thoughts);
    const facts = el("dl", "", ...data.facts.flatMap(([label, words]) => [el("dt", "", label), el("dd", "", words)]));
    if (data.facts.length) made.push(facts);
    made.push(...data.beside.map((part) => PARTS[part.kind](part, this)));
    this.part(".waiting")?.remove();
    this.part(".end").replaceChildren(...made);
    this.part("[data-do=keep]").hidden = !data.kept;
    this.row();
  }

  scroller() { return $("talk").scrollHeight > $("talk").clientHeight + 1 ? $("talk") : document.querySelector("main"); }
  atEnd() { const at = this.scroller(); return at.scrollHeight - at.scrollTop - at.clientHeight < 120; }
  toEnd() { const at = this.scroller(); at.scrollTop = at.scrollHeight; }

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
    this.part(".panel.talk").hidden = tab === "wire";
    this.part(".panel.wire").hidden = tab !== "wire";
    this.root.classList.toggle("on-wire", tab === "wire");
    this.frames = 0;
    this.part(".frames").replaceChildren();
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
    keep() { keep.open(this); },
    frames() { send({ wire: { id: this.id, from: this.frames } }); },
    async again() { const other = await ask(`exchanges/${this.id}/again`, {}); location.hash = `${this.id}&${other}`; },
    async curl() { await copy(await ask(`exchanges/${this.id}/curl`), "as curl"); },
    async markdown() { await copy(await ask(`exchanges/${this.id}/markdown`), "as Markdown"); },
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

// ---- the list

const SHOWN = 1000; // rows that are drawn; older ones when they are asked for
const CHOICES = { model: "models", server: "servers", client: "clients", state: "states" };

const list = {
  rows: new Map(),
  items: new Map(),
  found: null,
  limit: SHOWN,

  hear(rows, gone) {
    for (const row of rows) {
      row.began = Date.now() - row.age * 1000;
      const before = this.rows.get(row.id);
      this.rows.set(row.id, row);
      if (before && this.items.has(row.id)) this.draw(row);
      if (!before || before.model !== row.model || before.state !== row.state) this.stale = true;
    }
    for (const id of gone) {
      this.rows.delete(id);
      this.items.get(id)?.remove();
      this.items.delete(id);
      this.stale = true;
    }
    if (this.stale) this.arrange();
  },

  clear() {
    this.rows.clear();
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
    const wanted = [...this.rows.values()].filter((row) => this.matches(row)).sort((one, other) => other.at - one.at);
    this.order = wanted.slice(0, this.limit).map((row) => row.id);
    const keep = new Set(this.order);
    for (const [id, item] of this.items) if (!keep.has(id)) { item.remove(); this.items.delete(id); }
    let at = $("rows").firstElementChild;
    for (const id of this.order) {
      const item = this.items.get(id) || this.item(id);
      if (item === at) at = at.nextElementSibling;
      else $("rows").insertBefore(item, at);
    }
    const total = this.rows.size;
    const some = wanted.length === total ? plural(total, "exchange") : `${number(wanted.length)} of ${plural(total, "exchange")}`;
    $("count").textContent = total ? some : "No exchanges yet. Ask a model through the proxy.";
    $("older").hidden = wanted.length <= this.limit;
  },

  item(id) {
    const made = $("row-template").content.cloneNode(true).firstElementChild;
    made.firstElementChild.href = `#${id}`;
    this.items.set(id, made);
    if (shown.has(id)) made.firstElementChild.setAttribute("aria-current", "true");
    this.draw(this.rows.get(id));
    return made;
  },

  draw(row) {
    const item = this.items.get(row.id);
    const part = (selector) => item.querySelector(selector);
    item.className = row.state;
    part(".model").textContent = visible(row.model || "no model");
    part("time").textContent = new Date(row.at * 1000).toLocaleTimeString("en-GB");
    part(".state").textContent = visible(row.failure || STATES[row.state]);
    part(".client").textContent = visible([row.again ? "again" : "", row.client || row.path].filter(Boolean).join(" · "));
    part(".tokens").textContent = tokens(row);
    const times = drawBar(part(".bar"), row);
    part(".took").textContent = times ? seconds(times.end) : "";
  },

  options() {
    for (const name in CHOICES) {
      const field = $(name), chosen = field.value;
      const values = [...new Set([...this.rows.values()].map((row) => row[name]))].filter(Boolean).sort();
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

// ---- what is chosen

const shown = new Map();

function choose() {
  if (location.hash === "#talk") return;
  const ids = location.hash.slice(1).split("&").filter((id) => /^[0-9a-f-]+$/.test(id)).slice(0, 2);
  shown.clear();
  for (const id of ids) shown.set(id, new Exchange(id));
  $("shown").replaceChildren(...[...shown.values()].map((each) => each.root));
  $("shown").classList.toggle("two", ids.length > 1);
  $("nothing").hidden = ids.length > 0;
  document.body.classList.toggle("chosen", ids.length > 0);
  for (const [id, item] of list.items) item.firstElementChild.toggleAttribute("aria-current", shown.has(id));
  for (const id of ids) list.items.get(id)?.firstElementChild.setAttribute("aria-current", "true");
  $("talk").scrollTop = 0;
  send({ choose: ids });
}

// ---- numbers at the head

const percent = (value) => (value == null ? "–" : `${Math.round(value * 100)}%`);
const TILES = [
  ["Requests", (all) => [number(all.requests), all.failed ? `${number(all.failed)} failed` : "none failed"], (bar) => bar.requests, (bar) => bar.failed],
  ["Share of thinking", (all) => [percent(all.share), ""], (bar) => bar.share],
  ...[["First byte", "first_byte"], ["First thought", "first_thought"], ["First text", "first_text"]].map(([label, name]) => [
    label,
    (all) => [seconds(all[name]?.[0]), all[name] ? `p95 ${seconds(all[name][1])}` : ""],
    (bar) => bar[name]?.[0],
  ]),
];

const numbers = {
  groups: {},
  draw() {
    const all = this.groups[$("model").value] || this.groups[""];
    $("numbers").hidden = !all;
    if (!all) return;
    $("numbers").replaceChildren(...TILES.map(([label, words, value, bad]) => {
      const [large, small] = words(all);
      return el("div", "", el("dt", "", label), el("dd", "", el("b", "", large, " ", el("small", "", small)), chart(all.bars, value, bad)));
    }));
  },
};

function chart(bars, value, bad) {
  const made = svg("svg", { viewBox: `0 0 ${bars.length} 10`, preserveAspectRatio: "none", "aria-hidden": "true" });
  const most = Math.max(...bars.map((bar) => (bar && value(bar)) || 0)) || 1;
  bars.forEach((bar, at) => {
    const height = bar ? Math.max(0.4, ((value(bar) || 0) / most) * 10) : 0.3;
    const failed = bar && bad ? (bad(bar) / most) * 10 : 0;
    made.append(svg("rect", { x: at, y: 10 - height, width: 0.72, height, class: bar ? "is" : "" }));
    if (failed) made.append(svg("rect", { x: at, y: 10 - failed, width: 0.72, height: failed, class: "bad" }));
  });
  return made;
}

// ---- keep as recording

const keep = {
  open(exchange) {
    const form = $("keep").querySelector("form");
    const row = list.rows.get(exchange.id) || {};
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

// ---- the line to mitmweb

let line = null;
let wait = 1000;

function connect() {
  line = new WebSocket(new URL("think/updates", location.href.split("#")[0].split("?")[0]).href.replace(/^http/, "ws"));
  line.addEventListener("open", () => {
    wait = 1000;
    status("live", "live");
    list.clear();
    list.arrange();
    choose();
  });
  line.addEventListener("message", (event) => hear(JSON.parse(event.data)));
  line.addEventListener("close", () => {
    status("not connected; trying again", "");
    setTimeout(connect, wait);
    wait = Math.min(wait * 2, 10000);
  });
}

function status(words, cls) {
  $("line").textContent = words;
  $("line").className = cls;
}

function send(message) {
  if (line && line.readyState === WebSocket.OPEN) line.send(JSON.stringify(message));
}

function hear(news) {
  if (news.rows || news.gone) {
    list.hear(news.rows || [], news.gone || []);
    for (const row of news.rows || []) shown.get(row.id)?.row();
  }
  for (const data of news.chosen || []) shown.get(data.id)?.hear(data);
  if (news.wire) shown.get(news.wire.id)?.wire(news.wire);
  if (news.numbers) { numbers.groups = news.numbers.groups; numbers.draw(); }
}

// What runs and says nothing grows older all the same.
setInterval(() => {
  if (document.hidden) return;
  for (const row of list.rows.values()) {
    if (!row.running) continue;
    if (list.items.has(row.id)) list.draw(row);
    shown.get(row.id)?.row();
  }
}, 500);

// ---- keys, buttons, light and dark

const THEMES = { "": "Auto", light: "Light", dark: "Dark" };

function theme(name) {
  document.documentElement.style.colorScheme = name || "light dark";
  $("theme").textContent = THEMES[name] || THEMES[""];
  $("theme").setAttribute("aria-label", `Colours: ${$("theme").textContent}`);
}

function foldThoughts() {
  const all = [...document.querySelectorAll("#shown details.thinking")];
  const open = all.length ? !all.some((each) => each.open) : !thoughtsOpen();
  stored.set("thoughts", open ? "open" : "folded");
  for (const each of shown.values()) each.thoughts = open;
  for (const each of all) each.open = open;
}

const KEYS = {
  j: () => list.step(1),
  k: () => list.step(-1),
  "/": () => $("words").focus(),
  t: foldThoughts,
  w: () => { for (const each of [...shown.values()].slice(0, 1)) each.show(each.tab === "wire" ? "talk" : "wire"); },
  "?": () => $("keys").showModal(),
  Escape: () => { location.hash = ""; },
};

document.addEventListener("keydown", (event) => {
  const typing = event.target.closest("input, textarea, select, dialog");
  if (typing && event.key === "Escape" && typing === $("words")) return $("words").blur();
  if (typing || event.ctrlKey || event.metaKey || event.altKey || !KEYS[event.key]) return;
  event.preventDefault();
  KEYS[event.key]();
});
document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-copy], [data-close]");
  if (!button) return;
  if ("close" in button.dataset) button.closest("dialog").close();
  else copy(button.closest("figure").querySelector("code").textContent, "the code");
});
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
  $(name).addEventListener("change", () => { $(name).classList.toggle("set", Boolean($(name).value)); list.arrange(); numbers.draw(); });
}
window.addEventListener("hashchange", choose);
if (location.search) history.replaceState(null, "", location.pathname + location.hash); // the token is in a cookie by now
theme(stored.get("theme") || "");
list.arrange();
connect();
