// The connections to mitmweb: what the page asks for, and what it is told.

import { $ } from "./elements.js";

export async function ask(path, body) {
  const cookie = /(?:^|; )_mitmproxy_xsrf=([^;]*)/.exec(document.cookie);
  const headers = { "Content-Type": "application/json", "X-XSRFToken": cookie ? cookie[1] : "" };
  const answer = await fetch("think/" + path, body === undefined ? {} : { method: "POST", headers, body: JSON.stringify(body) });
  const words = await answer.text();
  if (!answer.ok) throw new Error(answer.status === 403 ? "mitmweb asks for its password again: load the page anew" : words);
  return words;
}

export let line = null;
let wait = 1000;

// Hear what is new, now and whenever the line is there again; `opened` begins anew.
export function connect(opened, heard) {
  line = new WebSocket(new URL("think/updates", location.href.split("#")[0].split("?")[0]).href.replace(/^http/, "ws"));
  line.addEventListener("open", () => {
    wait = 1000;
    status("live", "live");
    opened();
  });
  line.addEventListener("message", (event) => heard(JSON.parse(event.data)));
  line.addEventListener("close", () => {
    status("not connected; trying again", "");
    setTimeout(() => connect(opened, heard), wait);
    wait = Math.min(wait * 2, 10000);
  });
}

function status(words, cls) {
  $("line").textContent = words;
  $("line").className = cls;
}

export function send(message) {
  if (line && line.readyState === WebSocket.OPEN) line.send(JSON.stringify(message));
}
