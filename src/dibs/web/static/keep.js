// What can be kept of a race: a link, a picture, the run.

import { post } from "./api.js";
import { busy, count, counted, save, say } from "./page.js";
import { ENDS } from "./panel.js";
import { picture } from "./picture.js";

export function savePicture(race) {
  const nodes = Math.floor(race.position);
  const panels = race.runs.map((run) => {
    const n = run.tree.entries(nodes);
    const at = run.at(Math.min(nodes, run.tree.nodes));
    const ended = nodes >= run.tree.nodes && run.end;
    const note = `${counted(at.nodes, "node")}, ${ended ? ENDS[run.end.status] : "under way"}`;
    return { title: run.name, note, tree: run.tree, n };
  });
  save("dibs-race.svg", "image/svg+xml", picture(panels));
  say("The picture is saved");
}

export async function saveRun(race) {
  const { family, text, box, nodes } = race.runs[0].request;
  const searches = race.runs.map(({ request: { search, guide, seed } }) => ({ search, guide, seed }));
  try {
    const found = await busy(race.ui.json, post("/api/export", { family, text, box, nodes, searches }));
    save("dibs-race.json", "application/json", JSON.stringify(found));
    say("The run is saved");
  } catch (error) {
    race.complain(error.message);
  } finally {
    race.controls();
  }
}

// Copies the link; where that is not allowed, it is there to be copied by hand.
export async function share(race, link) {
  race.ui["link-box"].hidden = false;
  race.ui.link.value = link;
  try {
    await navigator.clipboard.writeText(link);
    say("The link is copied");
  } catch {
    race.ui.link.focus();
    race.ui.link.select();
    say("Copy the link from the field");
  }
}

// The race in a line or two, when it is over: what each needed, and what guidance was good for.
export function verdict(runs) {
  const each = runs.map((run) => ({ run, nodes: run.end?.nodes ?? 0, ok: run.end && run.end.status !== "LIMIT" }));
  const [first, second] = each;
  if (!each.every(({ run }) => run.end)) return { words: "One of the searches failed.", winner: -1 };
  if (!first.ok && !second.ok) return { words: "Neither search has an answer within its limit.", winner: -1 };
  if (first.ok !== second.ok) {
    const [won, lost] = first.ok ? [first, second] : [second, first];
    const words = `${won.run.name} has the answer after ${counted(won.nodes, "node")}`;
    return { words: `${words}; ${lost.run.name} has none after ${count(lost.nodes)}.`, winner: each.indexOf(won) };
  }
  if (first.nodes === second.nodes) return { words: `Both need ${counted(first.nodes, "node")}.`, winner: -1 };
  const [won, lost] = first.nodes < second.nodes ? [first, second] : [second, first];
  const less = won.nodes ? `${times(lost.nodes / won.nodes)} fewer nodes` : "no node at all";
  const price = won.run.end.asks ? "but more time: asking the guide is not free" : "but more time";
  const quick = won.run.seconds <= lost.run.seconds ? "and less time" : price;
  return { words: `${won.run.name} needs ${less}, ${quick}.`, winner: each.indexOf(won) };
}

const times = (ratio) => (ratio >= 10 ? `${count(ratio)} times` : `${ratio.toFixed(1)} times`);
