// What the page shows of one search of a race: its name, its counters and its tree.

import { TreeCanvas } from "./canvas.js";
import { $, count, counted, say, seconds } from "./page.js";

export const ENDS = { SAT: "solved", UNSAT: "no solution", LIMIT: "stopped at the limit" };

export class Panel {
  constructor(race, which) {
    this.race = race;
    this.which = which;
    const root = $("panel-template").content.firstElementChild.cloneNode(true);
    root.classList.toggle("second", which === 1);
    this.root = root;
    const find = (selector) => root.querySelector(selector);
    Object.assign(this, { title: find("h4"), state: find(".state"), what: find(".what"), chosen: find(".chosen") });
    Object.assign(this, { merged: find(".merged"), whole: find(".whole"), jump: find(".jump"), canvas: find("canvas") });
    this.numbers = {};
    for (const one of root.querySelectorAll("[data-n]")) this.numbers[one.dataset.n] = one;
    race.ui.trees.append(root);
    this.view = new TreeCanvas(this.canvas, {
      pick: (entry) => race.pick(this, entry),
      enter: (entry) => this.zoom(entry),
      toggle: () => race.toggle(),
    });
    this.whole.addEventListener("click", () => this.zoom(-1));
    this.jump.addEventListener("click", () => race.source.focus());
    this.run = null;
  }

  reset() {
    this.run = null;
    this.view.show(null, 0, 1, 1);
    this.state.className = "state";
    this.status = undefined;
    this.state.textContent = "not started";
    for (const number of Object.values(this.numbers)) number.textContent = "–";
    this.merged.textContent = this.chosen.textContent = "";
    this.whole.hidden = this.jump.hidden = true;
  }

  zoom(entry) {
    const { view, run } = this;
    if (!run || (entry >= 0 && run.tree.stop(entry, view.n) - entry < 2)) return;
    view.top = entry;
    view.finest = 1;
    this.whole.hidden = entry < 0;
    this.race.dirty = true;
    this.race.wake();
    if (entry < 0) this.canvas.focus();
    else say(`Only the branch of node ${count(run.tree.node[entry] + 1)} is shown`);
  }

  text(element, words) {
    if (element.textContent !== words) element.textContent = words;
  }

  // `deepest` and `widest` are those of both trees: they are drawn on one scale.
  show(nodes, deepest, widest, numbers) {
    const { run, view } = this;
    if (!run) return;
    const { tree } = run;
    const n = tree.entries(nodes);
    view.show(n ? tree : null, n, deepest, widest, this.race.coarse);
    if (!numbers) return;
    this.whole.hidden = view.top < 0;
    const at = run.at(Math.min(nodes, tree.nodes));
    this.text(this.numbers.nodes, count(at.nodes));
    this.text(this.numbers.backtracks, (at.exact ? "" : "≈ ") + count(at.backtracks));
    this.text(this.numbers.calls, count(at.calls));
    this.text(this.numbers.seconds, (at.exact ? "" : "≈ ") + seconds(at.seconds));
    for (const name of ["backtracks", "seconds"]) this.numbers[name].classList.toggle("about", !at.exact);
    const done = run.over && nodes >= tree.nodes;
    const status = run.error ? "error" : done ? run.end.status : "";
    const under = run.waiting ? "preparing" : run.over ? "playing" : "searching";
    this.text(this.state, run.error ? "failed" : done ? ENDS[run.end.status] : under);
    if (this.status !== status) {
      this.status = status;
      this.state.className = `state ${status}`;
    }
    this.text(this.merged, this.aggregated(n));
  }

  aggregated(n) {
    const { view, run } = this;
    if (n === 0) return run.waiting || (run.over ? "" : "Nothing to draw yet.");
    if (n === 1 && run.tree.solution === 0) return "Elimination alone solves it: there is nothing to choose.";
    const shown = view.top < 0 ? n : run.tree.stop(view.top, n) - view.top;
    const nodes = shown - (run.tree.solved(n) && (view.top < 0 || run.tree.open(view.top, n)) ? 1 : 0);
    if (shown <= view.drawn) return `${counted(nodes, "node")}, each drawn.`;
    return `Aggregated: ${count(nodes)} nodes drawn as ${count(view.drawn)} lines.`;
  }
}
