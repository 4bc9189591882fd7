// Pages of messages. The server examines as many messages for a page as were asked for, partition by
// partition, so a page can have few of those that match, even none, although more follow.

import { api, type Filter, type Message } from "./api";

export interface Found {
  messages: Message[];
  next?: string;
  examined: number; // at most
}

// Wanted is a part of a list.
export interface Wanted {
  cursor?: string;
  order?: "asc" | "desc";
  limit: number; // messages to examine for the first answer
  most?: number; // and for one of those that follow, where few match; missing: as many
  rows: number; // that are wanted
  body_limit?: number;
}

// After so many answers, or messages examined, without enough matches the reader is asked to go on.
const mostAnswers = 20;
const mostExamined = 10_000;

// collect reads answers until there are enough messages. It reports what was found by then, in an
// order in which more is only added behind it.
export async function collect(queue: string, filter: Filter, { cursor, order, limit, most = limit, rows, body_limit }: Wanted, signal: AbortSignal, report = (_: Found) => {}): Promise<Found> {
  const found: Found = { messages: [], next: cursor, examined: 0 };
  const have = new Set<string>();
  for (let answers = 1; ; answers++) {
    const answer = await api.list(queue, filter, { cursor: found.next, order, limit, body_limit }, signal);
    for (const m of answer.messages) {
      if (!have.has(m.id)) found.messages.push(m);
      have.add(m.id);
    }
    found.next = answer.next;
    found.examined += limit;
    if (!found.next || found.messages.length >= rows || answers === mostAnswers || found.examined >= mostExamined) return found;
    report({ ...found, messages: [...found.messages] });
    limit = Math.min(most, 4 * limit);
  }
}
