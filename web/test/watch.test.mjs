// The live view of powerband watch in a real browser, on a real Puma: what it shows, that it goes on by itself, that it reports no
// error, and that it can be used by keyboard, on a phone, in the dark and with a screen reader.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { get } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { after, before, test } from "node:test";
import AxeBuilder from "@axe-core/playwright";
import { chromium } from "playwright-core";

const root = fileURLToPath(new URL("../..", import.meta.url));
const powerband = process.env.POWERBAND_BINARY ?? join(root, "target/release/powerband");
const browserPath = ["/usr/bin/chromium", "/usr/bin/google-chrome"].find((path) => existsSync(path));
/** An application whose requests have this name: what users write in names is text. */
const ATTACK = "<img src=x onerror=alert(1)>";
const APPLICATION = `run(lambda do |env|
  env["powerband.endpoint"] = '${ATTACK}' if env["PATH_INFO"] == "/attack"
  sleep(0.002)
  [200, {}, ["hello"]]
end)
`;

let folder;
let browser;
let server;
let watch;
let url;
let port;
let load;

/** Waits for a state. */
async function until(what, state) {
  const ends = Date.now() + 60_000;
  for (;;) {
    const found = await state();
    if (found) return found;
    assert.ok(Date.now() < ends, `waited in vain for ${what}`);
    await new Promise((done) => setTimeout(done, 50));
  }
}

const freePort = () =>
  new Promise((found) => {
    const listener = createServer().listen(0, "127.0.0.1", () => {
      const { port: free } = listener.address();
      listener.close(() => found(free));
    });
  });

const asked = (path) =>
  new Promise((done) => {
    const request = get({ host: "127.0.0.1", port, path, agent: false }, (answer) => answer.resume().on("end", () => done(answer.statusCode)));
    request.on("error", () => done(null));
  });

const ended = (program) => (program.exitCode === null && program.signalCode === null ? new Promise((done) => program.once("exit", done)) : null);

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "powerband-watch-"));
  browser = await chromium.launch({ executablePath: browserPath, args: ["--no-sandbox"] });
  port = await freePort();
  await writeFile(join(folder, "config.ru"), APPLICATION);
  const flight = join(folder, "flight");
  const puma = ["run", "--flight-dir", flight, "--", "puma", "-w", "2", "-t", "2:2", "-b", `tcp://127.0.0.1:${port}`];
  server = spawn(powerband, puma, { cwd: folder, stdio: "ignore", env: { ...process.env, POWERBAND_BURSTS: "1" } });
  await until("Puma", async () => (await asked("/")) === 200);
  let paths = 0;
  load = { on: true };
  load.done = (async () => {
    while (load.on) await asked(paths++ % 3 === 0 ? "/attack" : "/");
  })();
  await until("flight files", () => readdirSync(flight, { recursive: true }).some((file) => file.endsWith(".flight")));
  watch = spawn(powerband, ["watch", "--serve", "--interval", "200ms", flight], { stdio: ["ignore", "pipe", "inherit"] });
  url = await new Promise((found) => watch.stdout.once("data", (text) => found(String(text).trim())));
});

after(async () => {
  if (load) load.on = false;
  await load?.done;
  for (const program of [watch, server].filter(Boolean)) {
    program.kill("SIGTERM");
    await ended(program);
  }
  await browser?.close();
  await rm(folder, { recursive: true, force: true });
});

/** Opens the view; fails on any error or message of the browser, and on anything that is asked of another address. */
async function opened(options = {}, at = "") {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  const said = [];
  page.on("console", (message) => said.push(message.text()));
  page.on("pageerror", (error) => said.push(String(error)));
  page.on("dialog", (dialog) => said.push(`dialog: ${dialog.message()}`));
  page.on("request", (request) => {
    if (!request.url().startsWith(url)) said.push(`asked for ${request.url()}`);
  });
  await page.goto(url + at);
  return { page, said, close: () => context.close() };
}

const section = (page, name) => page.getByRole("region", { name, exact: true });
const shown = (page, name) => section(page, name).waitFor();

async function violations(page) {
  const found = await new AxeBuilder({ page }).analyze();
  return found.violations.map((one) => `${one.id}: ${one.nodes.map((node) => node.html)}`);
}

test("the view shows what the terminal shows", async () => {
  const { page, said, close } = await opened();
  await shown(page, "Endpoints");
  assert.match(await page.locator("h1").textContent(), /^(Only \d+ requests ended: requests|Requests) .* ms/);
  assert.match(await page.locator("main > p.about").first().textContent(), /2 processes, puma .* the last [\d.]+ s.*requests\/s/);
  assert.equal(await section(page, "Processes").locator("tbody tr").count(), 2);
  const columns = await section(page, "Processes").locator("thead th").allTextContents();
  for (const column of ["req/s", "Ruby", "GVL", "lock", "I/O", "GC", "pool", "CPU", "RSS", "busy"]) assert.ok(columns.includes(column), column);
  const names = await section(page, "Endpoints").locator("tbody th").allTextContents();
  assert.ok(names.includes("GET /"), String(names));
  const charts = await page.locator(".minutes figcaption strong").allTextContents();
  for (const chart of ["Requests", "Request time by part", "Threads busy, of 4", "CPU", "Memory, PSS"]) {
    assert.ok(charts.includes(chart), `${chart} of ${charts}`);
  }
  assert.ok((await page.locator(".minutes svg[aria-label] rect").count()) >= charts.length);
  assert.deepEqual(said, []);
  await close();
});

test("the view goes on by itself, and pauses", async () => {
  const { page, said, close } = await opened();
  await shown(page, "The last minutes");
  // The newest step is longer with each reading until it is complete.
  const step = () => section(page, "The last minutes").locator("tbody tr").first().textContent();
  const before = await step();
  await until("another reading", async () => (await step()) !== before);
  const questions = [];
  page.on("request", (request) => questions.push(request.url()));
  await page.getByRole("button", { name: "Pause" }).click();
  await page.waitForLoadState("networkidle");
  questions.length = 0;
  const reading = () => fetch(`${url}seen.json`).then((answer) => answer.json()).then((seen) => seen.reading);
  const then = await reading();
  await until("readings without a question", async () => (await reading()) > then + 4);
  assert.deepEqual(questions, []);
  await page.getByRole("button", { name: "Go on" }).click();
  await until("questions", () => questions.length > 1);
  assert.deepEqual(said, []);
  await close();
});

test("by keyboard into an endpoint, a request and back", async () => {
  const { page, said, close } = await opened();
  await shown(page, "Endpoints");
  const link = page.getByRole("link", { name: "GET /", exact: true });
  await link.focus();
  const first = await page.locator("main > p.about").first().textContent();
  await until("another reading", async () => (await page.locator("main > p.about").first().textContent()) !== first);
  assert.equal(await link.evaluate((one) => one === document.activeElement), true, "a reading takes no focus away");
  await page.keyboard.press("Enter");
  await shown(page, "Slowest requests");
  assert.match(await page.locator("main > p.about").first().textContent(), /^GET \/ in 2 processes/);
  assert.equal(await page.evaluate(() => document.activeElement.tagName), "H1");
  assert.equal(await page.locator(".minutes figcaption strong", { hasText: "CPU" }).count(), 0);
  await section(page, "Slowest requests").getByRole("link").first().press("Enter");
  await shown(page, "One request");
  assert.match(await page.locator("h1").textContent(), /^GET \/: 200 after [\d.]+ ms/);
  await page.getByText("In the order in which it happened:").waitFor();
  assert.ok((await section(page, "One request").locator("tbody tr").count()) >= 2);
  await page.keyboard.press("Escape");
  await shown(page, "Slowest requests");
  await page.keyboard.press("Escape");
  await shown(page, "Endpoints");
  await page.goBack();
  await shown(page, "Slowest requests");
  assert.deepEqual(said, []);
  await close();
});

test("one process, from its address", async () => {
  const { page, said, close } = await opened();
  await shown(page, "Processes");
  const link = section(page, "Processes").getByRole("link").first();
  const [name, address] = [await link.textContent(), await link.getAttribute("href")];
  await close();
  const other = await opened({}, address);
  await shown(other.page, "Slowest requests");
  assert.ok((await other.page.locator("main > p.about").first().textContent()).startsWith(`${name}, puma`));
  assert.equal(await other.page.locator(".minutes figcaption strong", { hasText: "CPU" }).count(), 1);
  await other.page.goto(`${url}#process=1-2-3`);
  await other.page.getByRole("heading", { name: "This process has ended" }).waitFor();
  assert.deepEqual([...said, ...other.said], []);
  await other.close();
});

test("no violation that axe finds, in light and in dark", async () => {
  for (const colorScheme of ["light", "dark"]) {
    const { page, said, close } = await opened({ colorScheme });
    await shown(page, "Endpoints");
    assert.deepEqual(await violations(page), [], colorScheme);
    await page.getByRole("link", { name: "GET /", exact: true }).click();
    await shown(page, "Slowest requests");
    assert.deepEqual(await violations(page), [], colorScheme);
    await section(page, "Slowest requests").getByRole("link").first().click();
    await shown(page, "One request");
    assert.deepEqual(await violations(page), [], colorScheme);
    const paper = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    assert.equal(paper, colorScheme === "dark" ? "rgb(22, 22, 26)" : "rgb(255, 255, 255)");
    assert.deepEqual(said, []);
    await close();
  }
});

test("the view fits a phone: nothing but wide tables scrolls sideways", async () => {
  const { page, said, close } = await opened({ viewport: { width: 360, height: 740 } });
  await shown(page, "Endpoints");
  const wide = () => page.evaluate(() => document.documentElement.scrollWidth);
  assert.ok((await wide()) <= 360, `${await wide()} pixels`);
  await section(page, "Endpoints").getByRole("link").first().click();
  await shown(page, "Slowest requests");
  assert.ok((await wide()) <= 360, `${await wide()} pixels`);
  assert.deepEqual(said, []);
  await close();
});

test("a name with markup is text", async () => {
  const { page, said, close } = await opened();
  const link = page.getByRole("link", { name: ATTACK, exact: true });
  await link.click();
  await shown(page, "Slowest requests");
  assert.ok((await page.locator("main > p.about").first().textContent()).startsWith(`${ATTACK} in 2 processes`));
  assert.equal(await page.locator("img").count(), 0);
  assert.deepEqual(said, []);
  await close();
});

test("a view whose server does not answer any more says so and keeps its figures", async () => {
  const { page, close } = await opened();
  await shown(page, "Endpoints");
  await page.route("**/seen.json*", (route) => route.abort());
  await page.getByText("powerband watch does not answer any more").waitFor();
  assert.ok((await section(page, "Endpoints").locator("tbody tr").count()) > 0);
  await page.unroute("**/seen.json*");
  await page.getByText("powerband watch does not answer any more").waitFor({ state: "detached" });
  await close();
});
