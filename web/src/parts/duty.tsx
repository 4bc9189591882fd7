// What a consumer does for the partitions of its queue.

import type { Member } from "../data/api";

// Duty names the partitions for which a consumer is on duty. partitions: of the queue; 0: not known.
export function Duty({ member: m, partitions }: { member: Member; partitions: number }) {
  if (m.trial) return <span class="badge" title="It was started less than 15 s ago, or is pinned to partitions">no duties</span>;
  if (m.on_duty.length === 0) return <span class="muted">helps others</span>;
  return <>{m.on_duty.length === partitions && partitions > 1 ? `all ${partitions}` : ranges(m.on_duty)}</>;
}

// ranges returns numbers in a short form: 0–3, 7.
function ranges(all: readonly number[]): string {
  const parts: string[] = [];
  const sorted = [...all].sort((a, b) => a - b);
  for (let i = 0; i < sorted.length; i++) {
    const from = sorted[i]!;
    while (sorted[i + 1] === sorted[i]! + 1) i++;
    parts.push(from === sorted[i] ? `${from}` : `${from}–${sorted[i]}`);
  }
  return parts.join(", ");
}
