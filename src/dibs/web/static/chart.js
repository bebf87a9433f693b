// Nodes by depth: both searches as lines with marks, on one scale. Drawn as SVG, on the page and in the saved picture.

import { ticks } from "./canvas.js";

export const CLASSES = ["first", "second"];

// The parts of the chart as text, within left..right and top..low, for counts by depth of one or two searches.
export function chart(counts, { left, right, top, low, mark = 2.2 }) {
  const deepest = Math.max(1, ...counts.map((count) => count.length - 1));
  const most = Math.max(1, ...counts.flat());
  const logged = most >= 50;
  const x = (depth) => left + 6 + (depth * (right - left - 12)) / deepest;
  const y = (nodes) => {
    const share = logged ? 0.06 + (0.9 * Math.log10(nodes)) / Math.log10(most) : (0.96 * nodes) / most;
    return low - share * (low - top);
  };
  const parts = [];
  for (const tick of logged ? powers(most) : ticks(most)) {
    parts.push(`<line class="grid" x1="${left}" x2="${right}" y1="${f(y(tick))}" y2="${f(y(tick))}"/>`);
    parts.push(`<text class="end" x="${left - 5}" y="${f(y(tick) + 3)}">${tick.toLocaleString("en-US")}</text>`);
  }
  parts.push(`<line class="axis" x1="${left}" x2="${right}" y1="${low}" y2="${low}"/>`);
  for (const tick of ticks(deepest)) {
    parts.push(`<text class="middle" x="${f(x(tick))}" y="${low + 12}">${tick}</text>`);
  }
  counts.forEach((count, which) => {
    let route = "", pen = false;
    const marks = [];
    count.forEach((nodes, depth) => {
      if (!nodes) {
        pen = false;
        return;
      }
      route += `${pen ? "L" : "M"}${f(x(depth))} ${f(y(nodes))}`;
      pen = true;
      if (count.length <= 90) marks.push(point(which, x(depth), y(nodes), mark, nodes, depth));
    });
    if (route) parts.push(`<path class="${CLASSES[which]}" d="${route}"/>`, ...marks);
  });
  return { parts, logged };
}

function point(which, x, y, size, nodes, depth) {
  const title = `<title>depth ${depth}: ${nodes.toLocaleString("en-US")} nodes</title>`;
  if (which === 0) return `<circle class="mark-first" cx="${f(x)}" cy="${f(y)}" r="${size}">${title}</circle>`;
  const box = `x="${f(x - size)}" y="${f(y - size)}" width="${2 * size}" height="${2 * size}"`;
  return `<rect class="mark-second" ${box}>${title}</rect>`;
}

function powers(most) {
  const found = [];
  for (let tick = 1; tick <= most; tick *= 10) found.push(tick);
  return found;
}

const f = (number) => number.toFixed(1);

// Shows the chart in an <svg> of the page.
export function showChart(svg, counts, width) {
  const height = 150;
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  const { parts, logged } = chart(counts, { left: 50, right: width - 8, top: 8, low: height - 20 });
  svg.innerHTML = parts.join("");
  return logged;
}
