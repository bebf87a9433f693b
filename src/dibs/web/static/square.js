// "Where it wins": a Latin square filled twice at the same time, as mosaics with clocks.

import { Latest, stream, turn } from "./api.js";
import { $, calm, count, make, seconds } from "./page.js";

const ORDER = 40;
const SWEEP = 0.5; // seconds in which the cells of an answer appear

// One square of colours: givens are grey, what was filled in has a colour of its own by symbol.
class Mosaic {
  constructor(canvas) {
    this.canvas = canvas;
    this.pen = canvas.getContext("2d");
    this.hue = "path"; // name of the colour of what is filled in
    this.order = ORDER;
    this.given = this.values = new Array(ORDER * ORDER).fill(0);
    new ResizeObserver(() => this.resize()).observe(canvas);
    this.colours();
  }

  colours() {
    const style = getComputedStyle(this.canvas);
    const colour = (name) => style.getPropertyValue(`--${name}`).trim();
    Object.assign(this, { filled: colour(this.hue), text: colour("text") });
    Object.assign(this, { surface: colour("surface"), grid: colour("grid") });
    this.draw();
  }

  resize() {
    const { width } = this.canvas.getBoundingClientRect();
    if (!width) return;
    const ratio = window.devicePixelRatio || 1;
    this.width = width;
    this.canvas.width = this.canvas.height = Math.round(width * ratio);
    this.pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.draw();
  }

  begin(order, given) {
    Object.assign(this, { order, given });
    this.show(given);
  }

  // What is tried has another colour than what is right.
  show(values, right = false) {
    this.values = values;
    const hue = right ? "path" : "deep";
    if (hue === this.hue) this.draw();
    else {
      this.hue = hue;
      this.colours();
    }
  }

  draw() {
    if (!this.width) return;
    const { pen, order, width } = this;
    pen.globalAlpha = 1;
    pen.fillStyle = this.grid;
    pen.fillRect(0, 0, width, width);
    const unit = width / order;
    const gap = Math.max(0.5, unit * 0.08);
    for (let i = 0; i < order * order; i++) {
      const value = this.values[i];
      const given = this.given[i];
      pen.globalAlpha = 1;
      pen.fillStyle = this.surface;
      const box = [(i % order) * unit + gap / 2, Math.floor(i / order) * unit + gap / 2, unit - gap, unit - gap];
      pen.fillRect(...box);
      if (!value) continue;
      pen.globalAlpha = given ? 0.06 + (0.26 * value) / order : 0.35 + (0.65 * value) / order;
      pen.fillStyle = given ? this.text : this.filled;
      pen.fillRect(...box);
    }
    pen.globalAlpha = 1;
  }
}

export class Square {
  constructor(about) {
    this.work = new Latest();
    this.mosaics = [new Mosaic($("square-0")), new Mosaic($("square-1"))];
    $("rival").replaceChildren(...about.rivals.map(({ id, name }) => make("option", { value: id }, name)));
    const named = () => ($("rival-name").textContent = $("rival").selectedOptions[0]?.textContent ?? "");
    $("rival").addEventListener("change", named);
    named();
    $("fill").addEventListener("submit", (event) => {
      event.preventDefault();
      this.start();
    });
  }

  colours() {
    for (const mosaic of this.mosaics) mosaic.colours();
  }

  async start() {
    const signal = this.work.signal();
    this.ends = [null, null];
    $("square-trouble").replaceChildren();
    $("square-told").textContent = "A square is drawn …";
    for (const i of [0, 1]) {
      $(`clock-${i}`).textContent = "–";
      $(`clock-${i}`).className = "";
    }
    $("go").setAttribute("aria-busy", "true");
    const wait = () => ($("square-told").textContent = "Other tabs are racing; this one waits.");
    try {
      const request = { order: ORDER, rival: $("rival").value };
      await turn(signal, wait, () => stream("/api/square", request, signal, (event, data) => this.take(event, data)));
    } catch (error) {
      if (error.name !== "AbortError") this.failed(error.message);
    } finally {
      if (!signal.aborted) $("go").removeAttribute("aria-busy");
    }
  }

  failed(words) {
    $("square-told").textContent = "";
    $("square-trouble").replaceChildren(make("span", {}, words));
  }

  take(event, data) {
    if (event === "wait") $("square-told").textContent = data.words;
    else if (event === "error") this.failed(data.error);
    else if (event === "start") this.begin(data);
    else if (event === "state") {
      $(`clock-${data.of}`).textContent = seconds(data.seconds);
      if (data.values) this.mosaics[data.of].show(data.values);
    } else if (event === "end") this.end(data);
  }

  begin({ order, values, seed, rival }) {
    $("rival-name").textContent = rival;
    const blank = `${count(values.filter((value) => !value).length)} of ${count(values.length)} cells blank`;
    $("square-told").textContent = `Order ${order}, ${blank}, seed ${seed}.`;
    for (const mosaic of this.mosaics) mosaic.begin(order, values);
    this.given = values;
  }

  end(data) {
    const { of, status } = data;
    this.ends[of] = data;
    $(`clock-${of}`).textContent = status === "SAT" ? seconds(data.seconds) : `gave up after ${seconds(data.seconds)}`;
    $(`clock-${of}`).className = status === "SAT" ? "won" : "lost";
    const mosaic = this.mosaics[of];
    const whose = of ? $("rival-name").textContent : "dibs";
    mosaic.canvas.setAttribute("aria-label", `The square of ${whose}: ${status === "SAT" ? "filled" : "not filled"}`);
    if (status === "SAT") this.sweep(mosaic, data.values);
    else mosaic.show(this.given);
    if (this.ends.every(Boolean)) this.verdict();
  }

  // The cells of the answer appear from the upper left on; the clock has stopped before.
  sweep(mosaic, values) {
    const begun = performance.now();
    const { order } = mosaic;
    const tick = (now) => {
      const share = calm() ? 1 : (now - begun) / 1000 / SWEEP;
      const there = (i) => mosaic.given[i] || ((i % order) + i / order) / (2 * order) <= share;
      mosaic.show(values.map((value, i) => (there(i) ? value : 0)), true);
      if (share < 1) requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
  }

  verdict() {
    const [ours, theirs] = this.ends;
    const ratio = theirs.seconds / ours.seconds;
    if (this.ends.every(({ status }) => status === "SAT")) $(`clock-${ratio >= 1 ? 1 : 0}`).className = "";
    const words = told(ours, theirs, $("rival-name").textContent, ratio);
    $("square-told").replaceChildren(make("b", {}, words), " Press again for another square.");
  }
}

// Who has filled the square, and how much sooner.
function told(ours, theirs, rival, ratio) {
  const times = (value) => `${value >= 10 ? count(value) : value.toFixed(1)} times as quick`;
  const [mine, other] = [seconds(ours.seconds), seconds(theirs.seconds)];
  const [filled, rivalFilled] = [ours.status === "SAT", theirs.status === "SAT"];
  if (!filled && !rivalFilled) return "Neither has filled it.";
  if (!rivalFilled) return `dibs fills it in ${mine}; ${rival} has not after ${other}.`;
  if (!filled) return `This time ${rival} wins: ${other}, and dibs has not filled it.`;
  const won = ratio >= 1 ? `dibs is ${times(ratio)}.` : `This time ${rival} is ${times(1 / ratio)}.`;
  return `${won} ${mine} against ${other}.`;
}
