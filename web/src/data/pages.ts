// Pages of messages. The server examines as many messages for a page as were asked for, partition by
// partition, so a page can have few of those that match, even none, although more follow.

import { api, type Filter, type Message } from "./api";

export interface Found {
  messages: Message[];
  next?: string;
  answers: number;
}

// mostAnswers is after how many answers without enough matches the reader is asked to go on.
const mostAnswers = 20;

// collect reads answers until there are enough messages.
export async function collect(queue: string, filter: Filter, page: { cursor?: string; limit: number; body_limit?: number }, wanted: number, signal: AbortSignal): Promise<Found> {
  const found: Found = { messages: [], next: page.cursor, answers: 0 };
  const have = new Set<string>();
  do {
    const answer = await api.list(queue, filter, { ...page, cursor: found.next }, signal);
    found.messages.push(...answer.messages.filter((m) => !have.has(m.id)));
    for (const m of answer.messages) have.add(m.id);
    found.next = answer.next;
    found.answers++;
  } while (found.next && found.messages.length < wanted && found.answers < mostAnswers);
  return found;
}
