// Helpers that make elements and format values. Text is always put into text nodes, never parsed as markup, so that HTML
// from a model stays text.

export const $ = (id) => document.getElementById(id);
const ACTING = /\r(?!\n)|[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff\ufffe\uffff]|\p{Cs}/gu;

// Return a text with visible signs for characters that would act on a terminal or mislead a reader, such as control
// characters and those that reverse the direction of text: "\x1b" -> "␛".
export function printable(text) {
  return String(text).replace(ACTING, (character) => {
    const code = character.codePointAt(0);
    if (code < 32) return String.fromCharCode(0x2400 + code);
    return code === 127 ? "␡" : (code < 256 ? "\\x" : "\\u") + code.toString(16).padStart(code < 256 ? 2 : 4, "0");
  });
}

// Return a new HTML element. `children`: nodes and texts; null is left out.
export function element(name, className, ...children) {
  const made = document.createElement(name);
  if (className) made.className = className;
  for (const each of children) if (each !== null) made.append(each.nodeType ? each : printable(each));
  return made;
}

export function svgElement(name, attributes) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const key in attributes) made.setAttribute(key, attributes[key]);
  return made;
}

export const formatNumber = (value) => value.toLocaleString("en");
export const plural = (count, word) => `${formatNumber(count)} ${word}${count === 1 ? "" : "s"}`;

// Return seconds as text: 0.25 -> "250 ms", 75 -> "1 min 15 s", null -> "–".
export function formatSeconds(value) {
  if (value == null) return "–";
  if (value < 1) return `${Math.round(value * 1000)} ms`;
  if (value < 60) return `${value.toFixed(value < 10 ? 2 : 1)} s`;
  return `${Math.floor(value / 60)} min ${String(Math.floor(value % 60)).padStart(2, "0")} s`;
}

// Show a short message at the edge of the page for four seconds.
export function showToast(text) {
  $("toast").textContent = printable(text);
  $("toast").classList.add("seen");
  clearTimeout(showToast.timer);
  showToast.timer = setTimeout(() => $("toast").classList.remove("seen"), 4000);
}

// Copy a text to the clipboard, and say so; `description` names it in this message.
export async function copyText(text, description) {
  try {
    await navigator.clipboard.writeText(text);
  } catch { // browsers allow `clipboard` only over HTTPS or on localhost, and only with permission
    const field = element("textarea");
    field.value = text;
    (document.querySelector("dialog[open]") || document.body).append(field);
    field.select();
    document.execCommand("copy");
    field.remove();
  }
  showToast(`Copied ${description}`);
}

// Settings that the browser keeps between visits.
export const storage = {
  get(name) { try { return localStorage.getItem("think-" + name); } catch { return null; } },
  set(name, value) { try { localStorage.setItem("think-" + name, value); } catch { /* the browser refuses to store anything */ } },
};
