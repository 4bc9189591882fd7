// Takes the pictures of docs/images: the dashboard on data of flights and webhooks, light and dark.
// Usage: DUEQ=bin/dueq node web/test/pictures.mjs DIRECTORY

import { chromium } from "playwright-core";
import { join } from "node:path";
import { crew, flights, others, reports, webhooks } from "./seed.mjs";
import { Server } from "./server.mjs";
import { makeStore } from "./stores.mjs";

const directory = process.argv[2];
const store = await makeStore("redis", ["--maxmemory", "64mb"]);
const server = await Server.start({ store: store.url });
await others(server);
await flights(server);
await webhooks(server);
await reports(server);
await server.call("PUT", "queues/gates", { partitions: 8 });
await crew(server, {
  gates: ["gate-a1", "gate-a2", "gate-b1", "gate-b2", "gate-c1"], invoices: ["invoicer-1", "invoicer-2"],
  "mail-confirm": ["mailer-1", "mailer-2", "mailer-3"], "trial-ends": ["billing-1"],
});
const dead = (await server.message("webhooks", "dead")).id;

// work sends and acks flights while the pictures are taken, so that the plots have something to show.
let working = true;
const work = (async () => {
  for (let n = 0; working; n++) {
    const wave = 60 + Math.round(40 * Math.sin(n / 4));
    await server.send("flights", Array.from({ length: wave }, (_, i) => ({ body: "{}", key: `${["LH", "BA", "AF", "SK"][i % 4]}${100 + i}-${n}` })));
    await server.settle("flights", Math.round(wave * (0.8 + 0.4 * Math.abs(Math.sin(n / 3)))), (_, i) => (i % 17 ? { verdict: "ack" } : { verdict: "nack", reason: "gate is closed", delay: `${(n + i) % 600}m` }));
    if (n % 3 === 0) await server.call("POST", "queues/flights/messages", { key: `KL${100 + n}-off`, delay: "1h" }).then(() => server.call("DELETE", `queues/flights/messages/key:KL${100 + n}-off`));
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
})();

const browser = await chromium.launch({ executablePath: process.env.DUEQ_CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu"] });
const pages = {
  overview: "#/",
  queue: "#/queues/flights?due=day",
  messages: "#/queues/webhooks/messages?state=scheduled",
  message: `#/queues/webhooks/messages/${dead}`,
  dead: "#/queues/webhooks/dead",
  consumers: "#/consumers",
  held: "#/queues/gates/consumers",
  history: "#/queues/flights/history",
  recurring: "#/queues/reports/recurring",
  store: "#/store",
};
const shown = [];
for (const colorScheme of ["light", "dark"]) {
  const context = await browser.newContext({ colorScheme, viewport: { width: 1200, height: 820 }, reducedMotion: "reduce" });
  const page = await context.newPage();
  await page.goto(`${server.url}/`);
  shown.push([colorScheme, page]);
}
await shown[0][1].waitForTimeout(100_000); // the plots fill
for (const [colorScheme, page] of shown) {
  for (const [name, hash] of Object.entries(pages)) {
    await page.goto(`${server.url}/${hash}`);
    await page.waitForTimeout(1500);
    await page.screenshot({ path: join(directory, `dashboard-${name}-${colorScheme}.png`) });
  }
}
working = false;
await work;
await browser.close();
await server.stop();
await store.remove();
