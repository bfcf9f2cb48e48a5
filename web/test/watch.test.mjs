// The live view of powerband watch in a real browser, on a real Puma: what it shows, that it goes on by itself, that it reports no
// error, and that it can be used by keyboard, on a phone, in the dark and with a screen reader.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readdirSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { get } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { launched, opened as openedIn, powerband, sidewaysOverflow, violations } from "../support/browser.mjs";

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
  browser = await launched();
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
  // Of both workers: the view reads PSS at its first reading, and not soon again.
  await until("flight files", () => readdirSync(flight, { recursive: true }).filter((file) => file.endsWith(".flight")).length === 2);
  await asked("/");
  watch = spawn(powerband, ["watch", "--serve", "--interval", "200ms", flight], { stdio: ["ignore", "pipe", "inherit"] });
  let printed = "";
  watch.stdout.on("data", (text) => (printed += text));
  url = await until("the address of the page", () => {
    assert.equal(watch.exitCode, null, "powerband watch has ended");
    return /^http\S+(?=\n)/.exec(printed)?.[0];
  });
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

const opened = (options, at = "") => openedIn(browser, url + at, { isOwn: (asked) => asked.startsWith(url), ...options });

const section = (page, name) => page.getByRole("region", { name, exact: true });
const shown = (page, name) => section(page, name).waitFor();

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
  await page.getByRole("button", { name: "Resume" }).click();
  await until("questions", () => questions.length > 1);
  assert.deepEqual(said, []);
  await close();
});

test("charts of figures that are unknown now keep what is known", async () => {
  const { page, said, close } = await opened();
  await page.route("**/seen.json*", async (route) => {
    const answer = await route.fetch();
    const seen = await answer.json();
    const steps = seen.picture?.steps ?? [];
    if (steps.length > 0) {
      const known = { ...steps.at(-1), from_s: 30, to_s: 20, cores: 0.5, rss_bytes: 2 ** 29, pss_bytes: 2 ** 28 };
      seen.picture.steps = [known, { ...known, from_s: 20, to_s: 0, cores: null, pss_bytes: null }];
    }
    await route.fulfill({ response: answer, json: seen });
  });
  for (const label of ["CPU, % of a core: unknown now", "Memory, PSS, MiB: unknown now"]) {
    const chart = page.locator(`.minutes svg[aria-label="${label}"]`);
    await chart.waitFor();
    assert.equal(await chart.locator("rect").count(), 1, label);
  }
  await page.unrouteAll({ behavior: "ignoreErrors" });
  assert.deepEqual(said, []);
  await close();
});

test("an answer that comes after a newer one is not shown", async () => {
  const { page, said, close } = await opened();
  await shown(page, "Endpoints");
  let held;
  let answers = 0;
  await page.route("**/seen.json*", async (route) => {
    if (held === undefined) held = route;
    else if (answers++ === 0) await route.continue();
  });
  await until("a question", () => held);
  await page.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));
  await until("a later question", () => answers > 0);
  const answer = await held.fetch();
  const seen = await answer.json();
  seen.picture.sentence = "An older answer.";
  await until("its answer", () => answers > 1);
  await held.fulfill({ response: answer, json: seen });
  await until("the question after it", () => answers > 2);
  assert.notEqual(await page.locator("h1").textContent(), "An older answer.");
  await page.unrouteAll({ behavior: "ignoreErrors" });
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
  assert.ok((await sidewaysOverflow(page)) <= 0);
  await section(page, "Endpoints").getByRole("link").first().click();
  await shown(page, "Slowest requests");
  assert.ok((await sidewaysOverflow(page)) <= 0);
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
