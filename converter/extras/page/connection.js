// The connections to mitmweb: what the page asks for, and what it is told.

import { $ } from "./elements.js";

export async function fetchText(path, body) {
  const cookie = /(?:^|; )_mitmproxy_xsrf=([^;]*)/.exec(document.cookie);
  const headers = { "Content-Type": "application/json", "X-XSRFToken": cookie ? cookie[1] : "" };
  const response = await fetch("think/" + path, body === undefined ? {} : { method: "POST", headers, body: JSON.stringify(body) });
  const text = await response.text();
  if (!response.ok) throw new Error(response.status === 403 ? "mitmweb asks for its password again: load the page anew" : text);
  return text;
}

export let socket = null;
let retryDelay = 1000;

// Hear what is new, now and whenever the line is there again; `opened` begins anew.
export function connect(onOpen, onMessage) {
  socket = new WebSocket(new URL("think/updates", location.href.split("#")[0].split("?")[0]).href.replace(/^http/, "ws"));
  socket.addEventListener("open", () => {
    retryDelay = 1000;
    showStatus("live", "live");
    onOpen();
  });
  socket.addEventListener("message", (event) => onMessage(JSON.parse(event.data)));
  socket.addEventListener("close", () => {
    showStatus("not connected; trying again", "");
    setTimeout(() => connect(onOpen, onMessage), retryDelay);
    retryDelay = Math.min(retryDelay * 2, 10000);
  });
}

function showStatus(text, className) {
  $("line").textContent = text;
  $("line").className = className;
}

export function send(message) {
  if (socket && socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message));
}
