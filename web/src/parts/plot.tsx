// A plot of values over time.

import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import { clock, compact } from "../data/format";
import { now, type Measure, type Series } from "../data/live";

export interface Line {
  measure: Measure;
  label: string;
  color: string; // the name of a colour of the design system
  fill?: boolean;
}

const colorOf = (name: string) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function axes(format: (n: number) => string): uPlot.Axis[] {
  const common = { stroke: colorOf("--muted"), font: "11px system-ui, sans-serif", ticks: { show: false } };
  return [
    { ...common, space: 90, size: 24, grid: { show: false }, values: (_, times) => times.map((t) => seconds(t)) },
    { ...common, size: 52, grid: { stroke: colorOf("--line"), width: 1 }, values: (_, ns) => ns.map(format) },
  ];
}

function seconds(time: number): string {
  const at = new Date(time * 1000);
  return `${clock(at)}:${String(at.getSeconds()).padStart(2, "0")}`;
}

// window is how much time a plot shows at least, in seconds, so that it does not jump at first.
const window = 120;

function draw(at: HTMLElement, lines: readonly Line[], least: number, format: (n: number) => string, point: (index: number | null) => void): uPlot {
  return new uPlot({
    width: at.clientWidth,
    height: at.clientHeight,
    legend: { show: false },
    cursor: { y: false, points: { size: 6 }, drag: { x: false, y: false } },
    scales: {
      x: { range: (_, min, max) => [Math.min(min ?? 0, (max ?? 0) - window), max ?? 0] },
      y: { range: (_, __, max) => [0, Math.max(max ?? 0, least) * 1.1] },
    },
    axes: axes(format),
    series: [{}, ...lines.map((line) => ({
      label: line.label,
      stroke: colorOf(line.color),
      width: 1.5,
      points: { show: false },
      ...(line.fill && { fill: `${colorOf(line.color)}26` }),
    }))],
    hooks: { setCursor: [(u) => point(u.cursor.idx ?? null)] },
  }, [[], ...lines.map(() => [])], at);
}

export function Plot({ title, series, lines, least = 1, format = compact }: {
  title: string;
  series: Series;
  lines: readonly Line[];
  least?: number; // the scale has at least this as its top
  format?: (n: number) => string;
}) {
  const at = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const [pointed, setPointed] = useState<number | null>(null);

  useEffect(() => {
    const place = at.current!;
    const dark = matchMedia("(prefers-color-scheme: dark)");
    const make = () => {
      plot.current?.destroy();
      plot.current = draw(place, lines, least, format, setPointed);
      plot.current.setData(dataOf(series, lines));
    };
    make();
    dark.addEventListener("change", make);
    const sizes = new ResizeObserver(() => plot.current?.setSize({ width: place.clientWidth, height: place.clientHeight }));
    sizes.observe(place);
    return () => {
      dark.removeEventListener("change", make);
      sizes.disconnect();
      plot.current?.destroy();
      plot.current = undefined;
    };
  }, [series]);

  const tick = now.value;
  useEffect(() => plot.current?.setData(dataOf(series, lines)), [tick, series]);

  const index = pointed ?? series.times.length - 1;
  const value = (line: Line) => series[line.measure][index];
  return (
    <section class="card">
      <header>
        <h2>{title}</h2>
        <div class="legend">
          {lines.map((line) => (
            <span key={line.measure} style={{ "--mark": `var(${line.color})` }}>
              {line.label} <b>{value(line) === undefined ? "–" : format(value(line)!)}</b>
            </span>
          ))}
        </div>
      </header>
      <div class="plot" ref={at} role="img" aria-label={`${title}: ${lines.map((l) => `${l.label} ${format(value(l) ?? 0)}`).join(", ")}`}>
        {series.times.length < 2 && <p class="wait">Collecting…</p>}
      </div>
    </section>
  );
}

const dataOf = (series: Series, lines: readonly Line[]): uPlot.AlignedData => [
  series.times.slice(),
  ...lines.map((line) => series[line.measure].slice()),
];
