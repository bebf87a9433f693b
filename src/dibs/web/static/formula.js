// The SAT tab: a formula as text, its variables and clauses, and what is known of them at a node.

import { Latest, post } from "./api.js";
import { $, busy, calm, make, percent, say } from "./page.js";

const MOST_CLAUSES = 400; // that are listed

export class Formula {
  constructor(about, changed) {
    this.about = about;
    this.changed = changed;
    this.read = null;
    this.state = null; // of a node: {values, branch, title}
    this.tried = null; // values while a race is played, by variable
    this.chances = null; // what the guide believes: {text, of: [true, false] of each variable}
    this.past = [];
    this.reading = new Latest();
    this.believing = new Latest();
    const own = about.examples.map((one, i) => [one, i]).filter(([one]) => one.family === "cnf");
    const items = own.map(([one, i]) => make("option", { value: i }, `${one.name} (${one.difficulty})`));
    this.examples = [make("option", { value: "" }, "your own"), ...items];
    $("cnf-load").addEventListener("submit", (event) => {
      event.preventDefault();
      busy($("cnf-load").querySelector("button"), this.load($("cnf-text").value));
    });
    $("cnf-text").addEventListener("input", () => this.reading.stop()); // what is typed goes before what is on its way
    $("cnf-generate").addEventListener("submit", (event) => {
      event.preventDefault();
      this.generate();
    });
    $("cnf-leave").addEventListener("click", () => this.leave());
    $("cnf-heat").addEventListener("change", () => this.believe());
    $("cnf-undo").addEventListener("click", () => this.undo());
  }

  get line() {
    return this.read?.line ?? "";
  }

  same(text) {
    const bare = (lines) => lines.replace(/^c.*$/gm, "").replace(/\s+/g, " ").trim();
    return Boolean(this.line) && bare(text) === bare(this.line);
  }

  get guide() {
    return this.about.guides.find((guide) => guide.families.includes("cnf"))?.name;
  }

  get trouble() {
    return this.read ? "" : "There is no formula yet: load or generate one.";
  }

  get problem() {
    return { family: "cnf", text: this.line };
  }

  // What is being loaded is also kept as `arrival`: a race that is started meanwhile waits for it.
  load(text) {
    return (this.arrival = this.fetched(text));
  }

  async fetched(text) {
    try {
      const read = await post("/api/read", { family: "cnf", text }, this.reading.signal());
      if (this.read) this.past.push(this.read.line);
      this.take(read);
      return true;
    } catch (error) {
      if (error.name !== "AbortError") this.errors([error.message]);
      return false;
    }
  }

  take(read) {
    this.read = read;
    this.state = this.tried = null;
    this.errors([]);
    $("cnf-text").value = read.line;
    $("about-formula").textContent = read.words ?? `${read.variables} variables, ${read.clauses.length} clauses`;
    $("cnf-undo").disabled = !this.past.length;
    this.show();
    this.changed();
    this.believe();
  }

  async believe() {
    if (!$("cnf-heat").checked || !this.read) {
      this.believing.stop();
      this.show();
      return;
    }
    try {
      const asked = post("/api/marginals", { ...this.problem, steps: 1 }, this.believing.signal());
      const { steps, impossible } = await busy($("cnf-beliefs"), asked);
      this.chances = { text: this.line, of: steps[0] };
      $("cnf-mistakes").textContent = impossible ? "The guide sees that there is no solution." : "";
      this.show();
    } catch (error) {
      if (error.name === "AbortError") return;
      $("cnf-heat").checked = false;
      this.errors([error.message]);
    }
  }

  async undo() {
    const line = this.past.pop();
    const kept = this.past;
    if (line === undefined) return;
    this.past = [];
    await this.load(line);
    this.past = kept;
    $("cnf-undo").disabled = !kept.length;
  }

  async generate() {
    const body = { family: "cnf", variables: Number($("cnf-variables").value) };
    if ($("cnf-clauses").value !== "") body.clauses = Number($("cnf-clauses").value);
    if ($("cnf-make-seed").value !== "") body.seed = Number($("cnf-make-seed").value);
    this.errors([]);
    try {
      const made = await busy($("cnf-generate").querySelector("button"), post("/api/generate", body));
      if (await this.load(made.line)) say(made.words ?? `Made with seed ${made.seed}`);
    } catch (error) {
      this.errors([error.message]);
    }
  }

  errors(lines) {
    $("cnf-errors").replaceChildren(...lines.map((line) => make("span", {}, line)));
  }

  visit(state) {
    this.state = state;
    this.show();
  }

  // The variables while a race is played, see sudoku.js.
  trying(found, solved = false) {
    this.finished = Boolean(found && solved);
    const all = Array.from({ length: this.read?.variables ?? 0 }, (_, i) => found?.get?.(i) ?? 0);
    this.tried = found && (Array.isArray(found) ? found : all);
    if (!this.state) this.show();
  }

  hopeless() {} // a formula is not explained here

  // A solution as the server writes it, as a state: 1 for true, 2 for false.
  solved(solution) {
    const literals = (Array.isArray(solution) ? solution : String(solution).split(/\s+/)).map(Number).filter(Boolean);
    return { values: literals.map((literal) => (literal > 0 ? 1 : 2)), candidates: [] };
  }

  focus() {
    $("h-formula").scrollIntoView({ behavior: calm() ? "auto" : "smooth" });
    $("clauses").focus({ preventScroll: true });
  }

  leave() {
    if (!this.state && !this.tried) return;
    this.state = null;
    this.trying(null);
    this.left?.();
  }

  // 1 true, -1 false, 0 open; the server's values are 1 for true and 2 for false.
  value(variable) {
    return [0, 1, -1][(this.state?.values ?? this.tried)?.[variable - 1] ?? 0];
  }

  show() {
    const { read, state } = this;
    $("cnf-viewing").hidden = !state && !this.finished;
    $("cnf-viewing-words").textContent = state?.title ?? "Solved.";
    if (!read) return;
    const chips = [];
    for (let z = 1; z <= read.variables; z++) {
      const value = this.value(z);
      const words = value > 0 ? "true" : value < 0 ? "false" : "open";
      const branch = state?.branch === z - 1;
      const style = `variable ${words}${branch ? " branch" : ""}`;
      const chance = $("cnf-heat").checked && this.chances?.text === this.line ? this.chances.of[z - 1][0] : null;
      const said = chance === null || value ? "" : `, the guide says true at ${percent(chance)}`;
      const label = `z${z} ${words}${branch ? ", the node branches here" : ""}${said}`;
      const mark = value > 0 ? "T" : value < 0 ? "F" : said ? `${Math.round(100 * chance)}%` : "·";
      const chip = make("div", { class: style, role: "listitem", "aria-label": label }, [`z${z}`, make("b", {}, mark)]);
      if (said) {
        chip.classList.add("warm");
        chip.style.setProperty("--sure", (2 * Math.abs(chance - 0.5)).toFixed(3));
      }
      chips.push(chip);
    }
    $("variables").replaceChildren(...chips);
    let satisfied = 0;
    const rows = read.clauses.slice(0, MOST_CLAUSES).map((clause) => {
      const signs = clause.map((literal) => this.value(Math.abs(literal)) * Math.sign(literal));
      const open = signs.filter((sign) => !sign).length;
      const kind = signs.includes(1) ? "satisfied" : open === 0 ? "empty" : state && open === 1 ? "unit" : "";
      satisfied += kind === "satisfied";
      const shown = clause.filter((_, i) => kind === "satisfied" || signs[i] >= 0 || open === 0);
      const text = shown.map((literal) => (literal > 0 ? `${literal}` : `¬${-literal}`)).join(" ∨ ");
      return make("span", { class: `clause ${kind}`, role: "listitem" }, text);
    });
    $("clauses").replaceChildren(...rows);
    const more = read.clauses.length > MOST_CLAUSES ? ` (${MOST_CLAUSES} of ${read.clauses.length} shown)` : "";
    $("cnf-readout").textContent = state
      ? `${satisfied} of ${read.clauses.length} clauses are satisfied here; false literals are left out.${more}`
      : `¬3 means: z3 is false. ∨ means: or.${more}`;
  }
}
