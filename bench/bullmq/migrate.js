// Writes jobs in all states for bench/migrate: node migrate.js SOCKET DUE_MS FAILING_MS
import { FlowProducer, Queue, Worker } from 'bullmq';
import IORedis from 'ioredis';

const [path, due, failing] = [process.argv[2], Number(process.argv[3]), Number(process.argv[4])];
const connect = () => new IORedis({ path, maxRetriesPerRequest: null });
const queue = new Queue('hooks', { connection: connect() });
const add = (name, opts) => queue.add(name, { n: name }, opts);

// One job of each end: done, failed for good, and waiting for its retry.
await add('completed');
await add('failed', { attempts: 1 });
await add('retried', { attempts: 5, backoff: { type: 'fixed', delay: failing } });
await new Promise((resolve) => {
  let handled = 0;
  const worker = new Worker('hooks', async (job) => {
    if (job.name !== 'completed') throw new Error('it fails');
  }, { connection: connect() });
  const count = async () => {
    if (++handled < 3) return;
    await worker.close();
    resolve();
  };
  worker.on('completed', count);
  worker.on('failed', count);
});
await add('delayed', { delay: due - Date.now(), jobId: 'order-42' });
await add('waiting', { deduplication: { id: 'once' } });
await add('lifo', { lifo: true });
await add('first', { priority: 3 });
await queue.upsertJobScheduler('each-hour', { every: 3600_000 }, { name: 'recurring', data: { n: 'recurring' } });
await new FlowProducer({ connection: connect() }).add({
  name: 'parent', queueName: 'hooks', data: { n: 'parent' },
  children: [{ name: 'child', queueName: 'hooks', data: { n: 'child' } }],
});
process.exit(0);
