// Text that grows, as Markdown.

import { element } from "./elements.js";
import { FENCE, blockElements, closesFence, codeBlock } from "./markdown.js";

const LONGEST_BLOCK = 20000; // characters of a block; a longer one is shown plain, a stretch at a time
const SHEET_LENGTH = 8000; // characters of blocks that are laid out together
const CONTINUES_LIST = /^[ \t]|^(?:[-*+]|\d{1,9}[.)])[ \t]/; // a line that may belong to the list before it

// A block that is over is drawn once; sheets of blocks are laid out when they are looked at.
export class GrowingText {
  constructor(root) {
    this.tail = "";
    this.fence = null; // the marks and the language of a code block whose beginning is drawn
    this.unfinished = element("div", "live");
    this.roomInSheet = 0;
    root.classList.add("md");
    root.append(this.unfinished);
  }

  add(text) {
    this.tail += text.replaceAll("\r\n", "\n");
    for (let end; (end = this.endOfFinishedBlocks() || this.cutOfLongBlock()); ) {
      this.drawFinished(this.tail.slice(0, end), this.fence, this.isPlain);
      this.fence = this.nextFence;
      this.isPlain = false;
      this.tail = this.tail.slice(end);
    }
    this.unfinished.replaceChildren(...elementsOf(this.tail, this.fence));
  }

  drawFinished(text, fence, isPlain) {
    if (this.roomInSheet < text.length) {
      this.sheet = element("div", "sheet");
      this.unfinished.before(this.sheet);
      this.roomInSheet = SHEET_LENGTH;
    }
    const sheet = this.sheet;
    schedule(() => sheet.append(...(isPlain ? [element("p", "", text)] : elementsOf(text, fence))));
    this.roomInSheet -= text.length;
  }

  // Return where blocks end that are over: behind a blank line that no code and no list holds; 0 for nowhere.
  endOfFinishedBlocks() {
    let marks = this.fence && this.fence[0], end = 0;
    for (let at = 0, next; end < SHEET_LENGTH && (next = this.tail.indexOf("\n", at) + 1); at = next) {
      const line = this.tail.slice(at, next - 1);
      const found = FENCE.exec(line);
      if (marks) { if (closesFence(line, marks)) marks = null; }
      else if (found) marks = found[1];
      else if (!line.trim() && next < this.tail.length && !CONTINUES_LIST.test(this.tail.slice(next, next + 12))) end = next;
    }
    this.nextFence = null;
    return end;
  }

  // Return where to cut a block that is too long to be drawn again and again; 0 for nowhere.
  cutOfLongBlock() {
    if (this.tail.length <= LONGEST_BLOCK) return 0;
    const line = this.tail.lastIndexOf("\n", LONGEST_BLOCK);
    const end = line > LONGEST_BLOCK / 2 ? line + 1 : LONGEST_BLOCK;
    this.nextFence = openFenceAfter(this.tail.slice(0, end), this.fence);
    this.isPlain = !this.fence && !this.nextFence;
    return end;
  }
}

function elementsOf(text, fence) {
  if (!fence) return blockElements(text);
  const lines = text.split("\n");
  const end = lines.findIndex((line) => closesFence(line, fence[0]));
  if (end < 0) return [codeBlock(text, fence[1])];
  return [codeBlock(lines.slice(0, end).join("\n"), fence[1]), ...blockElements(lines.slice(end + 1).join("\n"))];
}

// Draw what there is time for, the rest with the next pictures; aria-busy says that there is more.
const jobs = [];
let spent = 0, due = false;

function schedule(job) {
  if (job) jobs.push(job);
  while (jobs.length && spent < 10) {
    const begun = performance.now();
    jobs.shift()();
    spent += performance.now() - begun;
  }
  document.body.ariaBusy = String(jobs.length > 0);
  if (!due) requestAnimationFrame(() => { due = false; spent = 0; if (jobs.length) schedule(); });
  due = true;
}

// Return the marks and the language of the code that a text leaves open.
function openFenceAfter(text, fence) {
  for (const line of text.split("\n")) {
    if (fence) { if (closesFence(line, fence[0])) fence = null; }
    else { const found = FENCE.exec(line); fence = found && [found[1], found[2]]; }
  }
  return fence;
}
