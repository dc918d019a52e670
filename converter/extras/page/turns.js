// The parts of a turn, and a turn whose parts may grow.

import { el, number, plural, stored, visible } from "./elements.js";
import { GrowingText } from "./growing_text.js";
import { picture } from "./markdown.js";

export function folded(kind, label, about, open = true) {
  const made = el("details", `part ${kind}`, el("summary", "", label, about ? el("small", "", about) : null));
  made.open = open;
  return made;
}

export const LONG_THOUGHT = 1200; // characters of one that folds when its reply is over

// Whether the reader wants thoughts open or folded; null: said neither.
export const thoughtsOpen = () => ({ open: true, folded: false })[stored.get("thoughts")] ?? null;

export const PARTS = {
  thinking(part, view) {
    const made = folded("thinking", "Thinking", part.note, view.thoughts ?? thoughtsOpen() ?? true);
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
    const made = folded(part.failed ? "result failed" : "result", `← ${part.failed ? "failed " : ""}${part.name || "result"}`, part.id, part.text.length < SHORT_RESULT);
    made.append(el("pre", "", part.text));
    return made;
  },
  beside: (part) => later(`<${part.name}> · ${number(part.text.length)} characters`, () => [el("pre", "", part.text)]),
  media: (part) => el("figure", "part", part.source ? picture(part.source, part.text) : null, el("figcaption", "", `[${part.text}]`)),
  field: (part) => el("div", "part field", `${part.name}: ${part.text}`),
  error: (part) => el("div", "part error", el("b", "", `Error ${part.name}`), part.text),
  raw: (part) => el("pre", "part", part.text),
};

// A new result as one line that opens.
export function line(part, view) {
  const made = PARTS[part.kind]({ ...part, grows: false }, view);
  if (part.kind === "text") new GrowingText(made.lastElementChild).add(part.text);
  if (part.kind !== "result") return made;
  made.open = false;
  made.firstElementChild.lastChild.textContent = visible(`${part.text.replace(BEFORE_OUTPUT, "").trim().split("\n", 1)[0].slice(0, 90)} · ${plural(part.text.length, "character")}`);
  return made;
}

// Whether a turn has words that are not a client's own in tags.
export const speaks = (data) => data.parts.some((part) => part.kind !== "result" && [...apart(part)].some((each) => each.kind !== "beside" && (each.kind !== "text" || each.text.trim())));

const BEFORE_OUTPUT = /^Chunk ID: [^]*?\nOutput:\n/; // of a command, by Codex 0.171
const SHORT_RESULT = 600; // characters of one that is open
const AT_ONCE = 500; // parts of a turn that are drawn; more when they are asked for

export class Turn {
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
    part.made = made;
    if (this.more?.isConnected) this.more.before(made); else this.root.append(made);
    if (!grows) return;
    this.words = new GrowingText(made.lastElementChild);
    this.words.add(part.kind === "thinking" || this.drawn === 1 ? text.replace(/^[\r\n]+/, "") : text);
  }

  // Return all words of a kind, as an expectation has them.
  said(kind) {
    const found = this.parts.filter((part) => part.kind === kind).map((part) => part.pieces.join("").replace(/^[\r\n]+|[\r\n]+$/g, ""));
    return found.filter(Boolean).join("\n\n");
  }
}

// Take what a client puts in tags beside its user's words out of them: blocks that begin a line.
const BESIDE = /^[ \t]*<([a-z][\w-]*)>[^]*?<\/\1>[ \t]*$/gm;

export function* apart(part) {
  if (part.kind !== "text") return yield part;
  let at = 0;
  for (const found of part.text.matchAll(BESIDE)) {
    const before = part.text.slice(at, found.index);
    if (before.trim()) yield { ...part, text: before };
    yield { kind: "beside", name: found[1], text: found[0] };
    at = found.index + found[0].length;
  }
  const rest = part.text.slice(at);
  if (!at || rest.trim()) yield { ...part, text: rest };
}

export function turn(data, view) {
  const body = el("div", "body");
  const made = el("section", `turn ${/^\w+$/.test(data.role) ? data.role : ""}`, el("h3", "", data.role + (data.choice ? ` ${data.choice + 1}` : "")), body);
  const parts = new Turn(body, view);
  const said = data.role === "user" ? data.parts.flatMap((part) => [...apart(part)]) : data.parts;
  said.forEach((part) => parts.add(part));
  return made;
}

// A fold whose inside is made when it is opened.
export function later(label, make) {
  const made = el("details", "fold", el("summary", "", label));
  made.addEventListener("toggle", () => { if (made.open && made.childElementCount === 1) made.append(...make()); });
  return made;
}
