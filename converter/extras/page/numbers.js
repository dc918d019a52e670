// The numbers at the head of the page. They cover the hour that ends with the newest exchange, not the last hour, so that an
// old file of flows has numbers too.

import { $, element, formatNumber, formatSeconds, svgElement } from "./elements.js";
import { rows } from "./rows.js";

const HOUR = 3600; // seconds
const BARS = 30; // bars of a chart: one for each two minutes
const percent = (value) => (value == null ? "–" : `${Math.round(value * 100)}%`);
// [label, function of the hour's summary that returns a large and a small text, function of a bar's summary that returns the
// bar's height, the same for its failed part]
const TILES = [
  ["Requests", (all) => [formatNumber(all.requests), all.failed ? `${formatNumber(all.failed)} failed` : "none failed"], (bar) => bar.requests, (bar) => bar.failed],
  ["Share of thinking", (all) => [percent(all.share), ""], (bar) => bar.share],
  ...[["First byte", "first_byte"], ["First thought", "first_thought"], ["First text", "first_text"]].map(([label, name]) => [
    label,
    (all) => [formatSeconds(all[name]?.[0]), all[name] ? `p95 ${formatSeconds(all[name][1])}` : ""],
    (bar) => bar[name]?.[0],
  ]),
];

// Return [median, 95th percentile] (nearest rank) of a time in `replies`, null without one. Replies that were not streamed are
// left out: they come at once, so their first byte says nothing.
function medianAndP95(replies, name) {
  const values = replies.filter((row) => row[name] != null && row.first_byte !== row.end).map((row) => row[name]).sort((one, other) => one - other);
  return values.length ? [0.5, 0.95].map((share) => values[Math.max(0, Math.ceil(share * values.length) - 1)]) : null;
}

// Return the numbers of some rows: requests, failures, share of thinking, and times.
function summaryOf(replies) {
  const [thinking, text] = ["thinking", "text"].map((name) => replies.reduce((sum, row) => sum + (row[name] || 0), 0));
  const made = { requests: replies.length, failed: replies.filter((row) => row.state === "broken").length };
  for (const name of ["first_byte", "first_thought", "first_text"]) made[name] = medianAndP95(replies, name);
  return { ...made, share: thinking + text ? thinking / (thinking + text) : null };
}

// Draw the numbers and charts, of the chosen model alone if one is chosen.
export function drawNumbers() {
  const over = [...rows.values()].filter((row) => !row.running);
  const begin = over.reduce((newest, row) => Math.max(newest, row.at), 0) - HOUR;
  const of = over.filter((row) => row.at > begin && (!$("model").value || row.model === $("model").value));
  $("numbers").hidden = !of.length;
  const stretches = Array.from({ length: BARS }, () => []);
  for (const row of of) stretches[Math.min(Math.floor(((row.at - begin) * BARS) / HOUR), BARS - 1)].push(row);
  const all = summaryOf(of), bars = stretches.map((some) => (some.length ? summaryOf(some) : null));
  $("numbers").replaceChildren(...TILES.map(([label, words, value, bad]) => {
    const [large, small] = words(all);
    return element("div", "", element("dt", "", label), element("dd", "", element("b", "", large, " ", element("small", "", small)), barChart(bars, value, bad)));
  }));
}

// Return a chart. `value` and `bad` return the height of a bar, and of its failed part.
function barChart(bars, value, bad) {
  const made = svgElement("svg", { viewBox: `0 0 ${bars.length} 10`, preserveAspectRatio: "none", "aria-hidden": "true" });
  const most = Math.max(...bars.map((bar) => (bar && value(bar)) || 0)) || 1;
  bars.forEach((bar, at) => {
    const height = bar ? Math.max(0.4, ((value(bar) || 0) / most) * 10) : 0.3;
    const failed = bar && bad ? (bad(bar) / most) * 10 : 0;
    made.append(svgElement("rect", { x: at, y: 10 - height, width: 0.72, height, class: bar ? "is" : "" }));
    if (failed) made.append(svgElement("rect", { x: at, y: 10 - failed, width: 0.72, height: failed, class: "bad" }));
  });
  return made;
}
