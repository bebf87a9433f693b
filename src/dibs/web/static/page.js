// Small things that every part of the page uses.

export const $ = (id) => document.getElementById(id);

// An element with attributes and children; `on` are its listeners.
export function make(tag, attributes = {}, children = [], on = {}) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...[children].flat());
  for (const [name, listener] of Object.entries(on)) element.addEventListener(name, listener);
  return element;
}

export function options(select, items, chosen) {
  select.replaceChildren(...items.map(({ value, text }) => make("option", { value }, text)));
  if (chosen !== undefined && items.some((item) => item.value === chosen)) select.value = chosen;
}

export const count = (number) => Math.round(number).toLocaleString("en-US");

export const counted = (number, word) => `${count(number)} ${word}${number === 1 ? "" : "s"}`;

export function seconds(value) {
  if (value === undefined || value === null) return "–";
  if (value < 0.0995) return `${(1000 * value).toPrecision(2)} ms`;
  return value < 10 ? `${value.toFixed(2)} s` : `${value.toFixed(1)} s`;
}

export function percent(value) {
  if (value > 0 && value < 0.001) return "under 0.1%";
  if (value < 1 && value > 0.999) return "over 99.9%";
  return `${(100 * value).toFixed(1)}%`;
}

export const cellName = (index, size) => `r${Math.floor(index / size) + 1}c${(index % size) + 1}`;

export function later(wait, action) {
  let timer = 0;
  return (...given) => {
    clearTimeout(timer);
    timer = setTimeout(() => action(...given), wait);
  };
}

export function save(name, type, text) {
  const url = URL.createObjectURL(new Blob([text], { type }));
  make("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

// Says a line to screen readers, and shows it for a moment, unless the page shows it elsewhere.
let hide = 0;
export function say(words, shown = true) {
  const line = $("said");
  line.textContent = words;
  line.classList.toggle("shown", shown);
  clearTimeout(hide);
  hide = setTimeout(() => line.classList.remove("shown"), 4000);
}

// Marks a button, or whatever was pressed, as busy until `work` is done; whatever becomes of it is handed on.
export async function busy(element, work) {
  element.setAttribute("aria-busy", "true");
  if ("disabled" in element) element.disabled = true;
  try {
    return await work;
  } finally {
    element.removeAttribute("aria-busy");
    if ("disabled" in element) element.disabled = false;
  }
}

// Shows words just above an element.
export function bubble(tip, mark, words) {
  const at = mark.getBoundingClientRect();
  tip.textContent = words;
  tip.hidden = false;
  const wide = tip.offsetWidth;
  tip.style.left = `${Math.max(4, Math.min(innerWidth - wide - 4, at.left + at.width / 2 - wide / 2))}px`;
  tip.style.top = `${at.top - tip.offsetHeight - 6}px`;
}

export const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
