// Numbers, times and sizes as text.

const integer = new Intl.NumberFormat("en");
const short = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });

export const count = (n: number): string => integer.format(n);

// compact returns a number in about five characters: 999, 1.2K, 3.45M.
export const compact = (n: number): string => (Math.abs(n) < 10_000 ? integer.format(n) : short.format(n));

// rate returns a number per second.
export const rate = (n: number): string => (n >= 100 || n === 0 ? compact(Math.round(n)) : n.toFixed(1));

export const plural = (n: number, one: string, many = `${one}s`): string => `${count(n)} ${n === 1 ? one : many}`;

const units: readonly (readonly [string, number])[] = [
  ["d", 86_400_000], ["h", 3_600_000], ["min", 60_000], ["s", 1000],
];

// span returns a duration in its two largest units: 2 d 3 h, 4 min 10 s, 350 ms.
export function span(ms: number): string {
  const abs = Math.abs(ms);
  if (abs < 1000) return `${Math.round(abs)} ms`;
  const first = units.findIndex(([, size]) => abs >= size);
  const [unit, size] = units[first]!;
  const next = units[first + 1];
  const whole = Math.floor(abs / size);
  const rest = next ? Math.floor((abs % size) / next[1]) : 0;
  return next && rest > 0 && whole < 100 ? `${whole} ${unit} ${rest} ${next[0]}` : `${whole} ${unit}`;
}

// relative returns an instant as seen from another one.
export function relative(at: number, from: number): string {
  const ms = at - from;
  if (Math.abs(ms) < 1000) return "now";
  return ms > 0 ? `in ${span(ms)}` : `${span(ms)} ago`;
}

const two = (n: number) => String(n).padStart(2, "0");

export const day = (d: Date): string => `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())}`;
export const clock = (d: Date): string => `${two(d.getHours())}:${two(d.getMinutes())}`;

// exact returns an instant in the reader's time zone, to the second.
export const exact = (d: Date): string => `${day(d)} ${clock(d)}:${two(d.getSeconds())}`;

// localInput returns an instant as the value of an input for dates and times.
export const localInput = (d: Date): string => `${day(d)}T${clock(d)}:${two(d.getSeconds())}`;

export function bytes(n: number): string {
  if (n < 1024) return `${count(n)} B`;
  const kib = n / 1024;
  if (kib < 1024) return `${kib.toFixed(kib < 10 ? 1 : 0)} KiB`;
  const mib = kib / 1024;
  return mib < 1024 ? `${mib.toFixed(1)} MiB` : `${(mib / 1024).toFixed(1)} GiB`;
}

// goSpan returns a duration as the API writes it, such as 24h0m0s, in the form of span.
export function goSpan(text: string): string {
  const sizes: Record<string, number> = { h: 3_600_000, m: 60_000, s: 1000, ms: 1 };
  let ms = 0;
  for (const [, n, unit] of text.matchAll(/([0-9.]+)(ms|h|m|s)/g)) ms += parseFloat(n!) * sizes[unit!]!;
  return span(ms);
}
