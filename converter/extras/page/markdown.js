// Draws Markdown with elements and text nodes: HTML in the text stays text.

import { copyText, element, printable } from "./elements.js";

const PICTURE = /^data:image\/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/=]+$/;
// Inline Markdown. Lengths are bounded, so that long input takes no long time.
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

// Append one block's `text` to the element `into`: emphasis, code, links and pictures become elements.
function appendInline(text, into, depth = 0) {
  let at = 0;
  const inner = (name, words) => { const made = element(name); appendInline(words, made, depth + 1); return made; };
  for (const found of depth > 4 ? [] : text.matchAll(INLINE)) {
    const [whole, escaped, , code, , strong, star, line, struck, alt, source, label, link, bare] = found;
    if (found.index > at) into.append(printable(text.slice(at, found.index)));
    at = found.index + whole.length;
    if (escaped !== undefined) into.append(escaped);
    else if (code !== undefined) into.append(element("code", "", code.replace(/^ (.*\S.*) $/, "$1")));
    else if (strong !== undefined) into.append(inner("strong", strong));
    else if ((star ?? line) !== undefined) into.append(inner("em", star ?? line));
    else if (struck !== undefined) into.append(inner("s", struck));
    else if (source !== undefined) into.append(PICTURE.test(source) ? pictureElement(source, alt) : printable(whole));
    else into.append(...linkElements(link ?? bare, label ?? bare));
  }
  if (at < text.length) into.append(printable(text.slice(at)));
}

// Return a link, and the host of its address unless the label contains it: a label must not hide where the link goes.
function linkElements(address, label) {
  const made = element("a", "", label);
  made.href = address;
  made.target = "_blank";
  made.rel = "noopener noreferrer nofollow";
  made.title = printable(address);
  const host = made.host;
  return label.includes(host) ? [made] : [made, element("span", "host", ` (${host})`)];
}

export function pictureElement(source, description) {
  const made = element("img");
  made.src = source;
  made.alt = printable(description || "picture");
  return made;
}

// Return a figure with the code and a button that copies it.
export function codeBlock(code, language) {
  const button = element("button", "copy", "Copy");
  button.type = "button";
  button.onclick = () => copyText(printable(code), "the code");
  return element("figure", "code", element("figcaption", "", element("span", "", language || "code"), button), element("pre", "", element("code", "", code)));
}

export const FENCE = /^ {0,3}(`{3,}|~{3,})[ \t]*([^\s`]{0,40})[^`\n]*$/;
const ITEM = /^( {0,12})([-*+]|\d{1,9}[.)])(?:[ \t]+(.*)|)$/;
const RULE = /^ {0,3}([-*_])(?:[ \t]*\1){2,}[ \t]*$/;
const CELLS = /^\s*\|?(?:\s*:?-+:?\s*\|)+\s*:?-*:?\s*$/;

// Yield an element for each block of Markdown: paragraph, heading, list, quote, table, code.
export function* blockElements(text, depth = 0) {
  const lines = text.split("\n");
  let words = [];
  const paragraph = () => {
    const made = element("p");
    made.dir = "auto";
    appendInline(words.join("\n"), made);
    words = [];
    return made;
  };
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at];
    const fence = FENCE.exec(line);
    const item = depth < 8 ? ITEM.exec(line) : null;
    const heading = /^ {0,3}(#{1,6})[ \t]+(.*)$/.exec(line);
    const table = line.includes("|") && at + 1 < lines.length && CELLS.test(lines[at + 1].slice(0, 2000)) && lines[at + 1].includes("-");
    const quoted = depth < 8 && /^ {0,3}>/.test(line);
    const starts = fence || heading || table || quoted || RULE.test(line) || (item && (item[3] ?? "") !== "");
    if (words.length && (starts || !line.trim())) yield paragraph();
    if (fence) {
      const inside = [];
      while (++at < lines.length && !closesFence(lines[at], fence[1])) inside.push(lines[at]);
      yield codeBlock(inside.join("\n"), fence[2]);
    } else if (RULE.test(line)) yield element("hr");
    else if (heading) {
      const made = element("h" + Math.min(6, heading[1].length + 3));
      appendInline(withoutClosingMarks(heading[2]), made);
      yield made;
    } else if (table) {
      const rows = [line];
      for (at++; at + 1 < lines.length && lines[at + 1].includes("|"); at++) rows.push(lines[at + 1]);
      yield tableElement(rows);
    } else if (quoted) {
      const inside = [];
      for (; at < lines.length && /^ {0,3}>/.test(lines[at]); at++) inside.push(lines[at].replace(/^ {0,3}> ?/, ""));
      at--;
      yield element("blockquote", "", ...blockElements(inside.join("\n"), depth + 1));
    } else if (starts) {
      const end = endOfList(lines, at, item);
      yield listElement(lines.slice(at, end), item, depth);
      at = end - 1;
    } else if (line.trim()) words.push(line);
  }
  if (words.length) yield paragraph();
}

// Return a heading without closing marks: "Title ##" -> "Title". A regular expression would take quadratic time.
function withoutClosingMarks(heading) {
  let end = heading.length;
  while (" \t#".includes(heading[end - 1] ?? "x")) end--;
  return heading.slice(0, end);
}

// Whether a line closes a code block that `marks` opened: at least as many of the same marks, and nothing else.
export const closesFence = (line, marks) => { const end = line.trim(); return end.length >= marks.length && end === marks[0].repeat(end.length); };

// Return the index of the line after a list that begins at `lines[at]`; `item`: the match of its first line.
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

// Return the list in `lines`; `first`: the match of its first line.
function listElement(lines, first, depth) {
  const ordered = /\d/.test(first[2]);
  const made = element(ordered ? "ol" : "ul");
  if (ordered && parseInt(first[2], 10) !== 1) made.start = parseInt(first[2], 10);
  let inside = null;
  const add = () => {
    if (!inside) return;
    const entry = element("li");
    entry.dir = "auto";
    const [head, ...rest] = inside;
    if (FENCE.test(head)) rest.unshift(head); else appendInline(head, entry);
    entry.append(...blockElements(rest.join("\n"), depth + 1));
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

// Return a table; the first of its lines `rows` has the headings.
function tableElement(rows) {
  const body = element("tbody");
  rows.forEach((row, index) => {
    const made = element("tr");
    for (const words of row.trim().replace(/^\||\|$/g, "").split("|").slice(0, 60)) {
      const cell = element(index ? "td" : "th");
      appendInline(words.trim(), cell);
      made.append(cell);
    }
    body.append(made);
  });
  return element("table", "", body);
}
