// The picture of "You choose": a failing subtree that pours down, or a few beads that drop to the solution.
//
// A failing subtree is given as entries in the order they were entered: `depth`, the `nodes` in them, the depth of the
// `deepest`. Small branches are one entry each. What was drawn stays: each frame only adds what is new.

const MARGIN = 14;
const STEM = 0.06; // of all nodes
const FAR = 0.15; // of the width: a small branch so far from its parent is left out, as its line would seem a large one

export class Avalanche {
  constructor(canvas) {
    this.canvas = canvas;
    this.pen = canvas.getContext("2d");
    this.tree = null;
    this.beads = 0;
    this.nodes = 0;
    new ResizeObserver(() => this.resize()).observe(canvas);
    this.colours();
  }

  colours() {
    const style = getComputedStyle(this.canvas);
    const colour = (name) => style.getPropertyValue(`--${name}`).trim();
    Object.assign(this, { red: colour("deep"), blue: colour("path"), surface: colour("surface") });
    Object.assign(this, { text: colour("text"), muted: colour("muted"), mark: colour("mark") });
    this.again();
  }

  resize() {
    const { width, height } = this.canvas.getBoundingClientRect();
    if (!width || !height) return;
    const ratio = window.devicePixelRatio || 1;
    Object.assign(this, { width, height });
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.again();
  }

  // Before anything is chosen: the cell, and a branch for each of its two values.
  ask(words) {
    this.words = words;
    this.again();
  }

  fork() {
    const { pen, width, height } = this;
    const [x, y] = [width / 2, MARGIN + 18];
    pen.lineWidth = 2;
    pen.font = `650 ${Math.min(26, height / 9)}px system-ui, sans-serif`;
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    this.words.forEach((word, i) => {
      const to = x + (i ? 1 : -1) * Math.min(90, width / 4), low = y + Math.min(110, height / 3);
      pen.strokeStyle = this.muted;
      pen.setLineDash([5, 6]);
      pen.beginPath();
      pen.moveTo(x, y);
      pen.lineTo(to, low);
      pen.stroke();
      pen.setLineDash([]);
      pen.fillStyle = this.text;
      pen.fillText(word, to, low + 22);
      pen.fillStyle = this.muted;
      pen.fillText("?", to, low + 60);
    });
    pen.fillStyle = this.mark;
    this.bead([x, y], 6);
  }

  // tree: the failing subtree, or null for a line of so many beads.
  begin(tree, beads) {
    Object.assign(this, { tree, beads, nodes: 0 });
    if (tree) this.lay(tree);
    this.again();
  }

  // Where every entry is: x by the nodes before it, y by depth; parents from depths, since entries come depth first.
  lay({ depth, nodes, deepest }) {
    const all = nodes.reduce((sum, some) => sum + some, 0);
    this.most = Math.max(...deepest);
    this.first = new Float64Array(depth.length);
    const end = new Float64Array(depth.length), above = new Int32Array(depth.length);
    const open = [];
    let at = 0;
    depth.forEach((level, i) => {
      while (open.length && depth[open[open.length - 1]] >= level) end[open.pop()] = at;
      above[i] = open.length ? open[open.length - 1] : -1;
      this.first[i] = at;
      at += nodes[i];
      open.push(i);
    });
    while (open.length) end[open.pop()] = at;
    this.x = this.first.map((begin, i) => (begin + end[i]) / 2 / all);
    this.share = this.first.map((begin, i) => (end[i] - begin) / all);
    this.above = above;
  }

  again() {
    if (!this.width) return;
    this.pen.clearRect(0, 0, this.width, this.height);
    this.drawn = 0;
    this.show(this.nodes);
  }

  // Everything up to so many nodes.
  show(nodes) {
    this.nodes = nodes;
    if (!this.width) return;
    if (this.tree) this.fall(nodes);
    else if (this.beads) this.drop(nodes);
    else if (this.words) this.fork();
  }

  fall(nodes) {
    const { pen, tree, above, first, x } = this;
    const wide = this.width - 2 * MARGIN, unit = (this.height - 2 * MARGIN) / Math.max(1, this.most);
    const px = (i) => MARGIN + x[i] * wide, py = (depth) => MARGIN + depth * unit;
    pen.strokeStyle = this.red;
    pen.lineCap = "round";
    while (this.drawn < x.length && first[this.drawn] < nodes) {
      const i = this.drawn++;
      const up = above[i] < 0 ? i : above[i];
      const stem = this.share[i] > STEM; // a large branch: a thick line
      if (!stem && Math.abs(x[up] - x[i]) > FAR) continue;
      const heavy = Math.min(1, Math.log10(1 + tree.nodes[i]) / 4);
      pen.globalAlpha = stem ? 0.95 : 0.3 + 0.3 * heavy;
      pen.lineWidth = stem ? 1.8 : 0.9;
      pen.beginPath();
      pen.moveTo(px(up), py(tree.depth[up]));
      pen.lineTo(px(i), py(tree.depth[i]));
      if (tree.deepest[i] > tree.depth[i] && tree.nodes[i] > 1) pen.lineTo(px(i), py(tree.deepest[i]));
      pen.stroke();
    }
    pen.globalAlpha = 1;
  }

  drop(nodes) {
    const { pen } = this;
    const unit = (this.height - 2 * MARGIN) / this.beads;
    const at = (i) => [this.width / 2 + Math.sin(i * 1.9) * Math.min(18, unit), MARGIN + i * unit];
    pen.clearRect(0, 0, this.width, this.height);
    pen.strokeStyle = pen.fillStyle = this.blue;
    pen.lineWidth = 2.5;
    pen.beginPath();
    for (let i = 0; i < nodes; i++) pen.lineTo(...at(i));
    if (nodes === this.beads) pen.lineTo(...at(nodes));
    pen.stroke();
    for (let i = 0; i < nodes; i++) this.bead(at(i), Math.min(5.5, unit / 3));
    if (nodes < this.beads) return;
    pen.lineWidth = 3;
    pen.fillStyle = this.surface;
    this.bead(at(nodes), 8);
    pen.stroke();
  }

  bead([x, y], size) {
    this.pen.beginPath();
    this.pen.arc(x, y, size, 0, 2 * Math.PI);
    this.pen.fill();
  }
}
