// Draws turns and their parts: text, thinking, calls, results ...

import { element, formatNumber, plural, storage, printable } from "./elements.js";
import { GrowingText } from "./growing_text.js";
import { pictureElement } from "./markdown.js";

// Return an element that unfolds. `about`: a small text beside its label.
export function foldElement(kind, label, about, open = true) {
  const made = element("details", `part ${kind}`, element("summary", "", label, about ? element("small", "", about) : null));
  made.open = open;
  return made;
}

export const LONG_THOUGHT = 1200; // characters of a thought; a longer one is folded when its reply has ended

// Whether the reader has chosen (key t) to see thoughts open (true) or folded (false); null without a choice.
export const savedThoughtsOpen = () => ({ open: true, folded: false })[storage.get("thoughts")] ?? null;

// Kind of a part -> a function that returns the part's element. The text of `thinking` and `text` is left to a `GrowingText`.
export const PARTS = {
  thinking(part, view) {
    const made = foldElement("thinking", "Thinking", part.note, view.thoughtsOpen ?? savedThoughtsOpen() ?? true);
    made.append(element("div"));
    return made;
  },
  text: (part) => (part.text.trim() || part.grows ? element("div", "part said", part.note ? element("p", "note", part.note) : null, element("div")) : null),
  call(part) {
    const made = foldElement("call", `→ ${part.name}`, part.id);
    made.append(element("pre", "", part.text));
    return made;
  },
  result(part) {
    const made = foldElement(part.failed ? "result failed" : "result", `← ${part.failed ? "failed " : ""}${part.name || "result"}`, part.id, part.text.length < SHORT_RESULT);
    made.append(element("pre", "", part.text));
    return made;
  },
  beside: (part) => lazyFold(`<${part.name}> · ${formatNumber(part.text.length)} characters`, () => [element("pre", "", part.text)]),
  media: (part) => element("figure", "part", part.source ? pictureElement(part.source, part.text) : null, element("figcaption", "", `[${part.text}]`)),
  field: (part) => element("div", "part field", `${part.name}: ${part.text}`),
  error: (part) => element("div", "part error", element("b", "", `Error ${part.name}`), part.text),
  raw: (part) => element("pre", "part", part.text),
};

// Return a part's element; a tool's result is folded to one line, with its beginning and its length.
export function partAsLine(part, view) {
  const made = PARTS[part.kind]({ ...part, grows: false }, view);
  if (part.kind === "text") new GrowingText(made.lastElementChild).add(part.text);
  if (part.kind !== "result") return made;
  made.open = false;
  made.firstElementChild.lastChild.textContent = printable(`${part.text.replace(BEFORE_OUTPUT, "").trim().split("\n", 1)[0].slice(0, 90)} · ${plural(part.text.length, "character")}`);
  return made;
}

// Whether a turn has text of the user, not only results of tools and text in tags that the client added.
export const hasUserText = (data) => data.parts.some((part) => part.kind !== "result" && [...splitTags(part)].some((each) => each.kind !== "beside" && (each.kind !== "text" || each.text.trim())));

const BEFORE_OUTPUT = /^Chunk ID: [^]*?\nOutput:\n/; // matches the lines that Codex 0.171 puts before a command's output
const SHORT_RESULT = 600; // characters of a tool's result; a longer one is folded
const PARTS_AT_ONCE = 500; // parts of a turn that are drawn; *Show more* draws as many again

// Draws the parts of one turn, to which more parts and pieces of the last part may be added.
export class Turn {
  constructor(root, view) {
    this.root = root;
    this.view = view;
    this.parts = [];
    this.drawn = 0;
    this.limit = PARTS_AT_ONCE;
    this.growingText = null;
  }

  // Add a part. Its text is appended to the last part if that is of the same kind and `fresh` is false.
  add(part, fresh = true) {
    const last = this.parts.at(-1);
    if (!fresh && last && last.kind === part.kind) {
      last.pieces.push(part.text);
      this.growingText?.add(part.text);
      return;
    }
    this.parts.push({ ...part, pieces: [part.text] });
    this.growingText = null;
    if (this.view.running) this.limit = Infinity;
    this.draw();
  }

  draw() {
    while (this.drawn < Math.min(this.parts.length, this.limit)) this.drawPart(this.parts[this.drawn++]);
    const left = this.parts.length - this.drawn;
    if (!left) { this.more?.remove(); return; }
    if (!this.more) {
      this.more = element("button", "more", "");
      this.more.addEventListener("click", () => { this.limit += PARTS_AT_ONCE; this.draw(); });
    }
    this.more.textContent = `Show more of ${plural(left, "part")}`;
    if (!this.more.isConnected || this.more.nextSibling) this.root.append(this.more);
  }

  drawPart(part) {
    const grows = part.kind === "thinking" || part.kind === "text";
    const text = part.pieces.join("");
    const made = PARTS[part.kind]({ ...part, text, grows: grows && this.view.running }, this.view);
    if (!made) return;
    part.made = made;
    if (this.more?.isConnected) this.more.before(made); else this.root.append(made);
    if (!grows) return;
    this.growingText = new GrowingText(made.lastElementChild);
    this.growingText.add(part.kind === "thinking" || this.drawn === 1 ? text.replace(/^[\r\n]+/, "") : text);
  }

  // Return the text of all parts of a kind, with a blank line between two, as the expected text of a recording has it.
  textOf(kind) {
    const found = this.parts.filter((part) => part.kind === kind).map((part) => part.pieces.join("").replace(/^[\r\n]+|[\r\n]+$/g, ""));
    return found.filter(Boolean).join("\n\n");
  }
}

// Matches a block in tags that a client added to the user's text: <reminder>...</reminder> on lines of its own.
const TAGGED = /^[ \t]*<([a-z][\w-]*)>[^]*?<\/\1>[ \t]*$/gm;

// Split a text part: blocks in tags become parts of kind `beside`, the text between them stays. Other parts stay whole.
export function* splitTags(part) {
  if (part.kind !== "text") return yield part;
  let at = 0;
  for (const found of part.text.matchAll(TAGGED)) {
    const before = part.text.slice(at, found.index);
    if (before.trim()) yield { ...part, text: before };
    yield { kind: "beside", name: found[1], text: found[0] };
    at = found.index + found[0].length;
  }
  const rest = part.text.slice(at);
  if (!at || rest.trim()) yield { ...part, text: rest };
}

export function turnElement(data, view) {
  const body = element("div", "body");
  const made = element("section", `turn ${/^\w+$/.test(data.role) ? data.role : ""}`, element("h3", "", data.role + (data.choice ? ` ${data.choice + 1}` : "")), body);
  const parts = new Turn(body, view);
  const said = data.role === "user" ? data.parts.flatMap((part) => [...splitTags(part)]) : data.parts;
  said.forEach((part) => parts.add(part));
  return made;
}

// Return an element that unfolds, whose children are made when it is first opened.
export function lazyFold(label, makeChildren) {
  const made = element("details", "fold", element("summary", "", label));
  made.addEventListener("toggle", () => { if (made.open && made.childElementCount === 1) made.append(...makeChildren()); });
  return made;
}
