// What the guide believes of a puzzle, beside the board: how it sharpens from pass to pass, and where it is wrong.

import { $, counted, make } from "./page.js";

export const PASSES = 8;

// The slider over the passes, and a bar for what each leaves uncertain; null while nothing is known.
export function sharpening(heat, step) {
  const slider = $("step");
  slider.disabled = !heat;
  slider.max = heat?.steps.length ?? PASSES;
  $("step-of").textContent = heat ? `${step} of ${heat.steps.length}` : `1 of ${PASSES}`;
  const most = heat ? Math.max(...heat.entropy, 1e-9) : 1;
  const bars = (heat?.entropy ?? []).map((left, i) => {
    const bar = make("i", { class: i + 1 === step ? "on" : "" });
    bar.style.setProperty("--h", (left / most).toFixed(3));
    return bar;
  });
  $("entropy").replaceChildren(...bars);
  const words = heat ? heat.entropy.map((left) => left.toFixed(2)).join(", ") : "not computed yet";
  $("entropy").setAttribute("aria-label", `Uncertainty by step: ${words}`);
  if (heat) slider.setAttribute("aria-valuetext", `step ${step}, uncertainty ${heat.entropy[step - 1].toFixed(2)}`);
}

// How many cells the guide is wrong about, in the step that is shown.
export function mistakes(board) {
  const wrong = board.cells?.filter((cell) => cell.classList.contains("mistaken")).length ?? 0;
  const known = $("heat").checked && board.truth;
  const words = wrong ? `Wrong about ${counted(wrong, "cell")}, marked red.` : "Right about every cell.";
  $("mistakes").textContent = known ? words : "";
}
