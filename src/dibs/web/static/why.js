// Why a puzzle has no solution: givens that contradict each other, shown on the board when they are asked for.

import { post } from "./api.js";
import { $, busy } from "./page.js";

export class Why {
  constructor(source) {
    this.source = source;
    this.cells = new Set(); // of givens that contradict each other
    $("why-not").addEventListener("click", () => this.explain());
  }

  offer(known) {
    $("why").hidden = !known;
    $("why-words").textContent = "There is no solution.";
    $("why-not").hidden = false;
    this.cells = new Set();
  }

  async explain() {
    const { source } = this;
    try {
      const { cells, words } = await busy($("why-not"), post("/api/why", source.problem));
      this.cells = new Set(cells);
      $("why-words").textContent = `${words[0].toUpperCase()}${words.slice(1)}.`;
      $("why-not").hidden = true;
      source.leave();
      source.show();
    } catch (error) {
      source.errors([error.message]);
    }
  }
}
