// What is known of the store behind the server, for the pages that show it.

import { signal } from "@preact/signals";
import { api, type Store } from "./api";
import type { Problem } from "./api";
import { toProblem } from "./load";

export const store = signal<Store | undefined>(undefined);
export const storeProblem = signal<Problem | undefined>(undefined);

// asked: the store has been looked at, or that takes long.
export const asked = signal(false);
const longMS = 1000;

// refreshStore looks at the store. A token that may not see it gets a problem.
export async function refreshStore(): Promise<void> {
  setTimeout(() => (asked.value = true), longMS);
  try {
    store.value = await api.store();
    storeProblem.value = undefined;
  } catch (error) {
    storeProblem.value = toProblem(error);
  }
  asked.value = true;
}
