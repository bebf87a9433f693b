// The SAT tab: a formula as text, its variables and clauses, and what is known of them at a node.

import { Latest, post } from "./api.js";
import { $, calm, make, options, say } from "./page.js";

const MOST_CLAUSES = 400; // that are listed

export class Formula {
  constructor(about, changed) {
    this.about = about;
    this.changed = changed;
    this.read = null;
    this.state = null; // of a node: {values, branch, title}
    this.past = [];
    this.reading = new Latest();
    const items = [];
    about.examples.forEach((one, i) => {
      if (one.family === "cnf") items.push({ value: String(i), text: `${one.name} (${one.difficulty})` });
    });
    options($("cnf-examples"), [{ value: "", text: "Choose …" }, ...items]);
    $("cnf-examples").addEventListener("change", (event) => {
      const one = about.examples[event.target.value];
      if (one) this.load(one.text).then(() => one.words && say(one.words));
    });
    $("cnf-load").addEventListener("submit", (event) => {
      event.preventDefault();
      this.load($("cnf-text").value);
    });
    $("cnf-text").addEventListener("input", () => this.reading.stop()); // what is typed goes before what is on its way
    $("cnf-generate").addEventListener("submit", (event) => {
      event.preventDefault();
      this.generate();
    });
    $("cnf-leave").addEventListener("click", () => this.leave());
    $("cnf-undo").addEventListener("click", () => this.undo());
  }

  get line() {
    return this.read?.line ?? "";
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

  async load(text) {
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
    this.state = null;
    this.errors([]);
    $("cnf-text").value = read.line;
    $("about-formula").textContent = read.words ?? `${read.variables} variables, ${read.clauses.length} clauses`;
    $("cnf-undo").disabled = !this.past.length;
    this.show();
    this.changed();
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
    try {
      const made = await post("/api/generate", body);
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
    $("cnf-viewing-words").textContent = state.title;
    this.show();
  }

  focus() {
    $("h-formula").scrollIntoView({ behavior: calm() ? "auto" : "smooth" });
    $("clauses").focus({ preventScroll: true });
  }

  leave() {
    if (!this.state) return;
    this.state = null;
    this.show();
    this.left?.();
  }

  // 1 true, -1 false, 0 open; the server's values are 1 for true and 2 for false.
  value(variable) {
    return [0, 1, -1][this.state?.values[variable - 1] ?? 0];
  }

  show() {
    const { read, state } = this;
    $("cnf-viewing").hidden = !state;
    if (!read) return;
    const chips = [];
    for (let z = 1; z <= read.variables; z++) {
      const value = this.value(z);
      const words = value > 0 ? "true" : value < 0 ? "false" : "open";
      const branch = state?.branch === z - 1;
      const style = `variable ${words}${branch ? " branch" : ""}`;
      const label = `z${z} ${words}${branch ? ", the node branches here" : ""}`;
      const mark = value > 0 ? "T" : value < 0 ? "F" : "·";
      chips.push(make("div", { class: style, role: "listitem", "aria-label": label }, [`z${z}`, make("b", {}, mark)]));
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
