// Drives BullMQ for the harness: reads requests from stdin and writes replies and events
// to stdout, one line of JSON each. bench/driver/protocol.go describes them.
import { writeSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { Queue, Worker } from 'bullmq';
import IORedis from 'ioredis';

const QUEUE = 'bench';
const SHUFFLE = 7919; // as in bench/peer/load.go
const FILLER = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_';

const connect = () => new IORedis({ path: process.argv[2], maxRetriesPerRequest: null });
const queue = new Queue(QUEUE, {
  connection: connect(),
  defaultJobOptions: { removeOnComplete: true },
});
let worker;

// A line is written at once, so that it outlives a kill of this process.
const write = (line) => writeSync(1, JSON.stringify(line) + '\n');

const cpu = () => {
  const { user, system } = process.cpuUsage();
  return user + system;
};

// The body that load.go makes: number, due time, text that does not repeat.
function body(seq, due, size) {
  let text = `${seq} ${due} `;
  let x = (Math.imul(seq, 2654435761 | 0) + 1) >>> 0;
  while (text.length < size) {
    x = (Math.imul(x, 1664525) + 1013904223) >>> 0;
    text += FILLER[x >>> 26];
  }
  return text;
}

function job(r, i) {
  let due = r.due_ms;
  if (r.spread_ms > 0) due += Math.floor((((i * SHUFFLE) % r.count) * r.spread_ms) / r.count);
  const seq = r.from + i;
  return { name: 'm', data: { b: body(seq, due, r.body_size) }, opts: { delay: Math.max(0, due - Date.now()) } };
}

async function send(r) {
  const step = Math.max(r.batch, 1);
  let next = 0;
  let sent = 0;
  const producer = async () => {
    for (let i = next; i < r.count; i = next) {
      next += step;
      if (r.batch > 1) {
        const jobs = [];
        for (let k = i; k < Math.min(i + step, r.count); k++) jobs.push(job(r, k));
        const added = await queue.addBulk(jobs); // not in one line: sent may change meanwhile
        sent += added.length;
      } else {
        const { name, data, opts } = job(r, i);
        await queue.add(name, data, opts);
        sent++;
      }
    }
  };
  const [start, used] = [process.hrtime.bigint(), cpu()];
  await Promise.all(Array.from({ length: Math.max(r.producers, 1) }, producer));
  return { sent, wall_us: Number((process.hrtime.bigint() - start) / 1000n), cpu_us: cpu() - used };
}

const nowUs = () => Math.round((performance.timeOrigin + performance.now()) * 1000);

async function consume(r) {
  let handled = 0;
  worker = new Worker(QUEUE, async (job) => {
    const start = nowUs();
    if (r.work_ms) await sleep(r.work_ms);
    if (r.stream) {
      const [seq, due] = job.data.b.split(' ', 2).map(Number);
      write({ d: [seq, start - due * 1000] });
    }
    if (++handled === r.expect) write({ reached: nowUs() });
  }, { connection: connect(), concurrency: r.concurrency });
  worker.on('error', (e) => console.error(e));
  await worker.waitUntilReady();
  return {};
}

async function size() {
  const counts = await queue.getJobCounts('delayed', 'wait', 'prioritized', 'active', 'paused');
  return { size: Object.values(counts).reduce((a, b) => a + b, 0) };
}

const ops = {
  send,
  consume,
  stop: async () => { await worker?.close(); worker = undefined; return {}; },
  size,
  cpu: async () => ({ cpu_us: cpu() }),
  heap: async () => ({ heap: process.memoryUsage().heapUsed }),
};

for await (const line of createInterface({ input: process.stdin })) {
  const r = JSON.parse(line);
  if (r.op === 'quit') break;
  let reply;
  try {
    reply = await ops[r.op](r);
  } catch (e) {
    reply = { error: String(e) };
  }
  write({ reply });
}
await worker?.close();
process.exit(0);
