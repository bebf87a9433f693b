// One node of a tree, looked at closely: what is known there, and what each of its values cost.

import { Latest, post } from "./api.js";
import { $, count, counted, make, percent } from "./page.js";
import { DEEPER, EARLIER, OPEN, PATH } from "./tree.js";

const PAUSE = 90; // milliseconds: keys may go on to the next node

// A node in words, from the first n entries of its tree.
export function story(tree, entry, n) {
  if (entry === tree.solution) return `The solution, after ${counted(tree.depth[entry], "decision")}.`;
  const below = tree.stop(entry, n) - entry - 1;
  const kind = tree.kind(entry, n);
  const words = [`Node ${count(tree.node[entry] + 1)}, depth ${tree.depth[entry]}`];
  if (kind === PATH) words.push("on the solution path");
  else if (kind === OPEN) words.push("under way");
  else if (kind === EARLIER) words.push("of an earlier run");
  else words.push(kind === DEEPER ? "in a deep failing branch" : "in a failing branch");
  const inside = below - (kind === PATH ? 1 : 0);
  words.push(inside > 0 ? `${counted(inside, "node")} below it` : "no node below it");
  return `${words.join(", ")}.`;
}

export class NodeCard {
  constructor(card, source, { closed }) {
    this.card = card;
    this.source = source;
    this.looking = new Latest();
    card.querySelector("[data-close]").addEventListener("click", () => {
      const { panel } = this;
      source.leave();
      closed();
      panel?.canvas.focus();
    });
  }

  // Shows a node soon, unless another one is chosen before.
  choose(panel, entry) {
    clearTimeout(this.soon);
    this.soon = setTimeout(() => this.visit(panel, entry), PAUSE);
  }

  async visit(panel, entry) {
    const { run } = panel;
    this.panel = panel;
    if (entry === run.tree.solution) {
      this.close();
      const title = `The solution, found by ${run.name}`;
      this.source.visit({ ...this.source.solved(run.end.solution), branch: -1, title });
      return;
    }
    const node = run.tree.node[entry];
    panel.root.setAttribute("aria-busy", "true");
    try {
      const found = await post("/api/node", { ...run.request, node }, this.looking.signal());
      this.source.visit({ ...found, branch: found.domain, title: `Node ${count(node + 1)} of ${run.name}` });
      this.open(node, found);
    } catch (error) {
      if (error.name !== "AbortError") panel.chosen.textContent += ` ${error.message}`;
    } finally {
      panel.root.removeAttribute("aria-busy");
    }
  }

  open(node, found) {
    const { card } = this;
    card.hidden = false;
    card.querySelector(".name").textContent = `Node ${count(node + 1)}: ${found.where}`;
    card.querySelector(".words").textContent = found.words ?? "";
    const number = (value) => (value === null || value === undefined ? "–" : value.toFixed(3));
    const rows = found.tried.map((one) => {
      const chance = one.probability === null || one.probability === undefined ? "–" : percent(one.probability);
      const cells = [one.symbol, chance, number(one.score), one.nodes === null ? "–" : count(one.nodes)];
      const style = one.result === "failed" ? "failed" : one.result === "solution" ? "solution" : "";
      return make("tr", {}, [...cells.map((cell) => make("td", {}, cell)), make("td", { class: style }, one.result)]);
    });
    card.querySelector("tbody").replaceChildren(...rows);
  }

  close() {
    clearTimeout(this.soon);
    this.looking.stop();
    this.card.hidden = true;
  }
}

export const nodeCard = (family) => $(family === "sudoku" ? "node" : "cnf-node");
