// The race: two searches on one problem, their trees on one clock that counts nodes, and all that can be done with them.

import { Latest, stream, turn } from "./api.js";
import { showChart } from "./chart.js";
import { savePicture, saveRun, share, verdict } from "./keep.js";
import { NodeCard, nodeCard, story } from "./nodecard.js";
import { $, calm, count, counted, make, say, seconds } from "./page.js";
import { ENDS, Panel } from "./panel.js";
import { Run } from "./run.js";
import { Settings } from "./settings.js";

const CHART_EVERY = 240; // milliseconds
const NUMBERS_EVERY = 80; // milliseconds: a tree grows with every frame, figures that change faster cannot be read
const BOARD_EVERY = 160; // milliseconds
const LONGEST = 8; // seconds that a race takes at normal speed; small ones take less
const FIRST = 12; // nodes that are played slowly before the clock runs away

export class Race {
  constructor(prefix, host, { about, family, source }) {
    Object.assign(this, { about, family, source });
    this.position = 0; // nodes on the clock
    this.playing = false;
    this.hurry = false; // straight to the end, as fast as nodes arrive
    this.dirty = false;
    this.frame = 0;
    this.coarse = 1;
    this.told = this.shown = 0; // when the figures and the board were last written
    this.work = new Latest();
    this.build(prefix, host);
    this.panels = [new Panel(this, 0), new Panel(this, 1)];
    this.card = new NodeCard(nodeCard(family), source, { closed: () => this.unpick() });
    this.settings = new Settings(this.ui, { about, family, source });
    this.describe();
    this.listen();
    source.left = () => this.unpick();
  }

  // The parts of the page that belong to this race, by their names in the templates.
  build(prefix, host) {
    host.querySelector(".bar").append($("bar-template").content.cloneNode(true));
    host.querySelector(".wide").append($("race-template").content.cloneNode(true));
    this.ui = {};
    for (const element of host.querySelectorAll("[data-id]")) {
      element.id = `${prefix}-${element.dataset.id}`;
      this.ui[element.dataset.id] = element;
    }
    for (const card of host.querySelectorAll("[data-labelled]")) {
      card.setAttribute("aria-labelledby", `${prefix}-${card.dataset.labelled}`);
    }
  }

  describe() {
    [this.ui.left, this.ui.right].forEach((select, i) => {
      const one = this.settings.search(select.value);
      const panel = this.panels[i];
      if (!one || panel.run) return;
      panel.title.textContent = one.name;
      panel.what.textContent = panel.what.title = `${one.words}.`;
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
    this.ui.settings.addEventListener("submit", async (event) => {
      event.preventDefault();
      await this.source.arrival; // a problem that is on its way is raced once it is here
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
    this.ui.svg.addEventListener("click", () => savePicture(this));
    this.ui.json.addEventListener("click", () => saveRun(this));
    this.ui.share.addEventListener("click", () => share(this, this.address()));
    new ResizeObserver(([entry]) => {
      this.chartWidth = Math.round(entry.contentRect.width);
      this.drawChart();
    }).observe(this.ui.chart);
    this.said();
  }

  get speed() {
    return 2 ** Number(this.ui.speed.value);
  }

  said() {
    const words = this.speed >= 1 ? `${this.speed}×` : `1/${1 / this.speed}×`;
    this.ui["speed-of"].textContent = words;
    this.ui.speed.setAttribute("aria-valuetext", words);
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
    this.playing = this.hurry = false;
    this.position = 0;
    this.wanted = null;
    for (const panel of this.panels) panel.reset();
    this.ui.trouble.replaceChildren();
    this.ui.verdict.hidden = true;
    this.ui["has-earlier"].hidden = true;
    this.card.close();
    this.source.trying(null);
    this.settings.exemplary();
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
    const problem = { ...this.source.problem, nodes: Number(this.ui.limit.value) };
    const searches = [this.ui.left, this.ui.right].map((select) => this.settings.wish(select.value));
    searches.forEach((search, i) => {
      const panel = this.panels[i];
      panel.run = new Run({ ...problem, ...search }, this.settings.search(search.search).name);
      panel.state.textContent = "searching";
      panel.canvas.setAttribute("aria-label", `Search tree of ${panel.run.name}. Arrow keys move between nodes.`);
    });
    this.hurry = calm();
    this.playing = true;
    this.changed?.();
    this.controls();
    this.wake();
    await this.follow({ ...problem, searches }, signal);
  }

  // Both searches come in one stream; each event says which of them it is of, or means both.
  async follow(request, signal) {
    const runs = this.panels.map((panel) => panel.run);
    const woken = () => {
      this.dirty = true;
      this.wake();
    };
    try {
      const wait = () => {
        for (const run of runs) run.take("wait", { words: "Other tabs are racing; this one waits." });
        woken();
      };
      await turn(signal, wait, () =>
        stream("/api/race", request, signal, (event, data) => {
          for (const run of data.of === undefined ? runs : [runs[data.of]]) run.take(event, data);
          woken();
        }),
      );
      for (const run of runs) if (!run.over) run.error = "The search ended without an answer.";
    } catch (error) {
      if (error.name === "AbortError") return;
      for (const run of runs) if (!run.over) run.error = error.message;
    }
    const failed = runs.filter((run) => run.error);
    if (failed.length === 2 && failed[0].error === failed[1].error) this.complain(failed[0].error);
    else for (const run of failed) this.complain(`${run.name}: ${run.error}`);
    woken();
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
    if (this.over && this.position >= this.most) this.arrive();
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

  // Nodes on the clock after some more seconds: slowly at first, then ever faster, so that a large race takes as long
  // as a small one, and what happens near the root can be seen in both.
  eased(passed) {
    const all = Math.min(LONGEST, 1.5 + 1.7 * Math.log10(1 + this.most));
    const growth = Math.log(1 + this.most / FIRST) / all;
    return (this.position + FIRST) * Math.exp(growth * passed * this.speed) - FIRST;
  }

  tick(now) {
    this.frame = 0;
    if (this.playing) {
      const passed = Math.min(0.1, (now - (this.before ?? now)) / 1000);
      const to = this.hurry ? this.ready : Math.min(this.eased(passed), this.ready);
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

  // The finish: a verdict that stays, and the board with the solution.
  arrive() {
    this.playing = this.hurry = false;
    this.position = this.most;
    const { words, winner } = verdict(this.runs);
    const lines = this.runs.map((run, i) => {
      const counts = () => `${counted(run.end.nodes, "node")}, ${seconds(run.seconds)}`;
      const told = run.error ? "failed" : `${ENDS[run.end.status]}, ${counts()}`;
      return make("li", { class: i === winner ? "won" : "" }, [make("b", {}, run.name), ` ${told}`]);
    });
    this.ui.verdict.replaceChildren(make("p", {}, words), make("ul", {}, lines));
    this.ui.verdict.hidden = false;
    say(words, false);
    const solved = this.runs.find((run) => run.end?.status === "SAT");
    this.source.trying(solved ? this.source.solved(solved.end.solution).values : null, true);
    if (this.runs.some((run) => run.end?.status === "UNSAT")) this.source.hopeless(true);
    const { wanted } = this;
    this.wanted = null;
    if (wanted) this.resume(wanted);
  }

  show(now) {
    this.dirty = false;
    const nodes = Math.floor(this.position);
    const deepest = Math.max(1, ...this.runs.map((run) => run.tree.most));
    const widest = Math.max(1, ...this.runs.map((run) => run.tree.width(run.tree.entries(nodes))));
    const numbers = !this.playing || now - this.told > NUMBERS_EVERY;
    for (const panel of this.panels) panel.show(nodes, deepest, widest, numbers);
    if (!numbers) return;
    this.told = now;
    this.ui["has-earlier"].hidden = !this.runs.some((run) => run.tree.roots.length > 1);
    this.controls();
    this.fill(nodes, now);
    if (this.playing && now - this.charted < CHART_EVERY) return;
    this.charted = now;
    this.drawChart();
  }

  // The board while the race is played: the decisions that the second search stands in, or the first if that is done.
  fill(nodes, now) {
    if (!this.runs.length || (this.playing && now - this.shown < BOARD_EVERY)) return;
    this.shown = now;
    if (this.over && nodes >= this.most) return;
    const run = [...this.runs].reverse().find((one) => nodes < one.tree.nodes) ?? this.runs[0];
    this.source.trying(run.decisions(nodes));
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
    this.ui.start.setAttribute("aria-busy", String(some && !this.over));
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
    this.picked = { which: panel.which, node: run.tree.node[entry] };
    for (const other of this.panels) {
      other.view.select(other === panel ? entry : -1);
      if (other !== panel) other.chosen.textContent = "";
      other.jump.hidden = other !== panel;
    }
    panel.chosen.textContent = story(run.tree, entry, run.tree.entries(Math.floor(this.position)));
    this.card.choose(panel, entry);
  }

  unpick() {
    this.picked = null;
    for (const panel of this.panels) {
      panel.view.select(-1);
      panel.chosen.textContent = "";
      panel.jump.hidden = true;
    }
    this.card.close();
  }

  // What a link carries of the race: the settings, where the clock stands, the node that is looked at.
  get fields() {
    const found = this.settings.fields;
    if (this.over) found.t = Math.floor(this.position);
    if (this.over && this.picked) found.k = `${this.picked.which}.${this.picked.node}`;
    return found;
  }

  restore(fields) {
    this.settings.restore(fields);
    this.reset();
    const time = /^\d+$/.test(fields.get("t") ?? "") ? Number(fields.get("t")) : null;
    const node = /^([01])\.(-1|\d+)$/.exec(fields.get("k") ?? "");
    if (time === null && !node) return;
    this.start();
    this.wanted = { time, which: node && Number(node[1]), node: node && Number(node[2]) };
    this.toEnd();
  }

  // Where a link had left the race: once all nodes are here.
  resume({ time, which, node }) {
    if (time !== null && time < this.most) this.go(time);
    if (which === null) return;
    const panel = this.panels[which];
    const { tree } = panel.run;
    const entry = node < 0 ? tree.solution : node < tree.nodes ? tree.entry[node] : -1;
    if (entry >= 0) this.pick(panel, entry);
  }
}
