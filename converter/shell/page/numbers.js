// The numbers at the head, of the last hour.

import { $, el, number, seconds, svg } from "./elements.js";

const percent = (value) => (value == null ? "–" : `${Math.round(value * 100)}%`);
const TILES = [
  ["Requests", (all) => [number(all.requests), all.failed ? `${number(all.failed)} failed` : "none failed"], (bar) => bar.requests, (bar) => bar.failed],
  ["Share of thinking", (all) => [percent(all.share), ""], (bar) => bar.share],
  ...[["First byte", "first_byte"], ["First thought", "first_thought"], ["First text", "first_text"]].map(([label, name]) => [
    label,
    (all) => [seconds(all[name]?.[0]), all[name] ? `p95 ${seconds(all[name][1])}` : ""],
    (bar) => bar[name]?.[0],
  ]),
];

export const numbers = {
  groups: {},
  draw() {
    const all = this.groups[$("model").value] || this.groups[""];
    $("numbers").hidden = !all;
    if (!all) return;
    $("numbers").replaceChildren(...TILES.map(([label, words, value, bad]) => {
      const [large, small] = words(all);
      return el("div", "", el("dt", "", label), el("dd", "", el("b", "", large, " ", el("small", "", small)), chart(all.bars, value, bad)));
    }));
  },
};

function chart(bars, value, bad) {
  const made = svg("svg", { viewBox: `0 0 ${bars.length} 10`, preserveAspectRatio: "none", "aria-hidden": "true" });
  const most = Math.max(...bars.map((bar) => (bar && value(bar)) || 0)) || 1;
  bars.forEach((bar, at) => {
    const height = bar ? Math.max(0.4, ((value(bar) || 0) / most) * 10) : 0.3;
    const failed = bar && bad ? (bad(bar) / most) * 10 : 0;
    made.append(svg("rect", { x: at, y: 10 - height, width: 0.72, height, class: bar ? "is" : "" }));
    if (failed) made.append(svg("rect", { x: at, y: 10 - failed, width: 0.72, height: failed, class: "bad" }));
  });
  return made;
}
