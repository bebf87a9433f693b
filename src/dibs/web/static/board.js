// The board: a grid of cells with values, pencil marks and a heat map. It shows what it is told and reports what the
// user types; the puzzle itself is kept by sudoku.js.

import { cellName, make, percent } from "./page.js";

export class Board {
  // Without `enter` it is a picture, which nobody types into.
  constructor(root, { enter, refuse, escape, look } = {}) {
    this.root = root;
    this.enter = enter; // (cell, value) the user typed; 0 empties
    this.refuse = refuse; // (cell, key) that is no value
    this.escape = escape;
    this.look = look; // (cell, value or 0) that the pointer or the focus is at
    this.size = 0;
    this.active = 0;
    this.heat = null;
    this.still = !enter;
    if (this.still) return;
    root.addEventListener("keydown", (event) => this.key(event));
    root.addEventListener("focusin", (event) => this.focused(event));
    root.addEventListener("pointerdown", (event) => this.press(event));
    root.addEventListener("pointermove", (event) => this.over(event));
    root.addEventListener("pointerleave", () => this.look(this.active, 0));
  }

  // Makes the cells anew: size n, boxes of rows x columns, the symbols of 1..n.
  shape(size, [rows, columns], symbols) {
    if (size === this.size && rows === this.rows && columns === this.columns) return;
    Object.assign(this, { size, rows, columns, symbols, active: 0, heat: null });
    this.root.style.setProperty("--size", size);
    this.root.style.setProperty("--across", columns);
    this.root.classList.toggle("large", size > 9);
    if (!this.still) {
      this.root.setAttribute("aria-rowcount", size);
      this.root.setAttribute("aria-colcount", size);
    }
    this.cells = [];
    const lines = [];
    for (let r = 0; r < size; r++) {
      const row = make("div", this.still ? { class: "line" } : { role: "row", class: "line", "aria-rowindex": r + 1 });
      for (let c = 0; c < size; c++) {
        const kind = this.still ? {} : { role: "gridcell", tabindex: -1, "aria-colindex": c + 1 };
        const cell = make("div", { class: "cell", ...kind });
        cell.dataset.cell = r * size + c;
        cell.classList.toggle("right", (c + 1) % columns === 0 && c + 1 < size);
        cell.classList.toggle("low", (r + 1) % rows === 0 && r + 1 < size);
        cell.classList.toggle("last-column", c + 1 === size);
        cell.classList.toggle("last-row", r + 1 === size);
        this.cells.push(cell);
        row.append(cell);
      }
      lines.push(row);
    }
    this.root.replaceChildren(...lines);
    if (this.still) return;
    this.cells[0].tabIndex = 0;
    this.cells[0].classList.add("active");
  }

  // values: 0 for an empty cell; given: what the puzzle has; candidates: lists of values; conflicts: words by cell;
  // branch: the cell that a node branches on, or -1; heat: [cells][size] probabilities or null; truth: the only
  // solution, or null; culprits: cells whose givens contradict each other.
  show({ values, given = values, candidates = [], ...marks }) {
    const { conflicts = new Map(), branch = -1, heat = null, truth = null, culprits = new Set() } = marks;
    Object.assign(this, { values, given, candidates, conflicts, branch, heat, truth, culprits });
    this.cells.forEach((cell, i) => this.paint(cell, i));
  }

  paint(cell, i) {
    const value = this.values[i];
    const chances = !value && this.heat ? this.heat[i] : null;
    cell.classList.toggle("conflict", this.conflicts.has(i));
    cell.classList.toggle("branch", this.branch === i);
    cell.classList.toggle("warm", Boolean(chances));
    cell.classList.toggle("mistaken", this.mistaken(i));
    cell.classList.toggle("culprit", this.culprits.has(i));
    if (!this.still) cell.setAttribute("aria-label", this.label(i));
    if (this.conflicts.has(i)) cell.setAttribute("aria-invalid", "true");
    else cell.removeAttribute("aria-invalid");
    cell.title = this.conflicts.get(i) ?? "";
    if (chances) cell.style.setProperty("--sure", Math.max(...chances).toFixed(3));
    if (value) {
      const found = this.given[i] ? "value" : "value found", symbol = this.symbols[value - 1];
      const there = cell.firstElementChild;
      if (there?.className !== found || there.textContent !== symbol) cell.replaceChildren(make("span", { class: found }, symbol));
      return;
    }
    if (this.still) {
      cell.replaceChildren();
      return;
    }
    let marks = cell.firstElementChild;
    if (!marks || !marks.classList.contains("marks")) {
      marks = make("div", { class: "marks", "aria-hidden": "true" }, this.symbols.map(() => make("span")));
      cell.replaceChildren(marks);
    }
    const open = new Set(this.candidates[i] ?? []);
    const most = chances ? Math.max(...chances) : 2;
    this.symbols.forEach((symbol, k) => {
      const mark = marks.children[k];
      const words = open.has(k + 1) ? symbol : "";
      if (mark.textContent !== words) mark.textContent = words;
      mark.dataset.value = k + 1;
      if (!chances) return;
      mark.style.setProperty("--p", chances[k].toFixed(3));
      mark.classList.toggle("best", chances[k] === most);
    });
  }

  // Whether the guide's best value for an open cell is not the solution's.
  mistaken(i) {
    const chances = this.values[i] ? null : this.heat?.[i];
    return Boolean(this.truth && chances && chances.indexOf(Math.max(...chances)) + 1 !== this.truth[i]);
  }

  label(i) {
    const value = this.values[i];
    const words = [`row ${Math.floor(i / this.size) + 1} column ${(i % this.size) + 1}`];
    if (value) words.push(this.symbols[value - 1], this.given[i] ? "given" : "follows");
    else {
      words.push("empty");
      const open = this.candidates[i] ?? [];
      if (open.length) words.push(`candidates ${open.map((one) => this.symbols[one - 1]).join(" ")}`);
      if (this.heat?.[i]) {
        const best = this.heat[i].indexOf(Math.max(...this.heat[i]));
        words.push(`the guide says ${this.symbols[best]}, ${percent(this.heat[i][best])}`);
        if (this.mistaken(i)) words.push(`which is wrong: it is ${this.symbols[this.truth[i] - 1]}`);
      }
    }
    if (this.branch === i) words.push("the node branches here");
    if (this.culprits.has(i)) words.push("part of the contradiction");
    if (this.conflicts.has(i)) words.push(`error: ${this.conflicts.get(i)}`);
    return words.join(", ");
  }

  // What the guide says about a cell, best value first: [{symbol, chance}].
  beliefs(i) {
    if (!this.heat?.[i] || this.values[i]) return null;
    return this.heat[i]
      .map((chance, k) => ({ symbol: this.symbols[k], chance }))
      .sort((one, other) => other.chance - one.chance);
  }

  name(i) {
    return cellName(i, this.size);
  }

  activate(i, focus) {
    this.cells[this.active].tabIndex = -1;
    this.cells[this.active].classList.remove("active");
    this.active = i;
    this.cells[i].tabIndex = 0;
    this.cells[i].classList.add("active");
    const [row, column] = [Math.floor(i / this.size), i % this.size];
    const box = (r, c) => Math.floor(r / this.rows) * this.size + Math.floor(c / this.columns);
    this.cells.forEach((cell, k) => {
      const [r, c] = [Math.floor(k / this.size), k % this.size];
      cell.classList.toggle("near", k !== i && (r === row || c === column || box(r, c) === box(row, column)));
    });
    if (focus) this.cells[i].focus();
  }

  focused(event) {
    const i = this.cells.indexOf(event.target);
    if (i < 0) return;
    this.activate(i, false);
    this.look(i, 0);
  }

  press(event) {
    const cell = event.target.closest(".cell");
    if (!cell) return;
    event.preventDefault();
    this.activate(Number(cell.dataset.cell), true);
  }

  over(event) {
    const cell = event.target.closest(".cell");
    if (!cell) return;
    const mark = event.target.closest(".marks span");
    this.look(Number(cell.dataset.cell), mark ? Number(mark.dataset.value) : 0, mark ?? cell);
  }

  key(event) {
    const { size, active } = this;
    const [row, column] = [Math.floor(active / size), active % size];
    const moves = {
      ArrowLeft: row * size + Math.max(0, column - 1),
      ArrowRight: row * size + Math.min(size - 1, column + 1),
      ArrowUp: Math.max(0, row - 1) * size + column,
      ArrowDown: Math.min(size - 1, row + 1) * size + column,
      Home: event.ctrlKey ? 0 : row * size,
      End: event.ctrlKey ? size * size - 1 : row * size + size - 1,
      PageUp: column,
      PageDown: (size - 1) * size + column,
    };
    if (event.altKey || event.metaKey || (event.ctrlKey && !(event.key in moves))) return;
    if (event.key in moves) this.activate(moves[event.key], true);
    else if (event.key === "Escape") this.escape();
    else if (["Backspace", "Delete", "0", ".", " "].includes(event.key)) this.enter(active, 0);
    else if (event.key.length === 1) this.type(active, event.key);
    else return;
    event.preventDefault();
  }

  type(cell, key) {
    const value = this.symbols.indexOf(key.toUpperCase()) + 1;
    if (value) this.enter(cell, value);
    else this.refuse(cell, key);
  }
}
