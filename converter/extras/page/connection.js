// Requests from the page to mitmweb, and the WebSocket by which the page gets its updates.

import { $ } from "./elements.js";

// Send a GET to `think/PATH`, or a POST with `body` as JSON, and return the response's text. Throws the text of an error
// response.
export async function fetchText(path, body) {
  const cookie = /(?:^|; )_mitmproxy_xsrf=([^;]*)/.exec(document.cookie);
  const headers = { "Content-Type": "application/json", "X-XSRFToken": cookie ? cookie[1] : "" };
  const response = await fetch("think/" + path, body === undefined ? {} : { method: "POST", headers, body: JSON.stringify(body) });
  const text = await response.text();
  if (!response.ok) throw new Error(response.status === 403 ? "mitmweb asks for its password again: load the page anew" : text);
  return text;
}

export let socket = null;
let retryDelay = 1000; // milliseconds until the next attempt to connect

// Connect to the WebSocket, again and again after it has closed. Call `onOpen` at each new connection, for which the page
// starts with an empty list, and `onMessage` with the JSON value of each message.
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

// Show the state of the connection at the head of the page.
function showStatus(text, className) {
  $("line").textContent = text;
  $("line").className = className;
}

// Send a message as JSON to the server's `OpenPage`; drop it while there is no connection.
export function send(message) {
  if (socket && socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message));
}
