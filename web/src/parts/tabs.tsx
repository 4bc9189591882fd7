// The head of the pages about one queue.

import type { ComponentChildren } from "preact";
import { queues } from "../data/live";
import { compact } from "../data/format";
import { href } from "../data/router";

export function QueueHead({ queue, page, children }: { queue: string; page: "queue" | "messages" | "dead" | "consumers" | "history" | "recurring"; children?: ComponentChildren }) {
  const q = queues.value.get(queue);
  const tabs = [
    { id: "queue", name: "Overview", to: href(["queues", queue]) },
    { id: "messages", name: "Messages", to: href(["queues", queue, "messages"]) },
    { id: "dead", name: `Dead letters${q && q.dead > 0 ? ` (${compact(q.dead)})` : ""}`, to: href(["queues", queue, "dead"]) },
    { id: "history", name: "History", to: href(["queues", queue, "history"]) },
    { id: "recurring", name: "Recurring", to: href(["queues", queue, "recurring"]) },
    { id: "consumers", name: "Consumers", to: href(["queues", queue, "consumers"]) },
  ];
  return (
    <>
      <div class="head">
        <h1>{queue}</h1>
        {q?.paused && <span class="badge warn">paused</span>}
        {!q && <span class="badge bad">does not exist</span>}
        <span class="grow" />
        <div class="actions">{children}</div>
      </div>
      <nav class="tabs" aria-label="Pages of the queue">
        {tabs.map((t) => <a key={t.id} href={t.to} aria-current={t.id === page ? "page" : undefined}>{t.name}</a>)}
      </nav>
    </>
  );
}
