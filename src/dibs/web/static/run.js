// One search of a race: what has arrived of it, and the settings that it was started with.

import { Tree } from "./tree.js";

export class Run {
  constructor(request, name) {
    this.request = request; // as the server wants it: the problem, its limits and the search
    this.name = name;
    this.tree = new Tree();
    this.marks = [{ nodes: 0, backtracks: 0, calls: 0, seconds: 0 }]; // what the counters were, by nodes
    this.end = null;
    this.error = "";
    this.waiting = ""; // why it has not begun
  }

  get over() {
    return Boolean(this.end || this.error);
  }

  take(event, data) {
    if (event === "nodes") this.tree.add(data);
    else if (event === "counters") this.mark(data);
    else if (event === "end") {
      this.mark(data);
      this.end = data;
      this.tree.finish(data.status, data.path ?? []);
    } else if (event === "wait") this.waiting = data.words;
    else if (event === "start") this.waiting = "";
    else if (event === "error") this.error = data.error ?? "The search failed.";
  }

  mark({ nodes, backtracks, asks, calls = asks, seconds, guide_seconds = 0 }) {
    this.marks.push({ nodes, backtracks, calls, seconds: seconds + guide_seconds });
  }

  // All seconds of search and guide, once it is over.
  get seconds() {
    return this.marks[this.marks.length - 1].seconds;
  }

  // The counters when `nodes` nodes had been entered. Between two reports of the server they are estimates.
  at(nodes) {
    const last = this.marks[this.marks.length - 1];
    if (this.end && nodes >= this.tree.nodes) return { ...last, nodes: this.end.nodes, exact: true };
    let low = 0, high = this.marks.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.marks[middle].nodes <= nodes) low = middle;
      else high = middle - 1;
    }
    const one = this.marks[low], next = this.marks[low + 1] ?? one;
    const share = next.nodes > one.nodes ? (nodes - one.nodes) / (next.nodes - one.nodes) : 0;
    const between = (name) => one[name] + share * (next[name] - one[name]);
    const n = this.tree.entries(nodes);
    const calls = n ? this.tree.asks[n - 1] : 0;
    return { nodes, backtracks: between("backtracks"), calls, seconds: between("seconds"), exact: share === 0 };
  }

  // The decisions that the search stands in after `nodes` nodes: the value of each domain, by domain.
  decisions(nodes) {
    const { tree } = this;
    const found = new Map();
    for (let i = tree.entries(nodes) - 1; i > 0 && tree.parent[i] >= 0; i = tree.parent[i]) {
      if (tree.value[i] >= 0) found.set(tree.domain[tree.parent[i]], tree.value[i] + 1);
    }
    return found;
  }
}
