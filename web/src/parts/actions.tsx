// What can be done to messages, with the questions that are asked before.

import { signal } from "@preact/signals";
import { api, type Count, type Filter, type Message } from "../data/api";
import { count, exact, localInput, plural } from "../data/format";
import { visible } from "./body";
import { ask, toast } from "./dialog";

const spreads = ["0s", "1m", "10m", "1h", "6h"] as const;

// outcome says how many messages were changed.
function outcome(answer: Count, done: string): string {
  const refused = answer.errors?.length ?? 0;
  return `${plural(answer.count, "message")} ${done}${refused > 0 ? `, ${count(refused)} refused: ${answer.errors![0]!.detail ?? answer.errors![0]!.code}` : ""}.`;
}

export function askCancel(queue: string, id: string, done: () => void): void {
  ask({
    title: "Cancel this message?",
    confirm: "Cancel the message",
    danger: true,
    typed: "cancel",
    body: <p>It is removed and never delivered. If a consumer holds it, the consumer is asked to stop.</p>,
    run: async () => {
      await api.cancel(queue, id);
      toast("The message is cancelled.");
      done();
    },
  });
}

export function askStop(queue: string, m: Message, done: () => void): void {
  ask({
    title: `Stop ${visible(m.key ?? m.id)}?`,
    confirm: "Stop it",
    danger: true,
    typed: "stop",
    body: <p>The message is cancelled, so there is no next time. It recurs again when a program sends it again with its schedule.</p>,
    run: async () => {
      await api.cancel(queue, m.id);
      toast("It does not recur any more.");
      done();
    },
  });
}

export function askDelete(queue: string, ids: string[], done: () => void): void {
  ask({
    title: ids.length === 1 ? "Delete this message?" : `Delete ${count(ids.length)} messages?`,
    confirm: "Delete",
    danger: true,
    typed: ids.length === 1 ? "delete" : `delete ${ids.length}`,
    body: <p>Scheduled, ready and dead messages are removed for good; what a consumer holds stays.</p>,
    run: async () => {
      toast(outcome(await api.remove(queue, ids), "deleted"));
      done();
    },
  });
}

// putBack gives a message the due time again that it had.
export const putBack = (queue: string, id: string, due: string, done: () => void) => async (): Promise<string> => {
  await api.reschedule(queue, id, { due });
  done();
  return `The message is due at ${exact(new Date(due))} again.`;
};

// offsets are times that people choose often.
const offsets: readonly (readonly [string, number])[] = [["now", 0], ["in 10 min", 600_000], ["in 1 h", 3_600_000], ["in 1 day", 86_400_000]];

export function askReschedule(queue: string, id: string, due: string | undefined, done: () => void): void {
  const chosen = signal(localInput(due ? new Date(due) : new Date()));
  const Input = () => (
    <>
      <label>
        Due, in your time zone
        <input type="datetime-local" step={1} value={chosen.value} onInput={(e) => (chosen.value = e.currentTarget.value)} required />
      </label>
      <div class="choices">
        {offsets.map(([name, ms]) => <button key={name} type="button" onClick={() => (chosen.value = localInput(new Date(Date.now() + ms)))}>{name}</button>)}
      </div>
    </>
  );
  ask({
    title: "Reschedule this message",
    confirm: "Reschedule",
    body: <Input />,
    ready: () => !Number.isNaN(Date.parse(chosen.value)),
    run: async () => {
      await api.reschedule(queue, id, { due: new Date(chosen.value).toISOString() });
      toast(`The message is due at ${chosen.value.replace("T", " ")}.`, false, due ? putBack(queue, id, due, done) : undefined);
      done();
    },
  });
}

export async function redriveSelected(queue: string, ids: string[], done: () => void): Promise<string> {
  const text = outcome(await api.redrive(queue, ids), "ready again");
  done();
  return text;
}

// Spread asks over how much time the messages become ready.
function Spread({ chosen }: { chosen: { value: string } }) {
  return (
    <div class="choices" role="group" aria-label="Spread over">
      {spreads.map((s) => (
        <button key={s} type="button" aria-pressed={chosen.value === s} class={chosen.value === s ? "primary" : ""} onClick={() => (chosen.value = s)}>
          {s === "0s" ? "all at once" : `over ${s}`}
        </button>
      ))}
    </div>
  );
}

const describe = (filter: Filter) => (filter.failure_group ? <>whose failure is <span class="failure">{visible(filter.failure_group)}</span>, or differs from it only in numbers and ids</> : filter.failure ? <>whose failure has <span class="failure">{filter.failure}</span></> : <>that match the filter</>);

// askRedriveAll counts first, so that the question has the number.
export async function askRedriveAll(queue: string, filter: Filter, done: () => void): Promise<void> {
  const { count: n } = await api.redriveAll(queue, filter, { dry_run: true });
  const chosen = signal<string>(n > 100 ? "10m" : "0s");
  ask({
    title: `Redrive ${plural(n, "dead letter")}?`,
    confirm: `Redrive ${count(n)}`,
    body: (
      <>
        <p>The dead letters {describe(filter)} are delivered again, with all their attempts; this cannot be undone. Spread over some time they do not arrive all at once at a service that has just come back.</p>
        <Spread chosen={chosen} />
      </>
    ),
    run: async () => {
      toast(outcome(await api.redriveAll(queue, filter, { spread: chosen.value === "0s" ? undefined : chosen.value }), "redriven"));
      done();
    },
  });
}

export async function askPurge(queue: string, filter: Filter, done: () => void): Promise<void> {
  const { count: n } = await api.purge(queue, filter, { dry_run: true });
  ask({
    title: `Delete ${plural(n, "message")}?`,
    confirm: `Delete ${count(n)}`,
    danger: true,
    typed: `delete ${n}`,
    body: <p>The {filter.state} messages {describe(filter)} are removed for good.</p>,
    run: async () => {
      toast(outcome(await api.purge(queue, filter, {}), "deleted"));
      done();
    },
  });
}

export async function askRescheduleAll(queue: string, filter: Filter, done: () => void): Promise<void> {
  const { count: n } = await api.rescheduleAll(queue, filter, { dry_run: true, delay: "0s" });
  const chosen = signal<string>("0s");
  ask({
    title: `Make ${plural(n, "message")} due now?`,
    confirm: `Make ${count(n)} due`,
    body: (
      <>
        <p>The messages {describe(filter)} become due now, or spread over some time. Their former times are not kept: this cannot be undone.</p>
        <Spread chosen={chosen} />
      </>
    ),
    run: async () => {
      toast(outcome(await api.rescheduleAll(queue, filter, { delay: "0s", spread: chosen.value === "0s" ? undefined : chosen.value }), "rescheduled"));
      done();
    },
  });
}
