// The keyboard: j and k move between rows, Enter opens one, / goes to the filter, ? shows this.

import { ask } from "./dialog";

const keys: readonly (readonly [string, string])[] = [
  ["j", "next row"], ["k", "row before"], ["Enter", "open the row"], ["/", "to the filter"], ["g", "to the overview"], ["c", "to the consumers"], ["s", "to the store"], ["?", "these shortcuts"],
];

export function showKeys(): void {
  ask({
    title: "Keyboard shortcuts",
    confirm: "Close",
    run: async () => {},
    body: <dl class="facts">{keys.map(([key, what]) => <><dt><kbd>{key}</kbd></dt><dd>{what}</dd></>)}</dl>,
  });
}

function move(by: number): void {
  const rows = [...document.querySelectorAll<HTMLElement>("a.row, li.row")];
  const at = rows.indexOf(document.activeElement as HTMLElement);
  rows[at < 0 ? 0 : Math.min(rows.length - 1, Math.max(0, at + by))]?.focus();
}

const actions: Record<string, () => void> = {
  j: () => move(1),
  k: () => move(-1),
  "/": () => document.querySelector<HTMLElement>("[data-filter]")?.focus(),
  c: () => (location.hash = "#/consumers"),
  s: () => (location.hash = "#/store"),
  g: () => (location.hash = "#/"),
  "?": showKeys,
};

export function listenToKeys(): void {
  addEventListener("keydown", (event) => {
    const in_ = event.target as HTMLElement;
    if (event.key === "Escape" && in_.matches("[data-filter]")) in_.blur(); // back to the rows
    if (event.ctrlKey || event.metaKey || event.altKey || in_.matches("input, select, textarea") || document.querySelector("dialog[open]")) return;
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  });
}
