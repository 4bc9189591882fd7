// The dashboard in a real browser, on each kind of store.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { launch, open } from "./browser.mjs";
import { hostile } from "./hostile.mjs";
import { crew, flights, others, reports, webhooks } from "./seed.mjs";
import { Server } from "./server.mjs";
import { freePort, kinds, makeStore } from "./stores.mjs";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

let browser;
before(async () => {
  browser = await launch();
});
after(() => browser.close());

// quiet closes a page that has done nothing that it must not do.
async function quiet(page) {
  assert.deepEqual(await page.allFaults(), []);
  await page.context().close();
}

const text = (page, selector, pattern) => page.locator(selector).filter({ hasText: pattern }).first().waitFor();
const toast = (page, pattern) => text(page, ".toast", pattern);
const button = (page, name) => page.getByRole("button", { name, exact: true });
const state = async (server, queue) => server.call("GET", `queues/${queue}`);

// confirm answers the question that is asked.
async function confirm(page, name, typed) {
  const dialog = page.locator("dialog[open]");
  if (typed) {
    assert.equal(await dialog.getByRole("button", { name, exact: true }).isDisabled(), true, "what cannot be undone must be typed");
    await dialog.locator("input").fill(typed);
  }
  await dialog.getByRole("button", { name, exact: true }).click();
  await dialog.waitFor({ state: "detached" });
}

for (const kind of kinds) {
  describe(`on ${kind}`, () => {
    let store, server;
    before(async () => {
      store = await makeStore(kind);
      server = await Server.start({ store: store.url });
      await webhooks(server);
      await flights(server, 300);
    });
    after(async () => {
      await server.stop();
      await store.remove();
    });

    test("overview: what needs attention, and the keys j and Enter open a queue", async () => {
      const page = await open(browser, server);
      await text(page, ".attention li", /webhooks.*116 dead letters/);
      await page.keyboard.press("j");
      await page.keyboard.press("Enter");
      await text(page, "h1", /^flights$/);
      assert.match(page.url(), /#\/queues\/flights$/);
      await quiet(page);
    });

    test("consumers: who is there, and what each holds", async () => {
      await server.call("POST", "queues/crew/messages", { key: "boarding" });
      await server.call("POST", "queues/crew/messages", { key: "waiting", delay: "1h" });
      server.work("crew", "sleep 600");
      const page = await open(browser, server, "#/queues/crew/consumers");
      await text(page, "tbody tr", /no duties.*1$/);
      await text(page, "tbody tr", /boarding.*in \d+ s1 \/ 25$/);
      const holder = (await server.call("GET", "queues/crew/messages?state=leased")).messages[0].holder;
      await text(page, "[aria-label='Held messages'] td", holder);
      await page.keyboard.press("c");
      await text(page, "h2", /^1 consumer in 1 program$/);
      await text(page, "tbody tr", new RegExp(`^crew${holder}`));
      await page.locator("[data-filter]").fill("nobody");
      await text(page, "p", /No consumer has/);
      await page.locator("[data-filter]").fill("crew");
      await page.locator("td a.row").click();
      await text(page, "h1", /^crew$/);
      assert.match(page.url(), /#\/queues\/crew\/consumers$/);
      await quiet(page);
    });

    test("store: what it is, and its warnings first on the overview", async () => {
      const page = await open(browser, server, "#/");
      const warned = kind === "redis" ? /persistence.*Store.*no append-only file/ : undefined;
      if (warned) await text(page, ".attention li:first-child", warned);
      else await text(page, ".attention li:first-child", /webhooks/);
      await page.keyboard.press("s");
      await text(page, "h1", /^Store$/);
      await text(page, ".head", { mem: /kept in memory/, file: /kept in a directory/, redis: /kept in Redis$/ }[kind]);
      await text(page, ".attention li", { mem: /^warn.*in memory/, file: /^ok.*calls wait for the disk/, redis: /^warn.*no append-only file.*CONFIG SET appendonly yes/ }[kind]);
      if (kind === "file") await text(page, "dd", /in 1 file$/);
      if (kind === "redis") await text(page, "dd", /sends are refused/);
      await quiet(page);
    });

    test("history: turned on where it is off, and what has ended", async () => {
      const page = await open(browser, server, "#/queues/crew/history");
      await server.call("PUT", "queues/ended", {});
      await page.at("#/queues/ended/history");
      await text(page, "h2", /keeps no history/);
      await button(page, "Turn on for 24 h, up to 10,000 messages").click();
      await toast(page, /keeps what has ended for a day/);
      assert.equal((await state(server, "ended")).settings.history, "24h0m0s");
      for (const [key, verdict] of [["good", "ack"], ["old", null]]) {
        await server.call("POST", "queues/ended/messages", { key });
        if (verdict) await server.settle("ended", 1, () => ({ verdict }));
        else await server.call("DELETE", `queues/ended/messages/key:${key}`);
      }
      await text(page, "tbody tr", /^good.*acked/);
      await text(page, "tbody tr", /^old.*cancelled/);
      await page.locator("td a.row", { hasText: "old" }).click();
      await text(page, ".timeline", /cancelled/);
      await quiet(page);
    });

    test("message: each failure in its timeline", async () => {
      await server.call("PUT", "queues/unlucky", { max_attempts: 9 });
      const { id } = await server.call("POST", "queues/unlucky/messages", { body: "x" });
      const ends = [["nack", "no route to host"], ["snooze", "rate limited"], ["nack", "no route to host"], ["nack", "503"], ["nack", "504"], ["reject", "410 Gone"]];
      for (const [verdict, reason] of ends) await server.settle("unlucky", 1, () => ({ verdict, reason, ...(verdict !== "reject" && { delay: "0s" }) }));
      const page = await open(browser, server, `#/queues/unlucky/messages/${id}`);
      await text(page, ".timeline li", /^410 Gone$|^Died/);
      const steps = await page.locator(".timeline li").allInnerTexts();
      const shown = steps.map((s) => s.split("\n").slice(0, 2).join(" | "));
      assert.deepEqual(shown.slice(1, -1), ["1 more failed or snoozed no texts are kept of them", "Snoozed at attempt 2 | snoozed: rate limited", "Failed at attempt 3 | no route to host", "Failed at attempt 4 | 503", "Failed at attempt 5 | 504", "Failed at attempt 6 | 410 Gone"]);
      for (const step of steps.slice(2)) assert.match(step, /\d:\d\d/, "without its time");
      await quiet(page);
    });

    test("recurring: next time, run now, undone, and stopped", async () => {
      await server.call("POST", "queues/reports/messages", { key: "daily", repeat: "cron 0 9 * * * UTC" });
      await server.call("POST", "queues/reports/messages", { key: "once", delay: "2h" });
      const due = async () => (await server.call("GET", "queues/reports/messages/key:daily")).due;
      const before = await due();
      const page = await open(browser, server, "#/queues/reports/recurring");
      await text(page, "h2", /^1 recurring message$/);
      await text(page, "tbody tr", /^dailycron 0 9 \* \* \* UTCin /);
      await button(page, "Run now").click();
      await toast(page, /daily is due now/);
      await text(page, "tbody .state", /ready/);
      await button(page, "Undo").click();
      await toast(page, /is due at .* again/);
      assert.equal(await due(), before);
      await button(page, "Stop…").click();
      await confirm(page, "Stop it", "stop");
      await text(page, "h2", /No recurring message here/);
      await quiet(page);
    });

    test("dead letters: texts that differ only in numbers are a group, which is redriven alone", async () => {
      await server.call("PUT", "queues/ids", {});
      await server.send("ids", Array.from({ length: 12 }, () => ({})));
      await server.settle("ids", 12, (_, i) => ({ verdict: "reject", reason: i < 9 ? `order ${1000 + i} is unknown` : `order ${i} is unknown to us` }));
      const page = await open(browser, server, "#/queues/ids/dead");
      await text(page, "[role=status]", /^12 dead letters in 2 groups$/);
      await page.locator("tbody tr", { hasText: "9" }).first().getByRole("button", { name: "Redrive…" }).click();
      await confirm(page, "Redrive 9");
      await toast(page, /9 messages redriven/);
      await text(page, "[role=status]", /^3 dead letters in 1 group$/);
      await page.locator("td a.row").click();
      await text(page, "[role=status]", /^3 messages$/);
      await quiet(page);
    });

    test("queue: forecast, pause and resume", async () => {
      const page = await open(browser, server, "#/queues/flights?due=day");
      await page.locator(".bars a[href] i").first().waitFor();
      await page.locator(".bars a[href]").first().click();
      await text(page, "[role=status]", /messages?$/);
      assert.match(page.url(), /messages\?state=scheduled&due=/);
      await page.at("#/queues/flights");
      await button(page, "Pause").click();
      await confirm(page, "Pause");
      await text(page, ".head .badge", /paused/);
      assert.equal((await state(server, "flights")).paused, true);
      await button(page, "Resume").click();
      await toast(page, /delivers again/);
      assert.equal((await state(server, "flights")).paused, false);
      await quiet(page);
    });

    test("messages: filter, reschedule, run now, cancel", async () => {
      const page = await open(browser, server, "#/queues/flights/messages?state=scheduled");
      await page.locator("td a.row").first().waitFor();
      await page.keyboard.press("/");
      await page.keyboard.type("*-17");
      await page.keyboard.press("Enter");
      await text(page, "[role=status]", /^1 message$/);
      const key = await page.locator("td a.row").textContent();
      await page.at(`#/queues/flights/messages?state=scheduled&key=${key}`);
      await text(page, "[role=status]", /^1 message$/);
      await page.at("#/queues/flights/messages?state=scheduled&key=none-has-this");
      await text(page, "h2", /No scheduled message here/);
      await page.at(`#/queues/flights/messages?key=${key}`);
      await page.locator("td a.row").click();
      await text(page, ".tree", /passengers/);
      await button(page, "Reschedule…").click();
      await page.locator("dialog[open]").getByRole("button", { name: "in 1 day" }).click();
      await confirm(page, "Reschedule");
      const id = page.url().split("/").pop();
      const due = Date.parse((await server.call("GET", `queues/flights/messages/${id}`)).due);
      assert.ok(Math.abs(due - Date.now() - 86_400_000) < 60_000, `due in ${due - Date.now()} ms`);
      await button(page, "Copy as curl").click();
      await toast(page, /copied/);
      assert.match(await page.evaluate(() => navigator.clipboard.readText()), /^curl --json .*v1\/queues\/flights\/messages$/s);
      await button(page, "Run now").click();
      await text(page, ".head .state", /ready/);
      await button(page, "Cancel…").click();
      await confirm(page, "Cancel the message", "cancel");
      await text(page, ".head .state", /done/);
      assert.equal((await server.call("GET", `queues/flights/messages/${id}`)).ending, "cancelled");
      await quiet(page);
    });

    test("messages: a bar of the forecast leads to its messages at once, and all are sorted by time", async () => {
      const page = await open(browser, server, "#/queues/flights/messages?state=scheduled&due=1h..20h");
      await text(page, "[role=status]", /^\d+ messages$/);
      const times = () => page.locator("tbody time").evaluateAll((all) => all.map((t) => Date.parse(t.dateTime)));
      const order = async (compare) => {
        const all = await times();
        assert.deepEqual(all, [...all].sort(compare));
        assert.ok(all.length >= 50 && all.every((t) => t > Date.now() + 3_500_000), `${all.length} messages, the first at ${all[0]}`);
      };
      const all = async (order) => (await server.call("GET", `queues/flights/messages?state=scheduled&due=1h..20h&limit=50&order=${order}`)).messages.map((m) => m.id);
      const shown = () => page.locator("td a.row").evaluateAll((all) => all.map((a) => a.href.split("/").at(-1)));
      const first = async (id) => page.waitForFunction((id) => document.querySelector("td a.row")?.href.endsWith(id), id);
      await button(page, "time").click();
      await first((await all("asc"))[0]);
      await order((a, b) => a - b);
      await button(page, "Next page").click();
      await page.waitForURL(/cursor=/);
      await button(page, "time ↑").click();
      const latest = await all("desc");
      await first(latest[0]);
      await order((a, b) => b - a);
      assert.deepEqual((await shown()).slice(0, 50), latest);
      assert.match(page.url(), /by=-time/);
      assert.doesNotMatch(page.url(), /cursor=/);
      await button(page, "Next page").click();
      await page.waitForFunction((ids) => { const id = document.querySelector("td a.row")?.href.split("/").at(-1); return id && !ids.includes(id); }, latest);
      const times2 = await times();
      assert.deepEqual(times2, [...times2].sort((a, b) => b - a));
      assert.doesNotMatch(await page.locator("[role=status]").last().textContent(), /only this page/);
      await button(page, "attempts").click();
      await text(page, "[role=status]", /only this page is sorted by attempts$/);
      await quiet(page);
    });

    test("messages: pages, and deletion of those selected", async () => {
      const page = await open(browser, server, "#/queues/flights/messages?state=scheduled");
      const before = (await state(server, "flights")).scheduled;
      const first = await page.locator("td a.row").first().textContent();
      await button(page, "Next page").click();
      await page.waitForFunction((old) => document.querySelector("td a.row")?.textContent !== old, first);
      await page.goBack();
      await page.waitForFunction((old) => document.querySelector("td a.row")?.textContent === old, first);
      await page.locator("td.check input").nth(0).check();
      await page.locator("td.check input").nth(1).check();
      await button(page, "Delete…").click();
      await confirm(page, "Delete", "delete 2");
      await toast(page, /2 messages deleted/);
      assert.equal((await state(server, "flights")).scheduled, before - 2);
      await quiet(page);
    });

    test("messages: all that match become due", async () => {
      const page = await open(browser, server, "#/queues/flights/messages?state=scheduled&key=*-2??");
      // A page ends with the answer in which the 50th was: how many those had depends on the partitions.
      await text(page, "[role=status]", /^[5-9]\d messages$/);
      await button(page, "Make due…").click();
      await page.locator("dialog[open]").getByRole("button", { name: "over 1h" }).click();
      await page.locator("dialog[open] footer .primary").click();
      await toast(page, /\d+ messages rescheduled/);
      await quiet(page);
    });

    test("dead letters: why one failed, and only the 503s redriven over ten minutes", async () => {
      const page = await open(browser, server, "#/queues/webhooks/dead");
      await text(page, "tbody tr", /503 Service Unavailable.*58/);
      await page.locator("[data-filter]").fill("503");
      await page.keyboard.press("Enter");
      await text(page, "[role=status]", /^58 dead letters in 1 group$/);
      const before = await state(server, "webhooks");
      await button(page, "Redrive these…").click();
      await page.locator("dialog[open]").getByRole("button", { name: "over 10m" }).click();
      await confirm(page, "Redrive 58");
      await toast(page, /58 messages redriven/);
      const now = await state(server, "webhooks");
      assert.equal(now.dead, before.dead - 58);
      assert.equal(now.counters.redriven, 58);
      await page.at("#/queues/webhooks/messages?state=dead");
      await page.locator("td a.row").first().click();
      await text(page, "h2", /Why it died/);
      await button(page, "Redrive").click();
      await toast(page, /1 message ready again/);
      await page.at("#/queues/webhooks/dead");
      await button(page, "Delete all…").click();
      await confirm(page, "Delete 57", "delete 57");
      await toast(page, /57 messages deleted/);
      await text(page, "h2", /No dead letters/);
      assert.equal((await state(server, "webhooks")).dead, 0);
      await quiet(page);
    });
  });
}

// pages returns the address of each page, on data that fills it.
async function pages(server) {
  const id = async (queue, state) => (await server.message(queue, state)).id;
  return [
    "#/", "#/queues/flights", "#/queues/flights?due=day", "#/queues/webhooks/messages", "#/queues/webhooks/messages?state=dead&failure=503",
    `#/queues/webhooks/messages/${await id("webhooks", "dead")}`, `#/queues/webhooks/messages/${await id("webhooks", "leased")}`,
    `#/queues/flights/messages/${await id("flights", "scheduled")}`, "#/queues/webhooks/dead", "#/queues/mail-digest/dead", "#/queues/none", "#/none",
    "#/consumers", "#/store", "#/queues/flights/history", "#/queues/webhooks/history", "#/queues/webhooks/recurring", "#/queues/reports/recurring", "#/queues/webhooks/consumers", "#/queues/mail-digest/consumers",
  ];
}

describe("every page", () => {
  let server, store, all;
  before(async () => {
    store = await makeStore(kinds.at(-1)); // on Redis there is most to see
    server = await Server.start({ store: store.url });
    await flights(server, 500);
    await server.send("flights", Array.from({ length: 20 }, (_, i) => ({ key: `gone-${i}` })));
    await server.settle("flights", 20, (_, i) => (i % 5 ? { verdict: "ack" } : { verdict: "reject", reason: "gate is closed" }));
    await webhooks(server);
    await others(server);
    await reports(server);
    await crew(server, { flights: ["gate-a", "gate-b", "gate-c"], webhooks: ["poster-1", "poster-2"] });
    all = await pages(server);
  });
  after(async () => {
    await server.stop();
    await store.remove();
  });

  test("is used by the keyboard", async () => {
    const page = await open(browser, server, "about:blank#");
    const addresses = { consumers: "#/consumers", held: "#/queues/webhooks/consumers", history: "#/queues/flights/history", recurring: "#/queues/reports/recurring", dead: "#/queues/webhooks/dead", messages: "#/queues/flights/messages" };
    for (const [name, hash] of Object.entries(addresses)) {
      await page.at(hash);
      await page.locator("td a.row").nth(1).waitFor();
      const rows = await page.locator("td a.row").evaluateAll((all) => all.map((a) => a.getAttribute("href")));
      const focused = () => page.evaluate(() => document.activeElement.getAttribute("href"));
      for (const [key, want] of [["j", 0], ["j", 1], ["k", 0], ["k", 0]]) {
        await page.keyboard.press(key);
        assert.equal(await focused(), rows[want], `${name}: ${key}`);
      }
      if (name !== "held") { // which has all that is held on one page
        await page.keyboard.press("/");
        assert.equal(await page.evaluate(() => document.activeElement.matches("[data-filter]")), true, name);
        await page.keyboard.press("Escape");
        await page.keyboard.press("j");
      }
      await page.keyboard.press("?");
      await text(page, "dialog[open]", /Keyboard shortcuts/);
      await page.keyboard.press("Escape");
      await page.locator("dialog").waitFor({ state: "detached" });
      await page.locator("td a.row").first().focus();
      await page.keyboard.press("Enter");
      await page.waitForURL((url) => url.hash === rows[0]);
    }
    await page.at("#/store");
    await page.locator(".attention li").nth(1).waitFor();
    await page.keyboard.press("j");
    await page.keyboard.press("j");
    assert.equal(await page.evaluate(() => document.activeElement === document.querySelectorAll(".attention li")[1]), true);
    await quiet(page);
  });

  for (const colorScheme of ["light", "dark"]) {
    test(`has no violation of accessibility rules, ${colorScheme}`, async () => {
      const page = await open(browser, server, "#/", { colorScheme });
      const check = async (what) => {
        await page.evaluate(axe);
        const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
        const found = violations.map((v) => `${what}: ${v.id}: ${v.nodes.map((n) => n.html.slice(0, 120)).slice(0, 3).join(" | ")}`);
        assert.deepEqual(found, []);
      };
      for (const hash of all) {
        await page.at(hash);
        await page.locator("h1, h2").first().waitFor();
        await page.waitForLoadState("domcontentloaded");
        await page.waitForTimeout(150);
        await check(hash);
      }
      await page.at("#/queues/webhooks/dead");
      await button(page, "Redrive all…").click();
      await page.locator("dialog[open]").waitFor();
      await check("the question before a redrive");
      assert.deepEqual(await page.allFaults().then((f) => f.filter((x) => !x.includes("axe"))), []);
      await page.context().close();
    });
  }

  test("does not jump while it loads", async () => {
    const page = await open(browser, server, "about:blank#");
    await page.addInitScript(() => {
      window.shifts = [];
      new PerformanceObserver((list) => {
        for (const e of list.getEntries()) window.shifts.push([e.value, ...e.sources.map((s) => s.node?.className ?? s.node?.nodeName)]);
      }).observe({ type: "layout-shift", buffered: true });
    });
    for (const hash of all) {
      await page.goto("about:blank"); // so that the page is loaded anew
      await page.at(hash);
      await page.locator("h1, h2").first().waitFor();
      await page.waitForTimeout(500);
      const shifts = await page.evaluate(() => window.shifts);
      const sum = shifts.reduce((n, [value]) => n + value, 0);
      assert.ok(sum < 0.02, `${hash} jumps by ${sum}: ${JSON.stringify(shifts)}`);
    }
    await quiet(page);
  });

  test("is painted before its script has run, where the script leaves it", async () => {
    const boxes = (page) => page.evaluate(() => [...document.querySelectorAll(".bar, .bar :not(circle, path, rect)")].map((e) => {
      const { x, y, width, height } = e.getBoundingClientRect();
      return [e.tagName, e.className.baseVal ?? e.className, e.textContent, x, y, width, height].join(" ");
    }));
    const page = await open(browser, server, "about:blank#");
    await page.route("**/v1/events", () => {}); // the page stays unconnected
    await page.route("**/app-*.js", (route) => route.abort());
    await page.at("#/consumers");
    const before = await boxes(page);
    assert.ok(before.length > 10, before.join("\n"));
    await page.unroute("**/app-*.js");
    await page.reload();
    await page.locator(".bar [aria-current=page]").waitFor();
    assert.deepEqual(await boxes(page), before);
    await page.context().close();
  });

  test("asks for the session, the events and the messages at the same time", async () => {
    const page = await open(browser, server, "about:blank#");
    const held = [];
    await new Promise((resolve) => {
      void page.route(/\/session|\/v1\//, (route) => (held.length === 3 ? route.continue() : held.push(route) === 3 && resolve()));
      void page.at("#/queues/webhooks/messages?state=dead");
    });
    assert.deepEqual(held.map((route) => new URL(route.request().url()).pathname).toSorted(), ["/session", "/v1/events", "/v1/queues/webhooks/messages"]);
    for (const route of held) await route.continue();
    await page.locator("td a.row").first().waitFor();
    await quiet(page);
  });

  test("asks for the forecasts of all queues at once", async () => {
    const page = await open(browser, server, "about:blank#");
    const asked = [];
    page.on("request", (r) => /forecast/.test(r.url()) && asked.push(new URL(r.url()).pathname));
    await page.at("#/?due=day");
    await text(page, ".said", /\d messages/);
    assert.deepEqual(asked, ["/v1/forecast"]);
    const [, within] = /^([\d,]+) messages/.exec(await page.locator(".said").textContent());
    await page.locator(".bars a").last().hover();
    await text(page, ".said", new RegExp(`: [\\d,]+ messages?, ${within} from now until then$`));
    await quiet(page);
  });

  test("fits a phone", async () => {
    const page = await open(browser, server, "#/", { viewport: { width: 390, height: 844 } });
    for (const hash of all) {
      await page.at(hash);
      await page.locator("h1, h2").first().waitFor();
      const width = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(width <= 390, `${hash} is ${width} wide`);
    }
    await quiet(page);
  });

  test("shows no action on a read-only server", async () => {
    const store = await makeStore("file");
    const writable = await Server.start({ store: store.url });
    await flights(writable, 50);
    await webhooks(writable);
    const addresses = (await pages(Object.assign(Object.create(writable), {}))).filter((h) => !h.includes("mail"));
    await writable.stop();
    const fixed = await Server.start({ store: store.url, args: ["--read-only"] });
    const page = await open(browser, fixed);
    for (const hash of addresses) {
      await page.at(hash);
      await page.locator("h1, h2").first().waitFor();
      await page.waitForTimeout(100);
      const actions = await page.locator("main button").allTextContents();
      const wrong = actions.filter((name) => /pause|resume|redrive|delete|cancel|reschedule|run now|make due/i.test(name));
      assert.deepEqual(wrong, [], hash);
    }
    assert.match(await page.locator(".bar").textContent(), /read-only/);
    await quiet(page);
    await fixed.stop();
    await store.remove();
  });
});

test("40 hostile texts: no script runs, and the policy reports nothing", async () => {
  const server = await Server.start();
  for (const name of hostile.filter((s) => !/^[\w.-]{1,128}$/.test(s.slice(0, 100)))) await assert.rejects(server.call("PUT", `queues/${encodeURIComponent(name.slice(0, 100)) || "-"}`, {}), /40[04]|405|431/);
  assert.equal(hostile.length, 40);
  const key = (s) => s.replace(/\p{Cc}/gu, "").slice(0, 60) || "none";
  for (const [i, value] of hostile.entries()) {
    const message = { body: value, key: `${i}${key(value)}`, headers: { [`h${i}`]: value.replace(/[\r\n\0]/g, " ") } };
    await server.call("POST", "queues/hostile/messages", message).catch(async () => server.call("POST", "queues/hostile/messages", { body: value, key: `${i}` }));
    await server.settle("hostile", 1, () => ({ verdict: "reject", reason: value }));
  }
  await server.call("PUT", "queues/odd", { history: "24h" });
  for (const [i, value] of hostile.entries()) { // done, held and recurring
    for (const [kind, fields] of Object.entries({ done: {}, held: {}, series: { repeat: "cron 0 9 * * * UTC" } })) {
      const message = { body: value, key: `${kind}${i}${key(value)}`, ...fields };
      await server.call("POST", "queues/odd/messages", message).catch(() => server.call("POST", "queues/odd/messages", { ...message, key: `${kind}${i}` })); // a key is printable
      if (kind === "done") await server.settle("odd", 1, () => ({ verdict: "ack" }));
    }
  }
  await server.settle("odd", 40, () => undefined);
  await server.call("POST", "queues/hostile/messages", { body: "<b>x</b>".repeat(30_000), delay: "1h" });
  await server.call("PATCH", "queues/hostile", { max_body: 2 << 20 });
  await server.call("POST", "queues/hostile/messages", { body: JSON.stringify({ text: "<b>x</b>".repeat(131_072) }), delay: "1h" });
  const page = await open(browser, server, "#/");
  const messages = [];
  for (const of of ["dead", "scheduled"]) messages.push(...(await server.call("GET", `queues/hostile/messages?state=${of}&limit=100`)).messages);
  assert.equal(messages.length, 42);
  for (const m of messages) {
    await page.at(`#/queues/hostile/messages/${m.id}`);
    await page.locator("h2", { hasText: "Body" }).waitFor();
    await button(page, "text").click();
    const shown = await page.locator("main").evaluate((main) => main.innerText);
    assert.doesNotMatch(shown, /[\u202a-\u202e\u2066-\u2069\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/, `${m.key} shows a control character`);
  }
  for (const of of ["history", "recurring", "consumers"]) {
    await page.at(`#/queues/odd/${of}`);
    await page.locator("tbody tr").nth(20).waitFor();
    const shown = await page.locator("main").evaluate((main) => main.innerText);
    assert.doesNotMatch(shown, /[\u202a-\u202e\u2066-\u2069\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/, `${of} shows a control character`);
  }
  for (const hash of ["#/consumers", "#/store", "#/queues/odd/history", "#/queues/odd/recurring", "#/queues/odd/consumers", "#/queues/hostile/messages", "#/queues/hostile/dead", `#/queues/${encodeURIComponent(hostile[1])}`, `#/queues/hostile/messages?key=${encodeURIComponent(hostile[1])}`, `#/queues/hostile/dead?failure=${encodeURIComponent(hostile[0])}`]) {
    await page.at(hash);
    await page.locator("h1, h2").first().waitFor();
    await page.waitForTimeout(200);
    assert.deepEqual(await page.locator("main script, main img, main iframe, main style, main base, main object").count(), 0, hash);
  }
  assert.equal(await page.evaluate(() => window.__xss), undefined);
  assert.equal(await page.evaluate(() => ({}).polluted), undefined);
  await quiet(page);
  await server.stop();
});

test("a session: a wrong token, the right one, its scopes, and signing out", async () => {
  const directory = mkdtempSync(join(tmpdir(), "dueq-web-"));
  const file = join(directory, "tokens");
  const line = (name, scope) => `${name} sha256:${createHash("sha256").update(`secret-${name}`).digest("hex")} ${scope}\n`;
  writeFileSync(file, line("reader", "read") + line("boss", "admin"), { mode: 0o600 });
  const server = await Server.start({ args: ["--token-file", file] });
  const send = await fetch(`${server.url}/v1/queues/work/messages`, { method: "POST", headers: { Authorization: "Bearer secret-boss", "Content-Type": "application/json" }, body: `{"key":"k"}` });
  assert.equal(send.status, 201);
  const page = await open(browser, server);
  const sign = async (token) => {
    await page.getByLabel("Token").fill(token);
    await button(page, "Sign in").click();
  };
  await sign("wrong");
  await text(page, ".error", /not known/);
  await sign("secret-reader");
  await text(page, "td a.row", /work\b/);
  assert.equal(await page.evaluate(() => document.cookie), "", "scripts cannot read the session");
  await page.at("#/queues/work");
  await text(page, "h2", /Settings/);
  assert.equal(await button(page, "Pause").count(), 0);
  await page.reload();
  await text(page, "h2", /Settings/);
  await button(page, "Sign out").click();
  await page.getByLabel("Token").waitFor();
  await sign("secret-boss");
  await button(page, "Pause").waitFor();
  await quiet(page);
  await server.stop();
  rmSync(directory, { recursive: true });
});

test("a server that is restarted is found again, and the page goes on", async () => {
  const store = await makeStore("file");
  const listen = `127.0.0.1:${await freePort()}`;
  let server = await Server.start({ store: store.url, listen });
  await server.call("POST", "queues/work/messages", { delay: "1h" });
  const page = await open(browser, server);
  await text(page, ".status", /Live/);
  await server.stop();
  await text(page, ".status", /Reconnecting/);
  await text(page, "td a.row", /work\b/);
  server = await Server.start({ store: store.url, listen });
  await server.call("POST", "queues/later/messages", { delay: "1h" });
  await text(page, ".status", /Live/);
  await text(page, "td a.row", /later/);
  await button(page, "Hold").click();
  await server.call("POST", "queues/unseen/messages", { delay: "1h" });
  await text(page, ".status", /Held/);
  await button(page, "Continue").click();
  await text(page, "td a.row", /unseen/);
  await quiet(page);
  await server.stop();
  await store.remove();
});

test("an empty server says how a queue is made, and the page follows", async () => {
  const server = await Server.start();
  const page = await open(browser, server);
  await text(page, "h1", /No queue yet/);
  await text(page, "pre", /curl --json/);
  await server.call("POST", "queues/orders/messages", { delay: "1m" });
  await text(page, "td a.row", /orders/);
  await page.keyboard.press("?");
  await text(page, "dialog", /Keyboard shortcuts/);
  await page.keyboard.press("Escape");
  await quiet(page);
  await server.stop();
});
