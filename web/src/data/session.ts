// Who looks at the dashboard, and what they may do.

import { computed, signal } from "@preact/signals";
import { api, Problem, whenUnauthorized, type Session } from "./api";

// session is null while a token is wanted, and undefined until the server has answered.
export const session = signal<Session | null | undefined>(undefined);

// outdated: the server has another version of the dashboard by now.
export const outdated = signal(false);

whenUnauthorized(() => {
  session.value = null;
});

// refreshSession asks the server who the caller is. It reports whether the server has answered.
export async function refreshSession(): Promise<boolean> {
  try {
    const now = await api.session();
    const before = session.peek();
    if (before && before.build !== now.build) outdated.value = true;
    session.value = now;
    return true;
  } catch (error) {
    if (error instanceof Problem && error.status === 401) {
      session.value = null;
      return true;
    }
    return false;
  }
}

// askSession asks until the server has answered.
export function askSession(): void {
  void refreshSession().then((answered) => answered || setTimeout(askSession, retryMS));
}

const retryMS = 2000;

export async function signIn(token: string): Promise<void> {
  session.value = await api.signIn(token);
}

export async function signOut(): Promise<void> {
  await api.signOut();
  session.value = null;
}

const has = (scope: string) => session.value?.scopes.some((s) => s === scope || s === "admin") === true;

// mayAdmin: redrive, purge and delete messages, pause queues. mayProduce: cancel and reschedule.
export const mayAdmin = computed(() => has("admin") && !session.value?.read_only);
export const mayProduce = computed(() => has("produce") && !session.value?.read_only);
