// The Sudoku tab: the puzzle that is edited, its history, what the server says of it, and the guide's beliefs.

import { Latest, post } from "./api.js";
import { PASSES, mistakes, sharpening } from "./beliefs.js";
import { Board } from "./board.js";
import { $, bubble, busy, calm, cellName, count, later, make, options, percent, say } from "./page.js";
import { Why } from "./why.js";

const SYMBOLS = "123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const USUAL_GIVENS = { 4: 6, 6: 12, 9: 26, 12: 60, 16: 120 };

export class Sudoku {
  constructor(about, changed) {
    this.about = about;
    this.changed = changed; // the puzzle or the guide is another one
    this.past = [];
    this.future = [];
    this.puzzle = { size: 9, box: [3, 3], values: new Array(81).fill(0) };
    this.read = null; // the server's answer about the puzzle
    this.state = null; // of a node: {values, candidates, branch, words}
    this.tried = null; // values of the board while a race is played
    this.heat = null; // {text, steps, entropy}
    this.reading = new Latest();
    this.loading = 0; // puzzles on their way
    this.believing = new Latest();
    this.board = new Board($("board"), {
      enter: (cell, value) => this.enter(cell, value),
      refuse: (cell, key) => this.refuse(cell, key),
      escape: () => this.leave(),
      look: (cell, value, mark) => this.look(cell, value, mark),
    });
    this.tip = make("div", { class: "tip", hidden: true, "aria-hidden": "true" });
    document.body.append(this.tip);
    this.why = new Why(this);
    this.ask = later(60, () => this.refresh());
    this.controls();
    this.show();
  }

  controls() {
    const { about } = this;
    const groups = new Map();
    about.examples.forEach((one, i) => {
      if (one.family !== "sudoku") return;
      if (!groups.has(one.difficulty)) groups.set(one.difficulty, []);
      groups.get(one.difficulty).push(make("option", { value: i }, one.name));
    });
    const picks = [...groups].map(([difficulty, items]) => make("optgroup", { label: difficulty }, items));
    this.examples = [make("option", { value: "" }, "your own"), ...picks];
    const guides = about.guides.filter((guide) => guide.families.includes("sudoku"));
    options($("guide"), guides.map(({ name }) => ({ value: name, text: name })));
    $("guide").addEventListener("change", () => {
      this.believe();
      this.changed();
    });
    options($("size"), about.sizes.map((size) => ({ value: String(size), text: `${size}x${size}` })), "9");
    $("size").addEventListener("change", () => {
      const size = Number($("size").value);
      $("givens").value = USUAL_GIVENS[size] ?? Math.round(size * size * 0.45);
    });
    $("load").addEventListener("submit", (event) => {
      event.preventDefault();
      busy($("load").querySelector("button"), this.load($("text").value));
    });
    $("text").addEventListener("paste", (event) => {
      const text = event.clipboardData.getData("text"); // with its lines, which the field would join
      event.preventDefault();
      $("text").value = text.replace(/\s+/g, text.trim().includes("\n") ? "\n" : " ");
      this.load(text);
    });
    $("generate").addEventListener("submit", (event) => {
      event.preventDefault();
      this.generate();
    });
    $("blank").addEventListener("click", () => this.empty(Number($("size").value)));
    $("clear").addEventListener("click", () => this.empty(this.puzzle.size));
    $("undo").addEventListener("click", () => this.undo());
    $("redo").addEventListener("click", () => this.redo());
    $("back").addEventListener("click", () => this.leave());
    $("heat").addEventListener("change", () => this.believe());
    $("step").addEventListener("input", () => this.show());
  }

  // There is no solution, as far as is known: the page can say why.
  hopeless(known) {
    this.why.offer(known);
  }

  get line() {
    return this.text(this.puzzle.values);
  }

  same(text) {
    return text === this.line;
  }

  text(values) {
    return values.map((value) => (value ? SYMBOLS[value - 1] : ".")).join("");
  }

  get guide() {
    return $("guide").value;
  }

  // Why no search can begin, or "".
  get trouble() {
    return this.read?.conflicts.length ? this.read.conflicts[0].words : "";
  }

  // What the server needs to know of the puzzle.
  get problem() {
    return { family: "sudoku", text: this.line, box: this.puzzle.box };
  }

  put(puzzle, remember = true) {
    if (remember) {
      this.past.push(this.puzzle);
      this.future = [];
    }
    this.puzzle = puzzle;
    this.read = null;
    this.state = null;
    this.hopeless(false);
    this.trying(null);
    this.errors([]);
    this.ask();
    this.changed();
  }

  enter(cell, value) {
    if (this.state) {
      say("This is the board of a node. Go back to the puzzle to edit it.");
      return;
    }
    this.leave(); // the puzzle is edited, not its solution
    this.errors([]);
    if (this.puzzle.values[cell] === value) return;
    const values = [...this.puzzle.values];
    values[cell] = value;
    const old = this.read;
    this.put({ ...this.puzzle, values });
    if (old && !this.read) this.show(old.candidates); // until the new ones are there
  }

  refuse(cell, key) {
    const { size } = this.puzzle;
    const last = SYMBOLS[size - 1];
    const known = size <= 9 ? `1 to ${last}` : `1 to 9 and A to ${last}`;
    this.errors([`${cellName(cell, size)}: “${key}” is no value here; ${known} are.`], [cell]);
  }

  undo() {
    if (!this.past.length) return;
    this.future.push(this.puzzle);
    this.put(this.past.pop(), false);
    say("Taken back");
  }

  redo() {
    if (!this.future.length) return;
    this.past.push(this.puzzle);
    this.put(this.future.pop(), false);
    say("Done again");
  }

  // What is there now is the beginning: there is nothing to take back.
  forget() {
    this.past = [];
    this.future = [];
    this.show();
  }

  empty(size) {
    this.load(".".repeat(size * size));
  }

  // Takes a puzzle as text; what is wrong with it is said below the board.
  // See formula.js.
  load(text, box) {
    return (this.arrival = this.fetched(text, box));
  }

  async fetched(text, box) {
    this.loading += 1;
    try {
      const signal = this.reading.signal();
      const read = await post("/api/read", { family: "sudoku", text, ...(box ? { box } : {}) }, signal);
      if (read.family && read.family !== "sudoku") throw new Error("This is a formula: use the SAT tab.");
      this.put({ size: read.size, box: read.box, values: read.values });
      this.take(read);
      return true;
    } catch (error) {
      if (error.name !== "AbortError") this.errors([error.message]);
      return false;
    } finally {
      this.loading -= 1;
    }
  }

  async generate() {
    const seed = $("make-seed").value;
    const body = { family: "sudoku", size: Number($("size").value), givens: Number($("givens").value) };
    if (seed !== "") body.seed = Number(seed);
    this.errors([]);
    try {
      const made = await busy($("generate").querySelector("button"), post("/api/generate", body));
      if (await this.load(made.line)) say(made.words ?? `Made with seed ${made.seed}`);
    } catch (error) {
      this.errors([error.message]);
    }
  }

  // What is being loaded goes before what is on the board, and what is read need not be read again.
  async refresh() {
    if (this.loading) this.ask();
    if (this.loading || this.read) return;
    try {
      this.take(await post("/api/read", this.problem, this.reading.signal()));
    } catch (error) {
      if (error.name !== "AbortError") this.errors([error.message]);
    }
  }

  take(read) {
    this.read = read;
    const cells = read.conflicts.flatMap((conflict) => conflict.cells);
    this.errors(read.conflicts.map((conflict) => conflict.words), cells);
    $("about-board").textContent = read.words ?? "";
    this.hopeless(read.conflicts.length > 0 || read.stuck);
    this.show();
    this.believe();
  }

  errors(lines, cells = []) {
    const box = $("errors");
    const shown = lines.length > 4 ? [...lines.slice(0, 3), `and ${lines.length - 3} more`] : lines;
    box.replaceChildren(...shown.map((line) => make("span", {}, line)));
    const marked = this.wrong?.size; // cells that may be marked no longer
    this.wrong = new Map();
    cells.forEach((cell) => {
      const name = cellName(cell, this.puzzle.size);
      const about = lines.filter((line) => new RegExp(`\\b${name}\\b`).test(line));
      this.wrong.set(cell, about.join("; ") || lines.join("; "));
    });
    if (lines.length || marked) this.show();
  }

  // The board of a node; see `node` of the server.
  visit(state) {
    this.state = state;
    if (state.branch >= 0) this.board.activate(state.branch, false);
    this.show();
    this.believe();
  }

  // The board while a race is played: the values of some cells, as a map or as all of them; `solved` stays.
  trying(found, solved = false) {
    const given = this.puzzle.values;
    this.tried = found && (Array.isArray(found) ? found : given.map((value, i) => value || (found.get(i) ?? 0)));
    this.finished = Boolean(found && solved);
    $("board").classList.toggle("solved", this.finished);
    if (!this.state) this.show();
  }

  // A solution as the server writes it, as a state.
  solved(solution) {
    return { values: [...solution].map((symbol) => SYMBOLS.indexOf(symbol) + 1), candidates: [] };
  }

  // Brings the board into view: on a phone it is far above the trees.
  focus() {
    $("h-board").scrollIntoView({ behavior: calm() ? "auto" : "smooth" });
    this.board.cells[this.board.active].focus({ preventScroll: true });
  }

  leave() {
    if (!this.state && !this.tried) return;
    this.state = null;
    this.trying(null);
    this.believe();
    this.left?.();
  }

  show(candidates) {
    const { puzzle, state, board } = this;
    board.shape(puzzle.size, puzzle.box, [...SYMBOLS.slice(0, puzzle.size)]);
    const chosen = this.heat?.text === this.shownText ? this.heat : null;
    const on = $("heat").checked && chosen;
    const step = Math.min(Number($("step").value), chosen?.steps.length ?? 1);
    board.show({
      values: state?.values ?? (on ? null : this.tried) ?? puzzle.values,
      given: puzzle.values,
      candidates: state ? state.candidates : (candidates ?? this.read?.candidates ?? []),
      conflicts: state ? new Map() : (this.wrong ?? new Map()),
      branch: state?.branch ?? -1,
      heat: on ? chosen.steps[step - 1] : null,
      truth: on ? chosen.solution : null,
      culprits: this.why.cells,
    });
    $("viewing").hidden = !state && (!this.finished || Boolean(on));
    $("viewing-words").textContent = state?.title ?? "Solved.";
    if (document.activeElement !== $("text")) $("text").value = this.line;
    $("undo").disabled = !this.past.length;
    $("redo").disabled = !this.future.length;
    this.pad();
    sharpening(on ? chosen : null, step);
    mistakes(this.board);
    this.look(board.active, 0);
  }

  pad() {
    const { size } = this.puzzle;
    if (Number($("pad").dataset.size) === size) return;
    $("pad").dataset.size = size;
    const key = (value, text, label) =>
      make("button", { type: "button", "aria-label": label }, text, {
        click: () => this.enter(this.board.active, value),
      });
    const keys = [...SYMBOLS.slice(0, size)].map((symbol, k) => key(k + 1, symbol, `Enter ${symbol}`));
    $("pad").style.setProperty("--keys", size < 10 ? size + 1 : Math.ceil((size + 1) / 2));
    $("pad").replaceChildren(...keys, key(0, "⌫", "Empty the cell"));
  }

  // Beliefs

  get shownText() {
    return `${this.guide} ${this.text(this.state?.values ?? this.puzzle.values)}`;
  }

  async believe() {
    mistakes(this.board);
    if (!$("heat").checked || this.trouble) {
      this.believing.stop();
      this.show();
      return;
    }
    const key = this.shownText;
    if (this.heat?.text === key) {
      this.show();
      return;
    }
    const text = this.text(this.state?.values ?? this.puzzle.values);
    const body = { ...this.problem, text, guide: this.guide, steps: PASSES };
    this.show();
    $("step-of").textContent = "the guide is asked …";
    try {
      const asked = post("/api/marginals", body, this.believing.signal());
      const { steps, entropy, impossible, solution } = await busy($("beliefs"), asked);
      if (impossible) say("The guide sees that no value fits: there is no solution");
      this.heat = { text: key, steps, entropy, solution };
      this.show();
    } catch (error) {
      if (error.name === "AbortError") return;
      $("heat").checked = false;
      this.errors([error.message]);
    }
  }

  // The line below the board, and the bubble at the pointer.
  look(cell, value, mark) {
    const { board } = this;
    const beliefs = board.beliefs(cell);
    const line = $("readout");
    this.tip.hidden = true;
    const where = make("b", {}, board.name(cell));
    if (beliefs) {
      const some = beliefs.filter(({ chance }) => chance >= 0.0005).slice(0, 4);
      const words = some.map(({ symbol, chance }) => `${symbol} ${percent(chance)}`).join(" · ");
      line.replaceChildren(where, ` guide: ${words}`);
      if (!value || !mark) return;
      const chance = percent(board.heat[cell][value - 1]);
      bubble(this.tip, mark, `${board.symbols[value - 1]} at ${board.name(cell)}: ${chance}`);
    } else if (board.values?.[cell]) {
      const found = this.state ? "follows at this node" : this.finished ? "solved" : "tried";
      const kind = this.puzzle.values[cell] ? "given" : found;
      line.replaceChildren(where, ` ${board.symbols[board.values[cell] - 1]}, ${kind}`);
    } else {
      const open = board.candidates?.[cell] ?? [];
      const words = open.map((one) => board.symbols[one - 1]).join(" ");
      line.replaceChildren(where, open.length ? ` ${count(open.length)} candidates: ${words}` : " empty");
      if (open.length === 1) line.replaceChildren(where, ` one candidate: ${words}`);
    }
  }
}
