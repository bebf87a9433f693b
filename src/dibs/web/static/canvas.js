// One search tree on a canvas: drawn from its arrays, at most once a frame; the pointer and the arrow keys find nodes.

import { KINDS, OPEN, PATH, SHALLOW } from "./tree.js";

const FINEST = 1; // pixels: a narrower branch is one line
const MOST_LINES = 5000; // beyond it, wider branches too become one line
const CHUNK = 400; // lines in one stroke: longer paths take more than their share of time
const DOTTED = 120; // nodes up to which each has a dot
const BEADS = 9; // pixels between two depths from which on the path has dots in any case
const NARROWEST = 36; // pixels that a small tree has beside a very large one
const REACH = 14; // pixels from a node within which a click means it
const MARGIN = { left: 30, right: 12, top: 12, bottom: 12 };
const WIDTHS = [0.8, 1, 1, 1.8, 3]; // of the lines of each kind

export class TreeCanvas {
  constructor(canvas, { pick, enter, toggle }) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d", { alpha: false });
    this.pick = pick; // (node) the user chose
    this.tree = null;
    this.n = 0;
    this.top = -1; // the branch that is shown, -1 for all
    this.deepest = 1; // of both trees
    this.widest = 1; // leaves of the wider of both trees: they have one scale
    this.selected = -1;
    this.finest = FINEST;
    this.coarse = 1; // more while a race is too much for this machine
    this.shownTop = -1; // as it was last drawn
    this.drawn = 0; // lines in the picture
    this.room = 0;
    this.reserve(2048);
    canvas.addEventListener("click", (event) => this.click(event));
    canvas.addEventListener("dblclick", () => this.selected >= 0 && enter(this.selected));
    canvas.addEventListener("keydown", (event) => this.key(event, enter, toggle));
    new ResizeObserver(() => this.resize()).observe(canvas);
    this.colours();
  }

  reserve(room) {
    const wider = (old, Kind) => {
      const fresh = new Kind(room);
      if (old) fresh.set(old);
      return fresh;
    };
    this.node = wider(this.node, Int32Array);
    this.kind = wider(this.kind, Uint8Array);
    this.single = wider(this.single, Uint8Array);
    this.x0 = wider(this.x0, Float32Array);
    this.y0 = wider(this.y0, Float32Array);
    this.x1 = wider(this.x1, Float32Array);
    this.y1 = wider(this.y1, Float32Array);
    this.room = room;
  }

  colours() {
    const style = getComputedStyle(this.canvas);
    this.colour = KINDS.map((kind) => style.getPropertyValue(`--${kind}`).trim());
    this.grid = style.getPropertyValue("--grid").trim();
    this.muted = style.getPropertyValue("--muted").trim();
    this.surface = style.getPropertyValue("--surface").trim();
    this.ring = style.getPropertyValue("--mark").trim();
    this.draw();
  }

  resize() {
    const ratio = window.devicePixelRatio || 1;
    const { width, height } = this.canvas.getBoundingClientRect();
    if (!width || !height) return;
    this.width = width;
    this.height = height;
    this.ratio = ratio;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.draw();
  }

  show(tree, n, deepest, widest, coarse = 1) {
    const same = tree === this.tree && n === this.n && deepest === this.deepest && widest === this.widest;
    if (same && this.top === this.shownTop && coarse === this.coarse) return;
    this.coarse = coarse;
    if (tree !== this.tree) {
      this.tree = tree;
      this.top = -1;
      this.selected = -1;
      this.finest = FINEST;
    }
    this.n = n;
    this.deepest = deepest;
    this.widest = widest;
    if (this.top >= n) this.top = -1;
    this.shownTop = this.top;
    this.draw();
  }

  level() {
    return this.top < 0 ? 0 : this.tree.depth[this.top];
  }

  y(depth) {
    const from = this.level();
    const levels = Math.max(1, this.deepest - from);
    return MARGIN.top + ((depth - from) * (this.height - MARGIN.top - MARGIN.bottom)) / levels;
  }

  // Where the tree begins and how wide it is, in pixels: its share of the wider tree, in the middle. A branch that is
  // shown alone has all the room.
  span() {
    const room = this.width - MARGIN.left - MARGIN.right;
    const share = this.top < 0 ? this.tree.width(this.n) / this.widest : 1;
    const wide = Math.max(Math.min(room, NARROWEST), room * Math.min(1, share));
    return [MARGIN.left + (room - wide) / 2, wide];
  }

  // The lines of the picture, in pixels.
  arrange() {
    const { tree, n } = this;
    const [left, wide] = this.span();
    const from = this.level();
    const unit = (this.height - MARGIN.top - MARGIN.bottom) / Math.max(1, this.deepest - from);
    let used = 0;
    tree.lines(n, this.top, (this.finest * this.coarse) / wide, (node, x0, y0, x1, y1, kind, single) => {
      if (used === this.room) this.reserve(2 * this.room);
      this.node[used] = node;
      this.kind[used] = kind;
      this.single[used] = single ? 1 : 0;
      this.x0[used] = left + x0 * wide;
      this.y0[used] = MARGIN.top + (y0 - from) * unit;
      this.x1[used] = left + x1 * wide;
      this.y1[used] = MARGIN.top + (y1 - from) * unit;
      used++;
    });
    this.drawn = used;
    if (used > MOST_LINES) {
      this.finest *= 1.5;
      this.arrange();
    } else if (used < MOST_LINES / 3 && this.finest > FINEST) this.finest = Math.max(FINEST, this.finest / 1.5);
  }

  draw() {
    if (!this.width) return;
    const pen = this.context;
    pen.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    pen.fillStyle = this.surface;
    pen.fillRect(0, 0, this.width + 1, this.height + 1); // its pixels are whole ones, its size is not
    if (!this.tree || this.n <= 0) {
      this.empty(pen);
      return;
    }
    this.rules(pen);
    this.arrange();
    pen.lineCap = "round";
    pen.lineJoin = "round";
    const dense = this.drawn > 1500;
    for (let kind = 0; kind < KINDS.length; kind++) this.stroke(pen, kind, dense);
    this.dots(pen);
    this.mark(pen);
  }

  stroke(pen, kind, dense) {
    pen.strokeStyle = this.colour[kind];
    pen.lineWidth = kind <= 2 && dense ? 0.8 : WIDTHS[kind];
    pen.setLineDash(kind === 0 && !dense ? [4, 3] : []);
    let last = -1, some = 0;
    for (let i = 0; i < this.drawn; i++) {
      if (this.kind[i] !== kind) continue;
      if (!some) pen.beginPath();
      if (last < 0 || !some || this.x1[last] !== this.x0[i] || this.y1[last] !== this.y0[i]) {
        pen.moveTo(this.x0[i], this.y0[i]);
      }
      pen.lineTo(this.x1[i], this.y1[i]);
      last = i;
      if (++some === CHUNK) {
        pen.stroke();
        some = 0;
      }
    }
    if (some) pen.stroke();
    pen.setLineDash([]);
  }

  dots(pen) {
    const small = this.n <= DOTTED;
    const beads = this.y(this.level() + 1) - this.y(this.level()) >= BEADS;
    for (let i = 0; i < this.drawn; i++) {
      const onPath = this.kind[i] >= OPEN;
      if (!this.single[i] || !(small || (beads && onPath))) continue;
      pen.fillStyle = this.colour[this.kind[i]];
      circle(pen, this.x1[i], this.y1[i], onPath ? 3.4 : 2.4);
      pen.fill();
    }
    if (this.tree.solved(this.n)) {
      const at = this.place(this.tree.solution);
      if (!at) return;
      pen.fillStyle = this.surface;
      pen.strokeStyle = this.colour[PATH];
      pen.lineWidth = 2.5;
      circle(pen, at[0], at[1], 5);
      pen.fill();
      pen.stroke();
    }
  }

  mark(pen) {
    if (this.selected < 0 || this.selected >= this.n) return;
    const at = this.place(this.selected);
    if (!at) return;
    pen.strokeStyle = this.ring;
    pen.lineWidth = 2.5;
    circle(pen, at[0], at[1], 8);
    pen.stroke();
  }

  empty(pen) {
    pen.font = "13px system-ui, sans-serif";
    pen.textAlign = "center";
    pen.fillStyle = this.muted;
    const lines = this.width < 220 ? ["The search tree", "grows here."] : ["The search tree grows here."];
    lines.forEach((line, i) => pen.fillText(line, this.width / 2, this.height / 2 + 18 * (i - (lines.length - 1) / 2)));
  }

  rules(pen) {
    const from = this.level();
    pen.font = "11px system-ui, sans-serif";
    pen.textAlign = "right";
    pen.textBaseline = "middle";
    for (const depth of ticks(this.deepest - from)) {
      const y = Math.round(this.y(from + depth)) + 0.5;
      pen.strokeStyle = this.grid;
      pen.lineWidth = 1;
      pen.beginPath();
      pen.moveTo(MARGIN.left, y);
      pen.lineTo(this.width - MARGIN.right, y);
      pen.stroke();
      pen.fillStyle = this.muted;
      pen.fillText(String(from + depth), MARGIN.left - 8, y);
    }
  }

  // Where a node is drawn, or null outside the branch that is shown.
  place(node) {
    const { tree, n, top } = this;
    const from = Math.max(top, 0);
    const stop = top < 0 ? n : tree.stop(top, n);
    if (node < from || node >= stop) return null;
    const all = tree.leaves[n - 1] + 1;
    const first = tree.before(from, n) / all, wide = tree.before(stop, n) / all - first;
    const share = (tree.x(node, n) - first) / wide;
    const [left, pixels] = this.span();
    return [left + share * pixels, this.y(tree.depth[node])];
  }

  // The node nearest to a point, or -1. In a branch drawn as one line: the node of that depth below the point.
  at(x, y) {
    let best = -1, least = REACH * REACH;
    for (let i = 0; i < this.drawn; i++) {
      const far = (this.x1[i] - x) ** 2 + (this.y1[i] - y) ** 2;
      if (far <= least && (far < least || this.kind[i] >= SHALLOW)) {
        least = far;
        best = i;
      }
    }
    if (best < 0) {
      for (let i = 0; i < this.drawn; i++) {
        if (this.single[i]) continue;
        const far = (this.x1[i] - x) ** 2;
        if (far <= least && y >= this.y0[i] - 4 && y <= this.y1[i] + 4) {
          least = far;
          best = i;
        }
      }
    }
    return best < 0 ? -1 : this.node[best];
  }

  click(event) {
    if (!this.tree) return;
    const box = this.canvas.getBoundingClientRect();
    const node = this.at(event.clientX - box.left, event.clientY - box.top);
    if (node >= 0) this.pick(node);
  }

  select(node) {
    this.selected = node;
    this.draw();
  }

  key(event, enter, toggle) {
    if (!this.tree || !this.n || event.ctrlKey || event.metaKey || event.altKey) return;
    const { tree, n, selected } = this;
    if (event.key === " ") {
      event.preventDefault();
      toggle();
      return;
    }
    const to = selected < 0 ? this.start(event.key) : this.next(event.key);
    if (event.key === "Enter" && selected >= 0) enter(selected);
    else if (event.key === "Escape") enter(-1);
    else if (to === null) return;
    else if (to >= 0 && to < n && to < tree.size) this.pick(to);
    event.preventDefault();
  }

  start(key) {
    const { tree, n } = this;
    if (key === "End") return n - 1;
    return /^(Arrow|Home)/.test(key) ? (this.top < 0 ? tree.root(n) : this.top) : null;
  }

  // Where a key leads from the selected node; -1 if nowhere, null if the key has no meaning.
  next(key) {
    const { tree, n, selected } = this;
    if (key === "ArrowUp") return tree.parent[selected];
    if (key === "Home") return tree.root(n);
    if (key === "End") return n - 1;
    if (key === "ArrowDown") {
      const below = tree.children(selected, n);
      return below.find((one) => tree.open(one, n)) ?? below[0] ?? -1;
    }
    if (key !== "ArrowLeft" && key !== "ArrowRight") return null;
    const above = tree.parent[selected];
    const all = above < 0 ? tree.roots.filter((root) => root < n) : tree.children(above, n);
    return all[all.indexOf(selected) + (key === "ArrowLeft" ? -1 : 1)] ?? -1;
  }
}

function circle(pen, x, y, radius) {
  pen.beginPath();
  pen.arc(x, y, radius, 0, 2 * Math.PI);
}

// Four to eight whole numbers from 0.
export function ticks(most) {
  let step = 1;
  for (let i = 0; 7 * step < most; i++) step = [1, 2, 5][(i + 1) % 3] * 10 ** Math.floor((i + 1) / 3);
  const found = [];
  for (let at = 0; at <= most; at += step) found.push(at);
  return found;
}
