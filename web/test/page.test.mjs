// The page of each kind of document in a real browser: what it shows, that it reports no error, that it can be used by keyboard, on a
// phone, in the dark, on paper and with a screen reader.
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { execFile, execFileSync } from "node:child_process";
import { createServer } from "node:http";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { after, before, test } from "node:test";
import { launched, opened as openedIn, powerband, root, sidewaysOverflow, violations } from "../support/browser.mjs";

const ATTACK = "<img src=x onerror=alert(1)></script><script>alert(2)</script>";

let folder;
let browser;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "powerband-page-"));
  browser = await launched();
});

after(async () => {
  await browser?.close();
  await rm(folder, { recursive: true, force: true });
});

/** The address of the page of a sample, which `change` may change before. */
function pageOf(kind, change = () => {}) {
  const document = JSON.parse(readFileSync(join(root, `contract/samples/run/${kind}.json`), "utf8"));
  change(document);
  const run = join(folder, document.id);
  mkdirSync(join(run, "trials"), { recursive: true });
  writeFileSync(join(run, "run.json"), JSON.stringify(document));
  const written = execFileSync(powerband, ["report", run, "--html"], { encoding: "utf8" }).trim();
  return { url: pathToFileURL(written).href, document, written };
}

const opened = (url, options) => openedIn(browser, url, options);

/** Opens the table of a chart, which has no rows before. */
async function opensTable(figure) {
  await figure.locator("summary").click();
  await figure.locator("tbody tr").first().waitFor();
}

/** Texts of charts that lie in part outside their chart, which does not show that part. */
const clipped = (page) =>
  page.locator("#pictures svg text").evaluateAll((texts) =>
    texts
      .filter((text) => {
        const [inner, outer] = [text.getBoundingClientRect(), text.ownerSVGElement.getBoundingClientRect()];
        return inner.width > 0 && (inner.left < outer.left - 1 || inner.right > outer.right + 1);
      })
      .map((text) => text.textContent),
  );

for (const kind of ["tune", "compare", "sweep"]) {
  test(`the page of ${kind} shows the answer, its charts and every table`, async () => {
    const { url, document } = pageOf(kind);
    const { page, said, close } = await opened(url);
    // The title is the first sentence; the others are below it.
    const answer = page.locator("h1, h1 + p > strong");
    const sentence = (await answer.allTextContents()).map((text) => text.trim()).join(" ");
    assert.equal(sentence, document.verdict.sentence.trim());
    const charts = await page.evaluate(() => JSON.parse(window.document.getElementById("charts").textContent));
    assert.ok(charts.length >= 3, `${charts.length} charts`);
    assert.equal(await page.locator("#pictures > figure").count(), charts.length);
    for (const chart of charts) {
      const figure = page.locator(`#chart-${chart.id}`);
      assert.ok((await figure.locator("svg[aria-label]").count()) >= 1, chart.id);
      await opensTable(figure);
      const rows = await figure.locator("tbody tr").count();
      assert.equal(rows, chart.rows.length, `the table of ${chart.id} has every figure`);
    }
    const dots = await page.locator("#chart-throughput svg circle").count();
    assert.equal(dots, charts.find((chart) => chart.id === "throughput").rows.length);
    assert.deepEqual(said, []);
    await close();
  });

  test(`the page of ${kind} has no violation that axe finds, in light and in dark`, async () => {
    const { url } = pageOf(kind);
    for (const colorScheme of ["light", "dark"]) {
      const { page, close } = await opened(url, { colorScheme });
      for (const summary of await page.locator("summary").all()) await summary.click();
      assert.deepEqual(await violations(page), [], colorScheme);
      await close();
    }
  });
}

test("long names are not cut off at the edge of a chart", async () => {
  const { url } = pageOf("tune", (document) => {
    document.model = { kind: "simulator", predictions: [] };
    for (const [number, arm] of document.arms.entries()) arm.settings = { workers: number + 2, threads: 5, preload: true };
  });
  const { page, close } = await opened(url);
  assert.ok((await page.locator("#chart-predictions svg text").allTextContents()).some((name) => name.includes("preloaded")));
  assert.deepEqual(await clipped(page), []);
  await close();
});

test("the page fits a phone: nothing but wide tables and charts scrolls sideways", async () => {
  const { url } = pageOf("tune");
  const { page, said, close } = await opened(url, { viewport: { width: 360, height: 740 } });
  assert.ok((await sidewaysOverflow(page)) <= 0);
  const swatches = await page.locator("#chart-request-time svg:not([viewBox])").all();
  for (const swatch of swatches) assert.ok((await swatch.boundingBox()).width < 40, "a swatch of the legend is small");
  assert.ok(swatches.length >= 3);
  assert.deepEqual(said, []);
  await close();
});

test("the diff is copied by keyboard", async () => {
  const { url, document } = pageOf("tune");
  const { page, close } = await opened(url, { permissions: ["clipboard-read", "clipboard-write"] });
  const button = page.getByRole("button", { name: "Copy" }).first();
  await button.focus();
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: /Copied/ }).first().waitFor();
  const copied = await page.evaluate(() => navigator.clipboard.readText());
  assert.ok(copied.includes(document.verdict.changes[0].diff.trim()), copied);
  await close();
});

test("the page prints with its charts and without buttons", async () => {
  const { url } = pageOf("tune");
  const { page, close } = await opened(url);
  await page.emulateMedia({ media: "print" });
  assert.equal(await page.locator(".diff button").first().isVisible(), false);
  assert.equal(await page.locator("#chart-throughput svg").first().isVisible(), true);
  const pdf = await page.pdf();
  assert.ok(pdf.length > 20_000, `${pdf.length} bytes`);
  await close();
});

test("the page can be read without JavaScript", async () => {
  const { url, document } = pageOf("compare");
  const { page, close } = await opened(url, { javaScriptEnabled: false });
  assert.equal((await page.locator("h1").textContent()).trim(), document.verdict.sentence.trim());
  assert.ok((await page.locator("table").count()) >= 2);
  await close();
});

test("no script in a name runs", async () => {
  const { url } = pageOf("tune", (document) => {
    document.arms[1].label = ATTACK;
    document.warnings.push(ATTACK);
    document.verdict.sentence = ATTACK;
    document.profile.endpoints[0].name = ATTACK;
  });
  const { page, said, close } = await opened(url);
  assert.equal(await page.locator("h1").textContent(), ATTACK);
  assert.ok((await page.locator("svg").first().textContent()).includes("<img"));
  assert.equal(await page.locator("img").count(), 0);
  assert.deepEqual(said, []);
  await close();
});

test("a run of 200 trials gives a page of at most 2 MiB", async () => {
  const { url, written, document } = pageOf("tune", (document) => {
    // The chart has the trials that the table rests on.
    const trials = document.trials.filter((trial) => trial.stage === "confirm");
    document.trials = Array.from({ length: 200 }, (_, index) => {
      const trial = structuredClone(trials[index % trials.length]);
      trial.id = `${trial.id}-${index}`;
      return trial;
    });
  });
  assert.equal(document.trials.length, 200);
  assert.ok(readFileSync(written).length < 2 * 1024 * 1024);
  const { page, said, close } = await opened(url);
  assert.equal(await page.locator("#chart-throughput svg circle").count(), 200);
  assert.deepEqual(said, []);
  await close();
});

/** The samples of the other documents, and the charts that they have figures for. */
const SAMPLES = {
  load: ["percentiles", "over-time", "answered"],
  "inspect/wide": ["request-time", "job-time"],
  "predict/mixed": ["configurations"],
  "duplex/three": ["differences"],
  "capacity/mixed": ["latency", "requests"],
  capture: [],
  "memory/cluster": ["memory", "processes", "parts"],
  "memory/comparison": ["parts"],
  "validation/bursts": [],
  "doctor/application": [],
  "calc/pool": [],
  "calc/threads": [],
  "calc/queue": [],
  "calc/usl": [],
  "calc/amdahl": [],
};

/** What load measures of a server that answers at once. */
async function loaded() {
  const server = createServer((_, answer) => answer.end("hello"));
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  const url = `http://127.0.0.1:${server.address().port}/`;
  const asked = ["load", url, "--rate", "200", "--duration", "3s", "--slo", "p99=250ms", "--json", "-q"];
  // A machine that is busy makes the generator late: exit code 3, and a document all the same.
  const text = await new Promise((done) => execFile(powerband, asked, { maxBuffer: 1 << 26 }, (_, out) => done(out)));
  server.close();
  return text;
}

/** What is in a file of recorded traffic. */
const recorded = () => execFileSync(powerband, ["capture", "info", join(root, "contract/samples/capture/traffic-v1.pbc"), "--json"], { encoding: "utf8" });

/** Documents without a sample. */
const MADE = { load: loaded, capture: recorded };

/** The address of the page of another document. */
async function documentOf(sample, change = () => {}) {
  const text = MADE[sample] ? await MADE[sample]() : readFileSync(join(root, `contract/samples/${sample}.json`), "utf8");
  const document = JSON.parse(text);
  change(document);
  const file = join(folder, `${sample.replace("/", "-")}.json`);
  writeFileSync(file, JSON.stringify(document));
  const written = execFileSync(powerband, ["report", file, "--html"], { encoding: "utf8" }).trim();
  return { url: pathToFileURL(written).href, document };
}

for (const [sample, charts] of Object.entries(SAMPLES)) {
  test(`the page of ${sample} shows its charts with their figures, and is well`, async () => {
    const { url, document } = await documentOf(sample);
    for (const colorScheme of ["light", "dark"]) {
      const { page, said, close } = await opened(url, { colorScheme });
      const ids = await page.locator("#pictures > figure").evaluateAll((all) => all.map((figure) => figure.id));
      for (const chart of charts) {
        assert.ok(ids.includes(`chart-${chart}`), `${chart} of ${ids}`);
        await opensTable(page.locator(`#chart-${chart}`));
        assert.ok((await page.locator(`#chart-${chart} svg[viewBox]`).count()) > 0);
      }
      assert.ok((await page.locator("h1").textContent()).length > 10);
      if (document.sentence) {
        const [first, ...others] = document.sentence.split(". ");
        assert.equal(await page.locator("h1").textContent(), others.length > 0 ? `${first}.` : first);
      }
      assert.deepEqual(await violations(page), []);
      assert.deepEqual(said, []);
      await close();
    }
    const phone = await opened(url, { viewport: { width: 360, height: 740 } });
    assert.ok((await sidewaysOverflow(phone.page)) <= 0);
    await phone.close();
  });
}

/** Memory that was read once a second, with a peak of one reading. */
function longSeries(document) {
  const reading = document.samples[0];
  document.samples = Array.from({ length: 1_000 }, (_, at_s) => ({ ...reading, at_s, rss_bytes: at_s === 400 ? 9e8 : 3e8 }));
}

test("a chart over time is zoomed into with buttons, with Ctrl and the wheel, and by dragging", async () => {
  const { url } = await documentOf("memory/cluster", longSeries);
  const { page, said, close } = await opened(url);
  const figure = page.locator("#chart-memory");
  const button = (name) => figure.getByRole("button", { name });
  const shown = async () => {
    await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))));
    const words = await figure.getByRole("status").textContent();
    return words.replaceAll(",", "").match(/[\d.]+/g).map(Number);
  };
  const line = figure.locator("svg[viewBox] path[stroke]").first();
  const height = () => line.evaluate((path) => path.getBBox().height);
  const whole = await shown();
  assert.deepEqual(whole, [0, 999]);
  assert.ok(await button("Zoom out").isDisabled());
  const peak = await height();
  assert.ok(peak > 100, `the peak of one reading is drawn: ${peak}`);

  await button("Zoom in").focus();
  await page.keyboard.press("Enter");
  const [from, to] = await shown();
  assert.ok(Math.abs(to - from - 499.5) < 1 && Math.abs(from - 249.75) < 1, `${from} to ${to}`);
  assert.ok((await height()) > 100, "the peak lies within");
  await button("Later").click();
  const later = await shown();
  assert.ok(Math.abs(later[0] - from - 249.75) < 1, `${later}`);
  assert.ok((await height()) < 1, "the peak lies before");
  await button("Later").click();
  assert.ok((await shown())[1] <= 999, "nothing beyond the end is shown");
  await button("Whole time").click();
  assert.deepEqual(await shown(), whole);

  const box = await figure.locator("svg[viewBox]").last().boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  await page.mouse.wheel(0, -300);
  assert.deepEqual(await shown(), whole, "the wheel alone scrolls the page");
  await figure.scrollIntoViewIfNeeded();
  const now = await figure.locator("svg[viewBox]").last().boundingBox();
  const [x, y] = [now.x + now.width / 2, now.y + now.height / 2];
  await page.mouse.move(x, y);
  await page.keyboard.down("Control");
  await page.mouse.wheel(0, -300);
  await page.keyboard.up("Control");
  const wheeled = await shown();
  assert.ok(wheeled[1] - wheeled[0] < 999, `${wheeled}`);
  await page.mouse.down();
  await page.mouse.move(x + 100, y, { steps: 4 });
  await page.mouse.up();
  assert.ok((await shown())[0] < wheeled[0], "dragging to the right shows earlier times");
  assert.deepEqual(said, []);
  await close();
});

test("no script in the name of an endpoint of another document runs", async () => {
  const { url } = await documentOf("inspect/wide", (document) => {
    document.endpoints[0].name = ATTACK;
  });
  const { page, said, close } = await opened(url);
  assert.ok((await page.textContent("body")).includes(ATTACK));
  assert.deepEqual(said, []);
  await close();
});
