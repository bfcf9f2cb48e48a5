// What the tests of both pages need: the binary, a browser, and what is wrong with a page.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import AxeBuilder from "@axe-core/playwright";
import { chromium } from "playwright-core";

export const root = fileURLToPath(new URL("../..", import.meta.url));
export const powerband = process.env.POWERBAND_BINARY ?? join(root, "target/release/powerband");

/** Its sandbox needs a user other than root. */
export const launched = () =>
  chromium.launch({ executablePath: ["/usr/bin/chromium", "/usr/bin/google-chrome"].find((path) => existsSync(path)), args: ["--no-sandbox"] });

/** Opens an address; `said` has any error or message of the browser, and requests for any address that is not the page's own. */
export async function opened(browser, url, { isOwn = (asked) => asked === url, ...options } = {}) {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  const said = [];
  page.on("console", (message) => said.push(message.text()));
  page.on("pageerror", (error) => said.push(String(error)));
  page.on("dialog", (dialog) => said.push(`dialog: ${dialog.message()}`));
  page.on("request", (request) => {
    if (!isOwn(request.url())) said.push(`asked for ${request.url()}`);
  });
  await page.goto(url);
  return { page, said, close: () => context.close() };
}

/** What axe finds, which is a script of the test's own: the page's policy would refuse it. */
export async function violations(page) {
  const found = await new AxeBuilder({ page }).analyze();
  return found.violations.map((one) => `${one.id}: ${one.nodes.map((node) => node.html)}`);
}

/** Pixels by which a page is wider than its window. */
export const sidewaysOverflow = (page) => page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
