// "You choose": a search that was done before, played when one of two values is pressed. It needs its file only, which
// `make replay` writes; every figure in it is that command's.

import { Avalanche } from "./avalanche.js";
import { Board } from "./board.js";
import { $, calm, count, counted, make } from "./page.js";

const SYMBOLS = "123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const POUR = 7; // seconds of the avalanche
const DROP = 2.6; // seconds of the beads

export class Choose {
  constructor(replay) {
    this.replay = replay;
    this.frame = 0;
    const { size, box, givens, cell, values } = replay;
    this.given = [...givens].map((symbol) => SYMBOLS.indexOf(symbol) + 1);
    this.solution = [...replay.solution].map((symbol) => SYMBOLS.indexOf(symbol) + 1);
    this.board = new Board($("puzzle"));
    this.board.shape(size, box, [...SYMBOLS.slice(0, size)]);
    $("puzzle").setAttribute("aria-label", `A Sudoku of ${size} rows with ${this.given.filter(Boolean).length} givens`);
    this.pour = new Avalanche($("avalanche"));
    const name = `row ${Math.floor(cell / size) + 1}, column ${(cell % size) + 1}`;
    $("question").append(` It is the one with the ring, ${name}.`);
    this.buttons = values.map((value) => {
      const text = SYMBOLS[value - 1];
      const about = { class: "answer", "aria-label": `${text} at ${name}` };
      return make("button", about, text, { click: () => this.take(value) });
    });
    $("answers").replaceChildren(...this.buttons, make("span", { class: "hint" }, "Which one?"));
    this.show(0, 0);
    this.pour.ask(values.map((value) => SYMBOLS[value - 1]));
  }

  // The board with the value that was taken, and what was known after some steps on the way to the solution.
  show(taken, steps) {
    if (taken === this.taken && steps === this.known) return; // a frame that changes nothing
    Object.assign(this, { taken, known: steps });
    const { cell, right, steps: at } = this.replay;
    const values = this.given.map((value, i) => value || (at[i] < steps ? this.solution[i] : 0));
    if (taken) values[cell] = taken;
    this.board.show({ values, given: this.given, candidates: [], branch: cell });
    const marked = this.board.cells[cell].classList;
    marked.toggle("right-one", taken === right);
    marked.toggle("wrong-one", Boolean(taken) && taken !== right);
  }

  take(value) {
    const { right, wrong, path, values } = this.replay;
    const good = value === right;
    cancelAnimationFrame(this.frame);
    this.buttons.forEach((button, i) => {
      button.setAttribute("aria-pressed", String(values[i] === value));
      button.classList.toggle("good", values[i] === value && good);
      button.classList.toggle("bad", values[i] === value && !good);
    });
    $("answers").classList.add("taken");
    $("outcome").hidden = false;
    $("outcome").className = `outcome ${good ? "good" : "bad"}`;
    $("told").textContent = "";
    $("honest").hidden = true;
    this.pour.begin(good ? null : wrong.tree, good ? path : 0);
    this.good = good;
    this.value = value;
    const begun = performance.now();
    const all = good ? DROP : POUR;
    const tick = (now) => {
      const share = calm() ? 1 : Math.min(1, (now - begun) / 1000 / all);
      this.at(share);
      if (share < 1) this.frame = requestAnimationFrame(tick);
      else this.finish();
    };
    this.frame = requestAnimationFrame(tick);
  }

  // The picture at a share of its time: nodes come one by one at first, then ever faster.
  at(share) {
    const { wrong, path } = this.replay;
    const nodes = this.good ? Math.round(share * path) : Math.round(Math.expm1(share * Math.log1p(wrong.nodes)));
    $("counter").textContent = count(nodes);
    $("counter-of").textContent = this.good ? (nodes === 1 ? "node" : "nodes") : "nodes wasted";
    this.pour.show(nodes);
    this.show(this.value, this.good ? nodes + (share === 1 ? 1 : 0) : 0);
  }

  finish() {
    const { wrong, path, right, belief, values, stronger, nodes } = this.replay;
    const [good, bad] = [right, values.find((value) => value !== right)].map((value) => SYMBOLS[value - 1]);
    const percent = (value) => `${Math.round(100 * belief[values.indexOf(value)])} %`;
    $("told").replaceChildren(
      ...(this.good
        ? [make("b", {}, "Right."), ` ${counted(path, "node")} down to the solution: the network led the way.`]
        : [make("b", {}, "Wrong."), ` All ${count(wrong.nodes)} nodes below it fail, in whatever order they are tried.`]),
      make("br"),
      `The network had said ${good}, at ${percent(right)}.`,
    );
    $("honest").textContent = [
      `With the network, the whole search has ${counted(nodes, "node")}.`,
      `Without it, a search that tries the smaller value first spends ${count(wrong.nodes)} before it looks at ${good}.`,
      `To be fair: plain search that eliminates more (hidden singles) needs ${counted(stronger, "node")}.`,
      `Press ${this.good ? bad : good} to see the other side.`,
    ].join(" ");
    $("honest").hidden = false;
    const words = this.good ? `${path} nodes in a line down to the solution` : `${count(wrong.nodes)} nodes, all failing`;
    $("avalanche").setAttribute("aria-label", `The search tree: ${words}`);
  }

  colours() {
    this.pour.colours();
  }
}

// The replay's file; the rest of the page does not wait for it.
export async function choose() {
  const answer = await fetch("/static/replay.json");
  return new Choose(await answer.json());
}
