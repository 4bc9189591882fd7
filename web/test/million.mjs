// Measures the pages of the dashboard on many messages: when something is painted first, when a page
// has its contents and answers, how far its parts jump meanwhile, and the longest call of the store.
// Usage: DASHBOARD=PROGRAM node web/test/million.mjs [--store file|redis|mem] [--rounds 3] [--pages overview,store] [-- FLAGS]
// PROGRAM is bench/cmd/dashboard, FLAGS are its own, such as -messages 10000.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { loadavg } from "node:os";
import { parseArgs } from "node:util";
import { launch } from "./browser.mjs";
import { makeStore } from "./stores.mjs";

const { values: flags, positionals } = parseArgs({
  options: { store: { type: "string", multiple: true, default: ["file", "redis"] }, rounds: { type: "string", default: "3" }, pages: { type: "string" } },
  allowPositionals: true,
});
// settleMS is how long a page is watched after it has its contents.
const settleMS = 1500;

// pages have the address of each page, what is there when it has its contents, and of those that read
// many messages what is there when they have read enough.
const forecast = `[...document.querySelectorAll(".axis span")].at(0)?.textContent.trim()`;
const row = `document.querySelector("td a.row")`;
const finished = `/^(All|The first|\\d[\\d,]* (dead letter|message))/.test([...document.querySelectorAll(".strip [role=status]")].at(-1)?.textContent ?? "")`;
const pages = (id) => ({
  "overview": ["#/", `${row} && ${forecast} && document.querySelector(".plot canvas")`],
  "overview, month": ["#/?due=month", `${row} && ${forecast}`],
  "queue": ["#/queues/tenant-000", `${forecast} && document.querySelector(".facts")`],
  "queue, month": ["#/queues/tenant-000?due=month", `${forecast} && document.querySelector(".facts")`],
  "messages": ["#/queues/tenant-000/messages", row],
  "messages, scheduled": ["#/queues/tenant-000/messages?state=scheduled", row],
  "messages, a key": ["#/queues/tenant-000/messages?key=report-1", row],
  "messages, a pattern": ["#/queues/tenant-000/messages?state=scheduled&key=order-ffff*", finished, finished],
  "messages, tonight": ["#/queues/tenant-000/messages?state=scheduled&due=12h..13h", row],
  "messages, dead, 503": ["#/queues/tenant-000/messages?state=dead&failure=503", row],
  "message": [`#/queues/tenant-000/messages/${id}`, `document.querySelector(".timeline")`],
  "dead letters": ["#/queues/tenant-000/dead", `${row} && ${finished}`, finished],
  "history": ["#/queues/tenant-000/history", row],
  "recurring": ["#/queues/tenant-000/recurring", row, finished],
  "consumers of a queue": ["#/queues/tenant-000/consumers", `document.querySelectorAll(".card").length === 2`],
  "consumers": ["#/consumers", row],
  "store": ["#/store", `document.querySelector(".attention li")`],
});

// observe runs in each page before its scripts.
function observe(there, finished) {
  window.seen = { shift: 0, moved: [], busyUntil: 0, ready: 0, finished: 0 };
  new PerformanceObserver((list) => {
    for (const e of list.getEntries()) {
      if (e.hadRecentInput) continue;
      window.seen.shift += e.value;
      window.seen.moved.push(...e.sources.map((s) => s.node?.className || s.node?.tagName || s.node?.nodeName));
    }
  }).observe({ type: "layout-shift", buffered: true });
  new PerformanceObserver((list) => {
    for (const e of list.getEntries()) window.seen.busyUntil = e.startTime + e.duration;
  }).observe({ type: "longtask", buffered: true });
  const look = () => {
    if (window.seen.ready === 0 && there()) window.seen.ready = performance.now();
    if (window.seen.ready > 0 && finished()) window.seen.finished = performance.now();
    else requestAnimationFrame(look);
  };
  look();
}

async function measure(browser, url, [hash, there, finished = "true"]) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 860 } });
  await context.addInitScript(`(${observe})(() => ${there}, () => ${finished})`);
  const page = await context.newPage();
  await calls(url);
  await page.goto(`${url}/${hash}`);
  await page.waitForFunction(() => window.seen.finished > 0, undefined, { timeout: 60_000 }).catch(() => Promise.reject(new Error(`${hash} has no contents after a minute`)));
  await page.waitForTimeout(settleMS);
  const seen = await page.evaluate(() => ({
    paint: performance.getEntriesByName("first-contentful-paint")[0].startTime,
    interactive: Math.max(window.seen.ready, Math.min(window.seen.busyUntil, window.seen.ready + 500)),
    finished: window.seen.finished,
    shift: window.seen.shift, moved: window.seen.moved,
    requests: performance.getEntriesByType("resource").filter((r) => r.name.includes("/v1/")).length,
  }));
  await context.close();
  return { ...seen, ...(await calls(url)) };
}

const calls = async (url) => (await fetch(`${url}/calls`, { method: "POST" })).json();
const median = (all) => all.toSorted((a, b) => a - b)[Math.floor(all.length / 2)];
const most = (all) => Math.max(...all);

function report(name, all, redis) {
  const longest = all.flatMap((r) => Object.entries(r.calls)).sort((a, b) => b[1].most - a[1].most)[0] ?? ["", { most: 0 }];
  const moved = [...new Set(all.flatMap((r) => (r.shift >= 0.001 ? r.moved : [])))].slice(0, 4).join(", ");
  console.log([
    name.padEnd(22), ms(median(all.map((r) => r.paint))), ms(median(all.map((r) => r.interactive))), ms(most(all.map((r) => r.interactive))),
    ms(median(all.map((r) => r.finished))), most(all.map((r) => r.shift)).toFixed(3).padStart(7), String(most(all.map((r) => r.requests))).padStart(9),
    String(most(all.map((r) => Object.values(r.calls).reduce((n, c) => n + c.count, 0)))).padStart(7),
    ms(longest[1].most / 1e6, 1), longest[0].padEnd(10), ...(redis ? [ms(most(all.map((r) => r.redis.most)) / 1e6, 1)] : []), moved,
  ].join(" ").trimEnd());
}

const ms = (n, digits = 0) => `${n.toFixed(digits)}`.padStart(8);

async function run(kind, browser) {
  const store = await makeStore(kind);
  const child = spawn(process.env.DASHBOARD, ["-store", store.url, ...positionals], { stdio: ["ignore", "pipe", "inherit"] });
  try {
    const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
    console.log(`\n${kind}: ${(await lines.next()).value}; load ${loadavg().map((n) => n.toFixed(1)).join(" ")}`);
    const url = (await lines.next()).value;
    const { messages } = await (await fetch(`${url}/v1/queues/tenant-000/messages?state=scheduled&limit=1`)).json();
    console.log(`${"page".padEnd(22)}    paint     data    worst      all   shift  requests   calls  longest call${kind === "redis" ? "    in Redis" : ""} (ms)`);
    for (const [name, page] of Object.entries(pages(messages[0].id))) {
      if (flags.pages && !flags.pages.split(",").includes(name)) continue;
      const all = [];
      for (let i = 0; i < Number(flags.rounds); i++) all.push(await measure(browser, url, page));
      report(name, all, kind === "redis");
    }
  } finally {
    child.kill("SIGTERM");
    if (child.exitCode === null) await once(child, "exit");
    await store.remove();
  }
}

const browser = await launch();
for (const kind of flags.store) await run(kind, browser);
await browser.close();
