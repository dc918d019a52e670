// Markdown that is drawn while its text is still arriving.

import { element } from "./elements.js";
import { FENCE, blockElements, closesFence, codeBlock } from "./markdown.js";

const LONGEST_BLOCK = 20000; // characters of a Markdown block; a longer one is cut and drawn in pieces of plain text or code
const SHEET_LENGTH = 8000; // characters of finished blocks in one sheet: an element that the browser lays out when it comes into view
const CONTINUES_LIST = /^[ \t]|^(?:[-*+]|\d{1,9}[.)])[ \t]/; // matches a line that may belong to the list above it

// Draws growing text in time that grows with the text's length: a finished block is drawn once, only the last, unfinished
// block is drawn again for each piece of text.
export class GrowingText {
  constructor(root) {
    this.tail = ""; // the text that is not drawn for good
    this.fence = null; // [marks, language] of the code block in which `tail` begins: ["```", "python"]
    this.unfinished = element("div", "live"); // shows `tail`
    this.roomInSheet = 0; // characters that still fit into the last sheet
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

  // Draw a piece for good in the last sheet, or in a new one. `fence`: the code block in which the piece begins.
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

  // Return the offset in `tail` at which the last finished block ends: after a blank line that is in no code block and no
  // list. Return 0 if no block is finished.
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

  // Return the offset at which to cut an unfinished block that is too long to be drawn again for each piece; 0 if it is not too
  // long.
  cutOfLongBlock() {
    if (this.tail.length <= LONGEST_BLOCK) return 0;
    const line = this.tail.lastIndexOf("\n", LONGEST_BLOCK);
    const end = line > LONGEST_BLOCK / 2 ? line + 1 : LONGEST_BLOCK;
    this.nextFence = openFenceAfter(this.tail.slice(0, end), this.fence);
    this.isPlain = !this.fence && !this.nextFence;
    return end;
  }
}

// Return the elements of Markdown `text`, whose beginning belongs to the code block `fence` unless that is null.
function elementsOf(text, fence) {
  if (!fence) return blockElements(text);
  const lines = text.split("\n");
  const end = lines.findIndex((line) => closesFence(line, fence[0]));
  if (end < 0) return [codeBlock(text, fence[1])];
  return [codeBlock(lines.slice(0, end).join("\n"), fence[1]), ...blockElements(lines.slice(end + 1).join("\n"))];
}

const jobs = [];
let spent = 0; // milliseconds of drawing since the last animation frame
let due = false; // whether the next animation frame is requested

// Run `job` now if less than 10 ms were spent since the last animation frame, else in one of the next frames.
// `aria-busy` is true while jobs wait.
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

// Return [marks, language] of the code block that is open at the end of `text`, null if there is none. `fence`: the one that
// is open at its beginning.
function openFenceAfter(text, fence) {
  for (const line of text.split("\n")) {
    if (fence) { if (closesFence(line, fence[0])) fence = null; }
    else { const found = FENCE.exec(line); fence = found && [found[1], found[2]]; }
  }
  return fence;
}
