// The saved picture: both trees and the chart as one SVG file, in the colours of the project's figures.

import { ticks } from "./canvas.js";
import { chart } from "./chart.js";
import { DEEPER, EARLIER, KINDS, KIND_WORDS, PATH } from "./tree.js";

const WIDTH = 420, LEFT = 36, RIGHT = 8, GAP = 18, TOP = 34, TALL = 170, CHART = 84;
const NARROWEST = 18, FINEST = 0.8, MOST_LINES = 12_000, DOTTED = 120, BEADS = 4;
const STYLE = `
text{font-family:Helvetica,Arial,sans-serif;font-size:9px;fill:#24292f}
.title{font-size:10.5px;font-weight:bold}.note{fill:#57606a;font-size:8px}
.end{text-anchor:end}.middle{text-anchor:middle}
path,line{fill:none;stroke-linecap:round;stroke-linejoin:round}
.axis{stroke:#57606a;stroke-width:.6}.grid{stroke:#eaeef2;stroke-width:.6}
.path{stroke:#0b3d73;stroke-width:2.2}.open{stroke:#0b3d73;stroke-width:1.1}.deep{stroke:#c62828;stroke-width:.7}
.shallow{stroke:#8aa4bd;stroke-width:.9}.earlier{stroke:#8c959f;stroke-width:.6;stroke-dasharray:2 1.6}
.dot-path,.dot-open{fill:#0b3d73}.dot-deep{fill:#c62828}.dot-shallow{fill:#8aa4bd}.dot-earlier{fill:#8c959f}
.goal{fill:#fff;stroke:#0b3d73;stroke-width:1.6}
.first{stroke:#0b3d73;stroke-width:1.6}.second{stroke:#b35900;stroke-width:1.2;stroke-dasharray:4 2}
.mark-first{fill:#0b3d73}.mark-second{fill:#fff;stroke:#b35900;stroke-width:1}`;

const f = (number) => number.toFixed(1);
const safe = (text) => text.replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]);
const text = (x, y, words, style = "") => `<text x="${f(x)}" y="${f(y)}" class="${style}">${safe(words)}</text>`;

// panels: {title, note, tree, n} of each search.
export function picture(panels) {
  const deepest = Math.max(1, ...panels.map(({ tree }) => tree.most));
  const wide = (WIDTH - LEFT - RIGHT - GAP * (panels.length - 1)) / panels.length;
  const widest = Math.max(1, ...panels.map(({ tree, n }) => tree.width(n)));
  const used = new Set();
  const parts = [];
  const merged = [];
  panels.forEach((panel, i) => {
    const box = { left: LEFT + i * (wide + GAP), wide, y: (depth) => TOP + 6 + (depth * (TALL - 12)) / deepest };
    parts.push(text(box.left, 13, panel.title, "title"), text(box.left, 25, panel.note, "note"));
    for (const depth of ticks(deepest)) {
      const y = f(box.y(depth));
      parts.push(`<line class="grid" x1="${f(box.left)}" x2="${f(box.left + wide)}" y1="${y}" y2="${y}"/>`);
      if (!i) parts.push(text(box.left - 5, box.y(depth) + 3, String(depth), "end"));
    }
    const own = Math.max(NARROWEST, (wide * panel.tree.width(panel.n)) / widest); // both on one scale
    const drawn = tree(panel, { ...box, left: box.left + (wide - own) / 2, wide: own }, used);
    parts.push(...drawn.parts);
    if (drawn.merged) merged.push(drawn.merged.toLocaleString("en-US"));
  });
  parts.push(`<text class="middle" transform="translate(11 ${TOP + TALL / 2}) rotate(-90)">depth</text>`);
  let y = TOP + TALL + 12;
  parts.push(text(LEFT + (WIDTH - LEFT - RIGHT) / 2, y, "values in the order tried →", "note middle"));
  parts.push(...legend(used, y + 14));
  y += 46;
  parts.push(...names(panels, y - 8));
  const counts = panels.map((panel) => panel.tree.byDepth(panel.n));
  const drawn = chart(counts, { left: LEFT, right: WIDTH - RIGHT, top: y, low: y + CHART, mark: 1.5 });
  parts.push(...drawn.parts);
  const unit = drawn.logged ? "nodes (log scale)" : "nodes";
  parts.push(`<text class="middle" transform="translate(11 ${y + CHART / 2}) rotate(-90)">${unit}</text>`);
  let height = y + CHART + 30;
  parts.push(text(LEFT + (WIDTH - LEFT - RIGHT) / 2, height - 5, "depth", "middle"));
  if (merged.length) {
    const said = `Aggregated: ${merged.join(" and ")} nodes lie in branches too narrow to see, drawn as one line each.`;
    parts.push(text(LEFT, height + 7, said, "note"));
    height += 14;
  }
  const label = safe(panels.map((panel) => `${panel.title}: ${panel.note}`).join("; "));
  const size = `width="${2 * WIDTH}" height="${2 * height}" viewBox="0 0 ${WIDTH} ${height}"`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" ${size} role="img" aria-label="${label}">`,
    `<style>${STYLE}</style>`,
    '<rect width="100%" height="100%" fill="#fff"/>',
    ...parts,
    "</svg>\n",
  ].join("\n");
}

function tree(panel, box, used) {
  const { tree: of, n } = panel;
  const parts = [];
  if (n <= 0) return { parts, merged: 0 };
  let finest = FINEST / box.wide;
  let lines = [];
  const collect = () => {
    lines = [];
    of.lines(n, -1, finest, (...line) => lines.push(line));
  };
  collect();
  while (lines.length > MOST_LINES) {
    finest *= 2;
    collect();
  }
  const x = (share) => f(box.left + share * box.wide);
  for (let kind = EARLIER; kind <= PATH; kind++) {
    let route = "", pen = "";
    for (const [, x0, y0, x1, y1, of] of lines) {
      if (of !== kind) continue;
      const from = `${x(x0)} ${f(box.y(y0))}`;
      pen = `${x(x1)} ${f(box.y(y1))}`;
      route += route.endsWith(`L${from}`) || route.endsWith(`M${from}`) ? `L${pen}` : `M${from}L${pen}`;
    }
    if (!route) continue;
    used.add(kind);
    parts.push(`<path class="${KINDS[kind]}" d="${route}"/>`);
  }
  const beads = box.y(1) - box.y(0) >= BEADS;
  for (const [node, , , x1, y1, kind, single] of lines) {
    if (!single || !(n <= DOTTED || (beads && kind > DEEPER))) continue;
    const goal = node === of.solution;
    const style = goal ? "goal" : `dot-${KINDS[kind]}`;
    parts.push(
      `<circle class="${style}" cx="${x(x1)}" cy="${f(box.y(y1))}" r="${goal ? 2.8 : kind > DEEPER ? 1.9 : 1.2}"/>`,
    );
  }
  return { parts, merged: n - lines.length };
}

function legend(used, y) {
  const parts = [];
  let x = LEFT;
  for (let kind = PATH; kind >= EARLIER; kind--) {
    if (!used.has(kind)) continue;
    parts.push(`<line class="${KINDS[kind]}" x1="${f(x)}" x2="${f(x + 16)}" y1="${f(y - 3)}" y2="${f(y - 3)}"/>`);
    parts.push(text(x + 22, y, KIND_WORDS[kind]));
    x += 34 + 4.9 * KIND_WORDS[kind].length;
  }
  return parts;
}

function names(panels, y) {
  const parts = [];
  let x = LEFT;
  panels.forEach((panel, i) => {
    const style = i ? "second" : "first";
    parts.push(`<line class="${style}" x1="${f(x)}" x2="${f(x + 16)}" y1="${f(y - 3)}" y2="${f(y - 3)}"/>`);
    parts.push(text(x + 22, y, panel.title));
    x += 40 + 5.2 * panel.title.length;
  });
  return parts;
}
