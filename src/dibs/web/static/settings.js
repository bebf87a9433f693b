// What a race is about: an example, two searches, a seed and a limit; as a form, and as fields of a link.

import { busy, make, say } from "./page.js";

const GROUPS = [
  ["Without a guide", (one) => !one.guided && !one.oracle],
  ["With a guide", (one) => one.guided],
  ["Knows the solution", (one) => one.oracle],
];

export class Settings {
  constructor(ui, { about, family, source }) {
    Object.assign(this, { ui, about, family, source });
    this.searches = about.searches.filter((search) => search.families.includes(family));
    for (const select of [ui.left, ui.right]) {
      const parts = GROUPS.map(([label, fits]) => [label, this.searches.filter(fits)]).filter(([, some]) => some.length);
      select.replaceChildren(
        ...parts.map(([label, some]) =>
          make("optgroup", { label }, some.map(({ id, name }) => make("option", { value: id }, name))),
        ),
      );
    }
    const pick = (...wanted) => wanted.find((id) => this.search(id));
    ui.left.value = pick("fc", "mrv-jw", "plain") ?? this.searches[0]?.id;
    ui.right.value = pick("dibs", "paper") ?? this.searches[this.searches.length - 1]?.id;
    ui.limit.value = about.limits.nodes;
    ui.limit.max = about.limits.most_nodes;
    ui.examples.replaceChildren(...source.examples);
    ui.examples.addEventListener("change", () => {
      const one = about.examples[ui.examples.value];
      if (one) busy(ui.examples, source.load(one.text)).then(() => one.words && say(one.words));
    });
  }

  search(id) {
    return this.searches.find((one) => one.id === id);
  }

  // A search as the server wants it.
  wish(search) {
    const guide = this.search(search).guided && this.source.guide ? { guide: this.source.guide } : {};
    return { search, seed: Number(this.ui.seed.value), ...guide };
  }

  // The list of examples says which one the puzzle is.
  exemplary() {
    const { about, source } = this;
    const at = about.examples.findIndex((one) => one.family === this.family && source.same(one.text));
    this.ui.examples.value = at < 0 ? "" : String(at);
  }

  get fields() {
    const { left, right, seed, limit } = this.ui;
    return { l: left.value, r: right.value, s: seed.value, n: limit.value };
  }

  restore(fields) {
    const { left, right, seed, limit } = this.ui;
    const set = (select, value) => {
      if (value && [...select.options].some((option) => option.value === value)) select.value = value;
    };
    set(left, fields.get("l"));
    set(right, fields.get("r"));
    if (/^\d+$/.test(fields.get("s") ?? "")) seed.value = fields.get("s");
    if (/^\d+$/.test(fields.get("n") ?? "")) limit.value = Math.min(Number(fields.get("n")), limit.max);
  }
}
