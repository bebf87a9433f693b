// The race: two searches on one problem, their trees on one clock that counts nodes, and all that can be done with them.

import { Latest, post, stream } from "./api.js";
import { TreeCanvas } from "./canvas.js";
import { showChart } from "./chart.js";
import { $, calm, count, counted, make, options, percent, save, say, seconds } from "./page.js";
import { picture } from "./picture.js";
import { DEEPER, EARLIER, OPEN, PATH, Tree } from "./tree.js";

const ENDS = { SAT: "solved", UNSAT: "no solution", LIMIT: "stopped at the limit" };
const CHART_EVERY = 240; // milliseconds
const NUMBERS_EVERY = 80; // milliseconds: a tree grows with every frame, figures that change faster cannot be read

// One search: what has arrived of it, and the settings that it was started with.
class Run {
  constructor(request, name) {
    this.request = request;
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
}

// What the page shows of one search.
class Panel {
  constructor(race, which) {
    this.race = race;
    this.which = which;
    const root = $("panel-template").content.firstElementChild.cloneNode(true);
    root.classList.toggle("second", which === 1);
    this.root = root;
    const find = (selector) => root.querySelector(selector);
    Object.assign(this, { title: find("h3"), state: find(".state"), what: find(".what"), chosen: find(".chosen") });
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

  show(nodes, deepest, numbers) {
    const { run, view } = this;
    if (!run) return;
    const { tree } = run;
    const n = tree.entries(nodes);
    view.show(n ? tree : null, n, deepest, this.race.coarse);
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
    this.text(this.state, run.error ? "failed" : done ? ENDS[run.end.status] : run.over ? "playing" : "searching");
    if (this.status !== status) {
      this.status = status;
      this.state.className = `state ${status}`;
    }
    this.text(this.merged, this.aggregated(n));
  }

  aggregated(n) {
    const { view, run } = this;
    if (n === 0) return run.waiting || (run.over ? "" : "Nothing to draw yet.");
    if (n === 1 && run.tree.solution === 0) return "Propagation alone solves it: there is nothing to choose.";
    const shown = view.top < 0 ? n : run.tree.stop(view.top, n) - view.top;
    const nodes = shown - (run.tree.solved(n) && (view.top < 0 || run.tree.open(view.top, n)) ? 1 : 0);
    if (shown <= view.drawn) return `${counted(nodes, "node")}, each drawn.`;
    return `Aggregated: ${count(nodes)} nodes drawn as ${count(view.drawn)} lines.`;
  }
}

export class Race {
  constructor(prefix, host, { about, family, source }) {
    Object.assign(this, { about, family, source });
    this.position = 0; // nodes on the clock
    this.playing = false;
    this.hurry = false; // straight to the end, as fast as nodes arrive
    this.dirty = false;
    this.frame = 0;
    this.coarse = 1;
    this.told = 0; // when the figures were last written
    this.work = new Latest();
    this.looking = new Latest();
    this.build(prefix, host);
    this.panels = [new Panel(this, 0), new Panel(this, 1)];
    this.choices();
    this.listen();
    source.left = () => this.unpick();
  }

  // The parts of the page that belong to this race, by their names in the template.
  build(prefix, host) {
    host.append($("race-template").content.cloneNode(true));
    this.ui = {};
    for (const element of host.querySelectorAll("[data-id]")) {
      element.id = `${prefix}-${element.dataset.id}`;
      this.ui[element.dataset.id] = element;
    }
    for (const card of host.querySelectorAll("[data-labelled]")) {
      card.setAttribute("aria-labelledby", `${prefix}-${card.dataset.labelled}`);
    }
  }

  choices() {
    const { about, family } = this;
    this.searches = about.searches.filter((search) => search.families.includes(family));
    const groups = [
      ["Without a guide", (one) => !one.guided && !one.oracle],
      ["With a guide", (one) => one.guided],
      ["Knows the solution", (one) => one.oracle],
    ];
    for (const select of [this.ui.left, this.ui.right]) {
      const parts = groups.map(([label, fits]) => [label, this.searches.filter(fits)]).filter(([, some]) => some.length);
      select.replaceChildren(
        ...parts.map(([label, some]) =>
          make("optgroup", { label }, some.map(({ id, name }) => make("option", { value: id }, name))),
        ),
      );
    }
    const pick = (...wanted) => wanted.find((id) => this.searches.some((one) => one.id === id));
    const plain = pick("fc", "mrv-jw", "plain") ?? this.searches[0]?.id;
    const guided = pick("dibs", "paper") ?? this.searches[this.searches.length - 1]?.id;
    this.ui.left.value = plain;
    this.ui.right.value = guided;
    this.ui.limit.value = about.limits.nodes;
    this.ui.limit.max = about.limits.most_nodes;
    this.describe();
  }

  search(id) {
    return this.searches.find((one) => one.id === id);
  }

  describe() {
    [this.ui.left, this.ui.right].forEach((select, i) => {
      const one = this.search(select.value);
      const panel = this.panels[i];
      if (!one || panel.run) return;
      panel.title.textContent = one.name;
      panel.what.textContent = `${one.words}.`;
      panel.canvas.setAttribute("aria-label", `Search tree of ${one.name}: nothing yet`);
    });
    this.named();
  }

  named() {
    const marks = ["first", "second"].map((style, i) => {
      const mark = document.createElementNS("http://www.w3.org/2000/svg", "svg");
      mark.setAttribute("viewBox", "0 0 26 10");
      mark.setAttribute("aria-hidden", "true");
      mark.innerHTML = `<path class="${style}" d="M0 5h26"/>`;
      return make("li", {}, [mark, this.panels[i].title.textContent]);
    });
    this.ui.names.replaceChildren(...marks);
  }

  listen() {
    this.ui.settings.addEventListener("submit", (event) => {
      event.preventDefault();
      this.start();
    });
    for (const select of [this.ui.left, this.ui.right, this.ui.seed, this.ui.limit]) {
      select.addEventListener("change", () => {
        this.reset();
        this.changed?.();
      });
    }
    this.ui.play.addEventListener("click", () => this.toggle());
    this.ui.step.addEventListener("click", () => this.go(Math.floor(this.position) + 1));
    this.ui.back.addEventListener("click", () => this.go(Math.ceil(this.position) - 1));
    this.ui.finish.addEventListener("click", () => this.toEnd());
    this.ui.position.addEventListener("input", () => this.go(Number(this.ui.position.value)));
    this.ui.speed.addEventListener("input", () => this.said());
    this.ui.svg.addEventListener("click", () => this.exportSvg());
    this.ui.json.addEventListener("click", () => this.exportJson());
    this.ui.share.addEventListener("click", () => this.share());
    new ResizeObserver(([entry]) => {
      this.chartWidth = Math.round(entry.contentRect.width);
      this.drawChart();
    }).observe(this.ui.chart);
    this.said();
  }

  get rate() {
    return 10 ** Number(this.ui.speed.value);
  }

  said() {
    const rate = this.rate;
    const round = rate < 10 ? Math.round(rate) : Number(rate.toPrecision(2));
    this.ui["speed-of"].textContent = `${count(round)}/s`;
    this.ui.speed.setAttribute("aria-valuetext", `${counted(round, "node")} a second`);
  }

  get runs() {
    return this.panels.map((panel) => panel.run).filter(Boolean);
  }

  // Nodes that the clock may show: no further than a search that is still under way.
  get ready() {
    const waiting = this.runs.filter((run) => !run.over).map((run) => run.tree.nodes);
    return waiting.length ? Math.min(this.most, ...waiting) : this.most;
  }

  get most() {
    return Math.max(0, ...this.runs.map((run) => run.tree.nodes));
  }

  get over() {
    return this.runs.length > 0 && this.runs.every((run) => run.over);
  }

  // Forgets the searches: the problem or the settings are others now.
  reset() {
    this.work.stop();
    this.looking.stop();
    this.playing = this.hurry = false;
    this.position = 0;
    for (const panel of this.panels) {
      panel.run = null;
      panel.view.show(null, 0, 1);
      panel.state.className = "state";
      panel.status = undefined;
      panel.state.textContent = "not started";
      for (const number of Object.values(panel.numbers)) number.textContent = "–";
      panel.merged.textContent = panel.chosen.textContent = "";
      panel.whole.hidden = panel.jump.hidden = true;
    }
    this.ui.trouble.replaceChildren();
    this.ui["has-earlier"].hidden = true;
    this.closeNode();
    this.describe();
    this.controls();
    this.drawChart();
  }

  async start() {
    this.source.leave();
    this.reset();
    const trouble = this.source.trouble;
    if (trouble) {
      this.complain(`No search can begin: ${trouble}`);
      return;
    }
    if (!this.ui.settings.reportValidity()) return;
    const signal = this.work.signal();
    const requests = [this.ui.left, this.ui.right].map((select) => this.request(select.value));
    requests.forEach((request, i) => {
      const panel = this.panels[i];
      panel.run = new Run(request, this.search(request.search).name);
      panel.state.textContent = "searching";
      panel.canvas.setAttribute("aria-label", `Search tree of ${panel.run.name}. Arrow keys move between nodes.`);
    });
    this.hurry = calm();
    this.playing = true;
    this.changed?.();
    this.controls();
    this.wake();
    await Promise.all(this.panels.map((panel) => this.follow(panel, signal)));
  }

  request(search) {
    const request = { ...this.source.problem, search, nodes: Number(this.ui.limit.value), seed: Number(this.ui.seed.value) };
    if (this.search(search).guided && this.source.guide) request.guide = this.source.guide;
    return request;
  }

  async follow(panel, signal) {
    const { run } = panel;
    try {
      await stream("/api/search", run.request, signal, (event, data) => {
        run.take(event, data);
        this.dirty = true;
        this.wake();
      });
      if (!run.over) run.error = "The search ended without an answer.";
    } catch (error) {
      if (error.name === "AbortError") return;
      run.error = error.message;
    }
    if (run.error) this.complain(`${run.name}: ${run.error}`);
    this.dirty = true;
    this.wake();
  }

  complain(words) {
    this.ui.trouble.append(make("span", {}, words));
  }

  // The clock

  toggle() {
    if (!this.runs.length) return;
    if (this.playing) this.playing = this.hurry = false;
    else {
      if (this.over && this.position >= this.most) this.position = 0;
      this.playing = true;
    }
    this.dirty = true;
    this.wake();
    this.controls();
  }

  go(position) {
    this.playing = this.hurry = false;
    this.position = Math.max(0, Math.min(position, this.ready));
    this.dirty = true;
    this.wake();
  }

  toEnd() {
    this.hurry = this.playing = true;
    this.wake();
  }

  wake() {
    if (!this.frame) this.frame = requestAnimationFrame((now) => this.tick(now));
  }

  tick(now) {
    this.frame = 0;
    if (this.playing) {
      const passed = Math.min(0.1, (now - (this.before ?? now)) / 1000);
      const to = this.hurry ? this.ready : Math.min(this.position + passed * this.rate, this.ready);
      if (Math.floor(to) !== Math.floor(this.position) || this.over) this.dirty = true;
      this.position = to;
      if (this.over && to >= this.most) this.arrive();
    }
    this.pace(now);
    if (this.dirty) this.show(now);
    if (this.playing) this.wake();
  }

  // Where frames take too long, trees are drawn coarser while they grow; at rest they are as fine as can be seen.
  pace(now) {
    const gap = this.before === undefined ? 16 : now - this.before;
    this.before = this.playing ? now : undefined;
    this.gap = this.playing ? 0.9 * (this.gap ?? 16) + 0.1 * Math.min(gap, 100) : 16;
    const coarse = !this.playing ? 1 : this.gap > 19 ? this.coarse * 1.06 : this.coarse / 1.02;
    this.coarse = Math.min(4, Math.max(1, coarse));
    if (!this.playing) this.dirty = true;
  }

  arrive() {
    this.playing = this.hurry = false;
    this.position = this.most;
    const words = this.runs.map((run) =>
      run.error ? `${run.name} failed` : `${run.name}: ${ENDS[run.end.status]}, ${counted(run.end.nodes, "node")}`,
    );
    say(words.join(". "));
  }

  show(now) {
    this.dirty = false;
    const deepest = Math.max(1, ...this.runs.map((run) => run.tree.most));
    const nodes = Math.floor(this.position);
    const numbers = !this.playing || now - this.told > NUMBERS_EVERY;
    for (const panel of this.panels) panel.show(nodes, deepest, numbers);
    if (!numbers) return;
    this.told = now;
    this.ui["has-earlier"].hidden = !this.runs.some((run) => run.tree.roots.length > 1);
    this.controls();
    if (this.playing && now - this.charted < CHART_EVERY) return;
    this.charted = now;
    this.drawChart();
  }

  controls() {
    const some = this.runs.length > 0;
    const { position, playing } = this;
    this.ui.play.disabled = this.ui.finish.disabled = this.ui.position.disabled = !some;
    this.ui.step.disabled = !some || (this.over && position >= this.most);
    this.ui.back.disabled = !some || position <= 0;
    this.ui.finish.disabled = !some || (this.over && position >= this.most);
    this.ui.svg.disabled = this.ui.json.disabled = !this.over || this.runs.some((run) => run.error);
    const label = playing ? "Pause" : "Play";
    if (this.ui.play.title !== label) {
      this.ui.play.title = label;
      this.ui.play.setAttribute("aria-label", label);
      this.ui.play.classList.toggle("playing", playing);
    }
    this.ui.position.max = this.most;
    this.ui.position.value = position;
    this.ui["position-of"].textContent = `${count(Math.floor(position))} of ${count(this.most)}`;
  }

  drawChart() {
    if (!this.chartWidth) return;
    const nodes = Math.floor(this.position);
    const counts = this.runs.map((run) => run.tree.byDepth(run.tree.entries(nodes)));
    const logged = showChart(this.ui.chart, counts, this.chartWidth);
    this.ui.scale.textContent = `How many nodes each search has at each depth${logged ? ", on a log scale" : ""}.`;
    const words = this.runs.map((run, i) => `${run.name}: ${counts[i].map(count).join(", ")}`);
    this.ui.chart.setAttribute("aria-label", `Nodes by depth. ${words.join(". ") || "Nothing yet"}`);
  }

  // One node

  pick(panel, entry) {
    const { run } = panel;
    const nodes = Math.floor(this.position);
    for (const other of this.panels) {
      other.view.select(other === panel ? entry : -1);
      if (other !== panel) other.chosen.textContent = "";
      other.jump.hidden = other !== panel;
    }
    const words = this.story(run.tree, entry, run.tree.entries(nodes));
    panel.chosen.textContent = words;
    clearTimeout(this.soon);
    this.soon = setTimeout(() => this.visit(panel, entry), 90); // keys may go on to the next one
  }

  unpick() {
    for (const panel of this.panels) {
      panel.view.select(-1);
      panel.chosen.textContent = "";
      panel.jump.hidden = true;
    }
    this.closeNode();
  }

  story(tree, entry, n) {
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

  async visit(panel, entry) {
    const { run } = panel;
    const { tree } = run;
    if (entry === tree.solution) {
      this.closeNode();
      this.source.visit({ ...this.solved(run), branch: -1, title: `The solution, found by ${run.name}` });
      return;
    }
    const node = tree.node[entry];
    try {
      const found = await post("/api/node", { ...run.request, node }, this.looking.signal());
      const title = `Node ${count(node + 1)} of ${run.name}`;
      this.source.visit({ ...found, branch: found.domain, title });
      this.openNode(panel, node, found);
    } catch (error) {
      if (error.name !== "AbortError") panel.chosen.textContent += ` ${error.message}`;
    }
  }

  // The solution as a state: the server writes it as `dibs solve --json` does.
  solved(run) {
    const { solution } = run.end;
    if (this.family === "sudoku") {
      const symbols = ".123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
      return { values: [...solution].map((symbol) => symbols.indexOf(symbol)), candidates: [] };
    }
    const literals = (Array.isArray(solution) ? solution : String(solution).split(/\s+/)).map(Number).filter(Boolean);
    return { values: literals.map((literal) => (literal > 0 ? 1 : 2)), candidates: [] };
  }

  get card() {
    return $(this.family === "sudoku" ? "node" : "cnf-node");
  }

  openNode(panel, node, found) {
    const { card } = this;
    card.hidden = false;
    card.querySelector("h2").textContent = `Node ${count(node + 1)}: ${found.where}`;
    card.querySelector(".words").textContent = found.words ?? "";
    const number = (value) => (value === null || value === undefined ? "–" : value.toFixed(3));
    const rows = found.tried.map((one) => {
      const chance = one.probability === null || one.probability === undefined ? "–" : percent(one.probability);
      const cells = [one.symbol, chance, number(one.score), one.nodes === null ? "–" : count(one.nodes)];
      const style = one.result === "failed" ? "failed" : one.result === "solution" ? "solution" : "";
      return make("tr", {}, [...cells.map((cell) => make("td", {}, cell)), make("td", { class: style }, one.result)]);
    });
    card.querySelector("tbody").replaceChildren(...rows);
    card.querySelector("[data-close]").onclick = () => {
      this.source.leave();
      this.unpick();
      panel.canvas.focus();
    };
  }

  closeNode() {
    clearTimeout(this.soon);
    this.looking.stop();
    this.card.hidden = true;
  }

  // Kept

  exportSvg() {
    const nodes = Math.floor(this.position);
    const panels = this.runs.map((run) => {
      const n = run.tree.entries(nodes);
      const at = run.at(Math.min(nodes, run.tree.nodes));
      const ended = nodes >= run.tree.nodes && run.end;
      const note = `${counted(at.nodes, "node")}, ${ended ? ENDS[run.end.status] : "under way"}`;
      return { title: run.name, note, tree: run.tree, n };
    });
    save("dibs-race.svg", "image/svg+xml", picture(panels));
    say("The picture is saved");
  }

  async exportJson() {
    const { family, text, box, nodes } = this.runs[0].request;
    const searches = this.runs.map(({ request: { search, guide, seed } }) => ({ search, guide, seed }));
    this.ui.json.disabled = true;
    try {
      const found = await post("/api/export", { family, text, box, nodes, searches });
      save("dibs-race.json", "application/json", JSON.stringify(found));
      say("The run is saved");
    } catch (error) {
      this.complain(error.message);
    } finally {
      this.controls();
    }
  }

  // What a link carries of the race.
  get settingsFields() {
    return { l: this.ui.left.value, r: this.ui.right.value, s: this.ui.seed.value, n: this.ui.limit.value };
  }

  restore(fields) {
    const set = (select, value) => {
      if (value && [...select.options].some((option) => option.value === value)) select.value = value;
    };
    set(this.ui.left, fields.get("l"));
    set(this.ui.right, fields.get("r"));
    if (/^\d+$/.test(fields.get("s") ?? "")) this.ui.seed.value = fields.get("s");
    if (/^\d+$/.test(fields.get("n") ?? "")) this.ui.limit.value = Math.min(Number(fields.get("n")), this.ui.limit.max);
    this.reset();
  }

  async share() {
    const link = this.address();
    this.ui["link-box"].hidden = false;
    this.ui.link.value = link;
    try {
      await navigator.clipboard.writeText(link);
      say("The link is copied");
    } catch {
      this.ui.link.focus();
      this.ui.link.select();
      say("Copy the link from the field");
    }
  }
}
