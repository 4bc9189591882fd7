// A real browser, and pages that fail a test when something happens that must not.

import { chromium } from "playwright-core";

const programs = [process.env.DUEQ_CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

export const launch = () => chromium.launch({ executablePath: programs.find(Boolean), args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"] });

// open opens a page of its own. What the page must not do is collected in its faults: errors,
// reports of the content security policy, requests to others, dialogs that a script opens.
export async function open(browser, server, hash = "#/", options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 860 }, reducedMotion: "reduce", ...options });
  context.setDefaultTimeout(20_000);
  await context.grantPermissions(["clipboard-read", "clipboard-write"], { origin: server.url });
  await context.addInitScript(() => {
    window.faults = [];
    addEventListener("securitypolicyviolation", (e) => window.faults.push(`policy: ${e.violatedDirective} ${e.blockedURI}`));
  });
  const page = await context.newPage();
  page.faults = [];
  page.on("pageerror", (error) => page.faults.push(`error: ${error.message}`));
  page.on("dialog", (dialog) => (page.faults.push(`dialog: ${dialog.message()}`), dialog.dismiss()));
  page.on("request", (request) => {
    if (!request.url().startsWith(`${server.url}/`) && !request.url().startsWith("data:")) page.faults.push(`request: ${request.url()}`);
  });
  page.on("console", (message) => {
    if (/content security policy|trusted/i.test(message.text())) page.faults.push(`console: ${message.text()}`);
  });
  page.at = (to) => page.goto(`${server.url}/${to}`);
  page.allFaults = async () => [...page.faults, ...(await page.evaluate(() => window.faults))];
  await page.at(hash);
  return page;
}
