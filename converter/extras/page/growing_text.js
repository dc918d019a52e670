// Text that grows, as Markdown.

import { el } from "./elements.js";
import { FENCE, blocks, closes, codeBlock } from "./markdown.js";

const LARGE = 20000; // characters of a block; a longer one is shown plain, a stretch at a time
const SHEET = 8000; // characters of blocks that are laid out together
const GOES_ON = /^[ \t]|^(?:[-*+]|\d{1,9}[.)])[ \t]/; // a line that may belong to the list before it

// A block that is over is drawn once; sheets of blocks are laid out when they are looked at.
export class GrowingText {
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

// Draw what there is time for, the rest with the next pictures; aria-busy says that there is more.
const jobs = [];
let spent = 0, due = false;

function soon(job) {
  if (job) jobs.push(job);
  while (jobs.length && spent < 10) {
    const begun = performance.now();
    jobs.shift()();
    spent += performance.now() - begun;
  }
  document.body.ariaBusy = String(jobs.length > 0);
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
