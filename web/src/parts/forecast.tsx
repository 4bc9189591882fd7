// How many messages become due when: the picture that only a delayed queue has.

import { useState } from "preact/hooks";
import { api } from "../data/api";
import { clock, compact, count, day, plural } from "../data/format";
import { connection } from "../data/live";
import { useLoaded, useTick } from "../data/load";
import { change, href, route } from "../data/router";
import { ProblemNotice } from "./small";

interface Scale {
  name: string;
  step: string;
  ms: number;
  spans: number;
  refresh: number;
}

const scales: readonly Scale[] = [
  { name: "hour", step: "1m", ms: 60_000, spans: 60, refresh: 5_000 },
  { name: "day", step: "30m", ms: 1_800_000, spans: 48, refresh: 15_000 },
  { name: "month", step: "1d", ms: 86_400_000, spans: 30, refresh: 60_000 },
];

function label(at: Date, scale: Scale): string {
  return scale.name === "month" ? day(at).slice(5) : clock(at);
}

// ForecastChart shows a queue, or all together: those that are named, or else all there are.
export function ForecastChart({ queue: only, named = [], note }: { queue?: string; named?: string[]; note?: string }) {
  const scale = scales.find((s) => s.name === route.value.query.get("due")) ?? scales[0]!;
  const tick = useTick(scale.refresh, connection.value === "held");
  const { value, problem } = useLoaded(async (signal) => {
    const found = await (only ? api.forecast(only, scale.step, scale.spans, signal) : api.allForecast(named, scale.step, scale.spans, signal));
    return { at: Date.now(), scale, ...found };
  }, [only, named.join(), scale, tick]);
  const [pointed, setPointed] = useState<number | null>(null);

  const shown = value?.scale === scale ? value : undefined;
  const start = (i: number) => new Date((shown?.at ?? 0) + i * scale.ms);
  const most = Math.max(1, ...(shown?.counts ?? []));
  const within = shown?.counts.reduce((a, b) => a + b, 0) ?? 0;
  const until = (i: number) => shown!.counts.slice(0, i + 1).reduce((a, b) => a + b, 0);
  const said = (i: number) => `${label(start(i), scale)} to ${label(start(i + 1), scale)}: ${plural(shown!.counts[i]!, "message")}${i > 0 ? `, ${count(until(i))} from now until then` : ""}`;
  return (
    <section class="card">
      <header>
        <h2>Due in the next {scale.name}</h2>
        <div class="segments" role="group" aria-label="Span of the forecast">
          {scales.map((s) => (
            <button key={s.name} aria-pressed={s === scale} onClick={() => change({ due: s.name === "hour" ? undefined : s.name }, true)}>{s.name}</button>
          ))}
        </div>
      </header>
      <ProblemNotice problem={problem} />
      <p class="said muted small">
        {!shown ? "" : pointed !== null && shown.counts[pointed] !== undefined ? said(pointed) : `${plural(within, "message")}, ${compact(shown.later)} later, ${compact(shown.ready)} now${note ? ` · ${note}` : ""}`}
      </p>
      <div class="bars" onMouseLeave={() => setPointed(null)}>
        {within > 0 && <span class="top">{count(most)}</span>}
        {Array.from({ length: scale.spans }, (_, i) => {
          const n = shown?.counts[i] ?? 0;
          const bar = <i style={{ height: n === 0 ? "0" : `max(2px, ${(n / most) * 88}%)` }} />;
          const range = shown && `${start(i).toISOString()}..${start(i + 1).toISOString()}`;
          return n > 0 && only && shown ? (
            <a key={i} href={href(["queues", only, "messages"], { state: "scheduled", due: range })} aria-label={said(i)} onMouseEnter={() => setPointed(i)} onFocus={() => setPointed(i)}>{bar}</a>
          ) : (
            <a key={i} onMouseEnter={() => setPointed(i)}>{bar}</a>
          );
        })}
        {shown && within === 0 && <p class="wait">{shown.later > 0 ? `Nothing in this span; ${plural(shown.later, "message")} later.` : "Nothing is scheduled."}</p>}
      </div>
      <div class="axis">
        {[0, 0.25, 0.5, 0.75, 1].map((part) => <span key={part}>{shown ? label(start(Math.round(part * scale.spans)), scale) : " "}</span>)}
      </div>
    </section>
  );
}
