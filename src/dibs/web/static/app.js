// The page as a whole: tabs, colours, the link, and the parts that know one another only here.

import { about } from "./api.js";
import { choose } from "./choose.js";
import { Formula } from "./formula.js";
import { $, make } from "./page.js";
import { Race } from "./race.js";
import { Square } from "./square.js";
import { Sudoku } from "./sudoku.js";

const FAMILIES = ["sudoku", "cnf"];
const WORTH = {
  sudoku: (one) => one.difficulty === "hard" && one.text.length === 81,
  cnf: (one) => one.difficulty === "medium",
};
const THEMES = { auto: "as the system has them", light: "light", dark: "dark" };

const LOOK = 1000; // milliseconds between two looks whether the server is ready

const parts = {}; // by family: {source, race}
const pictures = []; // parts of the page that are painted in colours of their own
let family = "sudoku";
let quiet = false; // while a link is read, none is written

// Tabs

function open(name, focus) {
  family = name;
  for (const one of FAMILIES) {
    const chosen = one === name;
    $(`tab-${one}`).setAttribute("aria-selected", chosen);
    $(`tab-${one}`).tabIndex = chosen ? 0 : -1;
    $(`panel-${one}`).hidden = !chosen;
  }
  if (focus) $(`tab-${name}`).focus();
  if (name === "cnf") firstFormula();
}

function tabs() {
  for (const one of FAMILIES) {
    $(`tab-${one}`).addEventListener("click", () => {
      open(one, true);
      remember();
    });
    $(`tab-${one}`).addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      open(FAMILIES[(FAMILIES.indexOf(one) + step + FAMILIES.length) % FAMILIES.length], true);
      remember();
      event.preventDefault();
    });
  }
}

function firstFormula() {
  const { source } = parts.cnf ?? {};
  if (source && !source.read && !quiet) greet("cnf");
}

// What a family begins with: an example that is worth a race.
async function greet(name) {
  const { source } = parts[name];
  const own = source.about.examples.filter((one) => one.family === name);
  const first = own.find(WORTH[name]) ?? own[0];
  if (first) await source.load(first.text);
}

// Colours

function theme() {
  const names = Object.keys(THEMES);
  let now = "auto";
  try {
    now = localStorage.getItem("theme") ?? "auto";
  } catch {
    // no storage: the choice lasts as long as the page
  }
  const put = (name) => {
    now = names.includes(name) ? name : "auto";
    if (now === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = now;
    $("theme").textContent = `Colours: ${now}`;
    $("theme").setAttribute("aria-label", `Colours: ${THEMES[now]}`);
    repaint();
  };
  $("theme").addEventListener("click", () => {
    put(names[(names.indexOf(now) + 1) % names.length]);
    try {
      localStorage.setItem("theme", now);
    } catch {
      // see above
    }
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
  put(now);
}

function repaint() {
  for (const picture of pictures) picture.colours();
  for (const { race } of Object.values(parts)) for (const panel of race.panels) panel.view.colours();
}

// The link: everything after # in the address

function fields() {
  const { source, race } = parts[family];
  const found = new URLSearchParams({ f: family, p: source.line, ...race.fields });
  if (family === "sudoku") {
    found.set("b", source.puzzle.box.join("x"));
    found.set("g", source.guide);
  }
  return found;
}

const address = () => `${location.origin}${location.pathname}#${fields()}`;

function remember() {
  if (!quiet) history.replaceState(null, "", `#${fields()}`);
}

// A link to a puzzle leads there; any other to a part of the page.
async function restore() {
  const found = new URLSearchParams(location.hash.slice(1));
  const part = [...found.keys()].length === 1 && $(location.hash.slice(1));
  if (part && parts.sudoku.source.read) return;
  const name = FAMILIES.includes(found.get("f")) ? found.get("f") : "sudoku";
  const text = found.get("p");
  quiet = true;
  try {
    open(name, false);
    const { source, race } = parts[name];
    const guide = found.get("g");
    if (name === "sudoku" && guide && [...$("guide").options].some((one) => one.value === guide)) $("guide").value = guide;
    if (text) {
      const box = /^\d+x\d+$/.test(found.get("b") ?? "") ? found.get("b").split("x").map(Number) : undefined;
      await source.load(text, name === "sudoku" ? box : undefined);
    } else await greet(name);
    race.restore(found);
  } finally {
    quiet = false;
  }
  if (text || found.has("f")) $("own").scrollIntoView();
}

function undoing() {
  document.addEventListener("keydown", (event) => {
    if (!(event.ctrlKey || event.metaKey) || event.altKey || family !== "sudoku") return;
    if (event.target.closest("input, textarea, select")) return;
    const key = event.key.toLowerCase();
    if (key === "z" && !event.shiftKey) parts.sudoku.source.undo();
    else if (key === "y" || (key === "z" && event.shiftKey)) parts.sudoku.source.redo();
    else return;
    event.preventDefault();
  });
}

// The first start compiles the search: until that is done, the page says so.
async function prepared(facts) {
  const line = $("preparing");
  line.hidden = facts.ready && facts.squares;
  document.documentElement.toggleAttribute("data-compiling", !facts.ready);
  if (line.hidden) return;
  line.textContent = facts.ready
    ? "Sudokus and formulas are ready; large squares in a moment."
    : "The search is being compiled, once, which takes a minute or so. A race that you start now begins by itself.";
  setTimeout(async () => {
    try {
      prepared(await about());
    } catch (error) {
      line.textContent = error.message;
    }
  }, LOOK);
}

async function main() {
  theme();
  tabs();
  choose().then((one) => {
    pictures.push(one);
    document.documentElement.dataset.replay = "there";
  });
  let facts;
  try {
    facts = await about();
  } catch (error) {
    $("main").prepend(make("p", { class: "errors", role: "alert" }, error.message));
    return;
  }
  prepared(facts);
  pictures.push(new Square(facts));
  $("version").textContent = `dibs ${facts.version}`;
  for (const name of FAMILIES) {
    const changed = () => {
      parts[name]?.race.reset();
      if (name === family && parts[name]) remember();
    };
    const source = name === "sudoku" ? new Sudoku(facts, changed) : new Formula(facts, changed);
    const race = new Race(name, $(`panel-${name}`), { about: facts, family: name, source });
    race.changed = remember;
    race.address = address;
    parts[name] = { source, race };
  }
  undoing();
  addEventListener("hashchange", restore);
  await restore();
  parts.sudoku.source.forget();
  document.documentElement.dataset.ready = "yes";
}

main();
