// A search tree as typed arrays, in the order the nodes were entered (depth first, so that a subtree is a range).
//
// The first n entries of a tree are a tree as well: what the search had seen by then. All that a picture needs of such a
// beginning follows from the arrays in constant time, so that playing, stepping back and jumping need no new layout.
//
// An entry is a node, but for two cases. The solution is an entry at the end, though no node. And where two searches take
// turns (policy auto), the one that goes on has its open nodes entered again, as copies, so that it stays depth first.

export const DEEP = 3; // levels of a failing branch from which on it is called deep

// Kinds of lines, in the order drawn: later ones lie above.
export const EARLIER = 0, SHALLOW = 1, DEEPER = 2, OPEN = 3, PATH = 4;
export const KINDS = ["earlier", "shallow", "deep", "open", "path"];
export const KIND_WORDS = [
  "earlier run",
  "failing, shorter",
  `failing, ${DEEP} levels or more`,
  "under way",
  "solution path",
];

const FOREVER = 0x7fffffff;

export class Tree {
  constructor() {
    this.size = 0; // entries
    this.nodes = 0; // as the search counts them
    this.solution = -1; // entry of the solution
    this.closed = false; // the whole tree failed (UNSAT)
    this.most = 0; // depth of the deepest node
    this.roots = []; // more than one if the search began again
    this.stack = []; // the nodes that a next one may lie below
    this.room = 0;
    this.grow(1024);
  }

  grow(room) {
    const wider = (old, Kind) => {
      const fresh = new Kind(room);
      if (old) fresh.set(old);
      return fresh;
    };
    this.parent = wider(this.parent, Int32Array); // -1 for a root
    this.depth = wider(this.depth, Int32Array);
    this.end = wider(this.end, Int32Array); // the nodes below i are i + 1 .. end - 1
    this.deepest = wider(this.deepest, Int32Array); // depth of the deepest node below, once i is closed
    this.leaves = wider(this.leaves, Int32Array); // leaves before i
    this.domain = wider(this.domain, Int32Array);
    this.value = wider(this.value, Int32Array); // on the branch that leads to i
    this.asks = wider(this.asks, Int32Array); // model asked at so many of the entries 0 .. i
    this.node = wider(this.node, Int32Array); // number of the node, as the server has it; -1 for the solution
    this.copy = wider(this.copy, Uint8Array);
    this.entry = wider(this.entry, Int32Array); // of each node: the entry that it has, or the first of them
    this.latest = wider(this.latest, Int32Array); // of each node: the last of its entries
    this.room = room;
  }

  // Takes the nodes of one message of the server.
  add(batch) {
    for (let k = 0; k < batch.parent.length; k++) {
      const node = this.nodes;
      const above = this.opened(batch.parent[k]);
      if (this.size === this.room) this.grow(2 * this.room);
      this.entry[node] = this.size;
      this.nodes = node + 1;
      this.push(node, above, batch.depth[k], batch.domain[k], batch.value[k], batch.asked?.[k] ?? 0);
    }
  }

  // The open entry of a node; it is entered again if another search had its turn since.
  opened(node) {
    if (node < 0) return -1;
    const i = this.latest[node];
    if (this.end[i] === FOREVER) return i;
    const above = this.parent[i] < 0 ? -1 : this.opened(this.node[this.parent[i]]);
    const at = this.size;
    this.push(node, above, this.depth[i], this.domain[i], this.value[i], 0);
    this.copy[at] = 1;
    return at;
  }

  push(node, parent, depth, domain, value, asked) {
    const i = this.size;
    if (i === this.room) this.grow(2 * this.room);
    this.node[i] = node;
    if (node >= 0) this.latest[node] = i;
    while (this.stack.length && this.stack[this.stack.length - 1] !== parent) this.shut(i);
    this.parent[i] = parent;
    this.depth[i] = depth;
    this.end[i] = FOREVER;
    this.deepest[i] = depth;
    this.leaves[i] = i === 0 ? 0 : this.leaves[i - 1] + (parent === i - 1 ? 0 : 1);
    this.domain[i] = domain;
    this.value[i] = value;
    this.asks[i] = (i ? this.asks[i - 1] : 0) + (asked ? 1 : 0);
    if (parent < 0) this.roots.push(i);
    if (depth > this.most) this.most = depth;
    this.stack.push(i);
    this.size = i + 1;
  }

  shut(i) {
    const top = this.stack.pop();
    this.end[top] = i;
    const above = this.parent[top];
    if (above >= 0 && this.deepest[above] < this.deepest[top]) this.deepest[above] = this.deepest[top];
  }

  // The search is over. `path` are its nodes from the root to the solution.
  finish(status, path) {
    if (status === "SAT") {
      const last = this.opened(path.length ? path[path.length - 1] : -1);
      const at = this.size;
      this.push(-1, last, last < 0 ? 0 : this.depth[last] + 1, -1, -1, 0);
      this.solution = at;
    } else if (status === "UNSAT") {
      this.closed = true;
      while (this.stack.length) this.shut(this.size);
    }
  }

  // Entries that belong to the first `count` nodes; all of them, with the solution, if there are no more.
  entries(count) {
    if (count >= this.nodes) return this.size;
    return count <= 0 ? 0 : this.entry[count - 1] + 1;
  }

  root(n) {
    let found = 0;
    for (const root of this.roots) if (root < n) found = root;
    return found;
  }

  stop(i, n) {
    return Math.min(this.end[i], n);
  }

  // Leaves among the nodes before k, of the first n.
  before(k, n) {
    return k < n ? this.leaves[k] : this.leaves[n - 1] + 1;
  }

  // Leaves of the first n entries: how wide the tree is.
  width(n) {
    return n > 0 ? this.leaves[n - 1] + 1 : 0;
  }

  // Whether node i has neither failed nor been solved after n nodes.
  open(i, n) {
    return this.end[i] >= n && !(this.closed && n >= this.size);
  }

  solved(n) {
    return this.solution >= 0 && n >= this.size;
  }

  // The kind of the line to node i: a failing branch has one kind, from the node where it leaves the open path.
  kind(i, n) {
    if (this.open(i, n)) return this.solved(n) ? PATH : OPEN;
    if (i < this.root(n)) return EARLIER;
    let top = i;
    while (this.parent[top] >= 0 && !this.open(this.parent[top], n)) top = this.parent[top];
    return this.deepest[top] - this.depth[top] + 1 >= DEEP ? DEEPER : SHALLOW;
  }

  // Place of node i within the whole width, 0..1, of the first n nodes.
  x(i, n) {
    return (this.before(i, n) + this.before(this.stop(i, n), n)) / (2 * (this.leaves[n - 1] + 1));
  }

  children(i, n) {
    const found = [];
    for (let k = i + 1; k < this.stop(i, n); k = this.stop(k, n)) found.push(k);
    return found;
  }

  // Nodes at each depth, of the first n.
  byDepth(n) {
    const counts = new Array(this.most + 1).fill(0);
    for (let i = 0; i < n; i++) if (this.node[i] >= 0 && !this.copy[i]) counts[this.depth[i]]++;
    while (counts.length && counts[counts.length - 1] === 0) counts.pop();
    return counts;
  }

  // Hands every line of the picture of the first n entries below `top` to `draw(node, x0, y0, x1, y1, kind, whole)`:
  // x within 0..1 of the part shown, y in depths, `whole` false where a branch narrower than `finest` is one line.
  // At most one such line for each step of `finest`: those that would cover each other are left out.
  // Returns how many nodes have a line of their own.
  lines(n, top, finest, draw) {
    if (n <= 0) return 0;
    const { parent, depth, end, deepest, leaves } = this;
    const all = leaves[n - 1] + 1;
    const whole = top < 0;
    const from = whole ? 0 : top;
    const stop = whole ? n : this.stop(top, n);
    const first = leaves[from];
    const wide = (stop < n ? leaves[stop] : all) - first;
    const closed = this.closed && n >= this.size;
    const solved = this.solved(n);
    const current = this.root(n);
    const columns = new Int32Array(this.most + 2).fill(-1); // where the last such line of each depth went
    const lows = new Int32Array(this.most + 2);
    let kind = top < 0 ? SHALLOW : this.kind(top, n);
    let own = 0;
    let i = from;
    while (i < stop) {
      const e = end[i] < n ? end[i] : n;
      const isOpen = end[i] >= n && !closed;
      const above = parent[i];
      if (isOpen) kind = solved ? PATH : OPEN;
      else if (i < current) kind = EARLIER;
      else if (above < 0 || (end[above] >= n && !closed)) {
        kind = deepest[i] - depth[i] + 1 >= DEEP ? DEEPER : SHALLOW;
      }
      const right = e < n ? leaves[e] : all;
      const x = (leaves[i] + right - 2 * first) / (2 * wide);
      const narrow = !isOpen && (right - leaves[i]) / wide < finest;
      const merged = narrow && e > i + 1;
      const low = merged ? deepest[i] : depth[i];
      let seen = true;
      if (narrow) {
        const column = Math.floor(x / finest);
        const d = depth[i];
        seen = columns[d] !== column || lows[d] < low;
        if (seen) {
          columns[d] = column;
          lows[d] = low;
        }
      }
      if (seen) {
        let x0 = x, y0 = depth[i];
        if (above >= 0 && i !== from) {
          const far = end[above] < n ? leaves[end[above]] : all;
          x0 = (leaves[above] + far - 2 * first) / (2 * wide);
          y0 = depth[above];
        }
        draw(i, x0, y0, x, low, kind, !merged);
        own++;
      }
      i = merged ? e : i + 1;
    }
    return own;
  }
}
