// How fast the page is written, opened and zoomed: see README.md.
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { cpus, loadavg, release, tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { launched, opened, powerband, root } from "../../web/support/browser.mjs";

const TIMES = 5;
const folder = mkdtempSync(join(tmpdir(), "powerband-bench-page-"));
const sample = (name) => JSON.parse(readFileSync(join(root, `contract/samples/${name}.json`), "utf8"));
const sorted = (values) => [...values].sort((a, b) => a - b);
const quantile = (values, share) => sorted(values)[Math.round(share * (values.length - 1))];
const html = (source) => execFileSync(powerband, ["report", source, "--html"], { encoding: "utf8" }).trim();

function tuned() {
  const document = sample("run/tune");
  const trials = document.trials.filter((trial) => trial.stage === "confirm");
  document.trials = Array.from({ length: 200 }, (_, nth) => ({ ...trials[nth % trials.length], id: `trial-${nth}` }));
  const run = join(folder, document.id);
  mkdirSync(join(run, "trials"), { recursive: true });
  writeFileSync(join(run, "run.json"), JSON.stringify(document));
  return run;
}

function read() {
  const document = sample("memory/cluster");
  const readings = (pid) =>
    Array.from({ length: 3_000 }, (_, at_s) => {
      const rss = Math.round(3e8 * (1 + 0.1 * Math.sin(at_s / 200 + pid) + 0.02 * Math.sin(at_s * pid)));
      return { ...document.samples[0], at_s, rss_bytes: rss, anonymous_bytes: rss >> 1, file_bytes: rss >> 2 };
    });
  const process = document.processes[0];
  document.processes = Array.from({ length: 12 }, (_, nth) => ({ ...process, pid: 5_000 + nth, samples: readings(nth + 1) }));
  document.samples = readings(0);
  const file = join(folder, "memory.json");
  writeFileSync(file, JSON.stringify(document));
  return file;
}

/** Milliseconds between frames while the chart is zoomed in and out. */
const frames = (page) =>
  page.locator("#chart-processes .wide > div").evaluate(async (picture) => {
    picture.scrollIntoView({ block: "center" });
    const frame = () => new Promise((drawn) => requestAnimationFrame(drawn));
    const box = picture.getBoundingClientRect();
    const at = { clientX: box.left + box.width / 2, clientY: box.top + box.height / 2, bubbles: true, cancelable: true, ctrlKey: true };
    const times = [await frame()];
    for (let nth = 0; nth < 120; nth += 1) {
      picture.dispatchEvent(new WheelEvent("wheel", { ...at, deltaY: nth % 60 < 30 ? -4 : 4 }));
      times.push(await frame());
    }
    return times.slice(1).map((time, nth) => time - times[nth]);
  });

const browser = await launched();
try {
  const run = tuned();
  const written = Array.from({ length: TIMES }, () => {
    const began = performance.now();
    html(run);
    return performance.now() - began;
  });
  const pages = { "a tune with 200 trials": html(run), "memory of 12 processes, 3,000 readings": html(read()) };
  const rows = [["writing the page of 200 trials", `${(quantile(written, 0.5) / 1e3).toFixed(2)} s`, "2 s"]];
  for (const [name, page] of Object.entries(pages)) {
    rows.push([`size: ${name}`, `${(statSync(page).size / (1 << 20)).toFixed(2)} MiB`, "2 MiB"]);
    const loads = [];
    for (let nth = 0; nth < TIMES; nth += 1) {
      const { page: shown, close } = await opened(browser, pathToFileURL(page).href);
      loads.push(await shown.evaluate(() => performance.getEntriesByType("navigation")[0].loadEventEnd));
      await close();
    }
    rows.push([`interactive: ${name}`, `${(quantile(loads, 0.5) / 1e3).toFixed(2)} s`, "1 s"]);
  }
  const { page, close } = await opened(browser, pathToFileURL(Object.values(pages)[1]).href);
  const between = await frames(page);
  await close();
  rows.push(["between frames while zooming, median", `${quantile(between, 0.5).toFixed(1)} ms`, "16.7 ms"]);
  rows.push(["between frames while zooming, 95th percentile", `${quantile(between, 0.95).toFixed(1)} ms`, ""]);
  const table = [["figure", "measured", "aim"], ["---", "---", "---"], ...rows].map((cells) => `| ${cells.join(" | ")} |\n`).join("");
  const made = `# How fast the page is

Made by \`make bench-page\` on ${new Date().toISOString().slice(0, 10)}: ${cpus()[0].model}, ${cpus().length} cores, Linux ${release()},
Chromium ${browser.version()}, ${powerband.includes("/debug/") ? "debug" : "release"} binary; load average at the end ${loadavg()[0].toFixed(2)}. What is measured how: [README.md](README.md).

${table}`;
  writeFileSync(join(root, "bench/page/RESULTS.md"), made);
  console.log(made);
} finally {
  await browser.close();
  rmSync(folder, { recursive: true, force: true });
}
