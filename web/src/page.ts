// Draws the charts, each with its figures as a table, where the page has a place for them.
import type { Chart, Row } from "./chart";
import { draw } from "./draw";
import { labelled } from "./labelled";

function element<K extends keyof HTMLElementTagNameMap>(name: K, text?: string): HTMLElementTagNameMap[K] {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  return made;
}

const rounded = (value: number | undefined): string => (value === undefined ? "" : String(Number(value.toPrecision(4))));

/** The columns that a chart has figures for. */
function columns(chart: Chart): [string, (row: Row) => string][] {
  const has = (key: keyof Row): boolean => chart.rows.some((row) => row[key] !== undefined);
  const all: [string, boolean, (row: Row) => string][] = [
    ["name", true, (row) => row.name],
    ["of", has("series"), (row) => row.series ?? ""],
    [chart.atUnit ?? "at", has("at"), (row) => rounded(row.at)],
    [chart.unit, true, (row) => rounded(row.value)],
    ["from", has("low"), (row) => rounded(row.low)],
    ["to", has("high"), (row) => rounded(row.high)],
  ];
  return all.filter(([, shown]) => shown).map(([title, , of]) => [title, of]);
}

function table(chart: Chart): HTMLElement {
  const details = element("details");
  details.append(element("summary", "The figures as a table"));
  const made = element("table");
  const shown = columns(chart);
  const head = made.createTHead().insertRow();
  for (const [title] of shown) {
    const cell = element("th", title);
    cell.scope = "col";
    head.append(cell);
  }
  const body = made.createTBody();
  for (const row of chart.rows) {
    const line = body.insertRow();
    for (const [, of] of shown) line.insertCell().textContent = of(row);
  }
  const scrolled = element("div");
  scrolled.className = "wide";
  scrolled.tabIndex = 0;
  scrolled.setAttribute("role", "group");
  scrolled.setAttribute("aria-label", `${chart.title}: table`);
  scrolled.append(made);
  details.append(scrolled);
  return details;
}

function figure(chart: Chart): HTMLElement {
  const made = element("figure");
  made.id = `chart-${chart.id}`;
  const picture = draw(chart);
  labelled(picture, `${chart.title}. ${chart.note}`);
  const caption = element("figcaption");
  caption.append(element("strong", chart.title), element("span", chart.note));
  const scrolled = element("div");
  scrolled.className = "wide";
  scrolled.tabIndex = 0;
  scrolled.setAttribute("role", "group");
  scrolled.setAttribute("aria-label", chart.title);
  scrolled.append(picture);
  made.append(caption, scrolled, table(chart));
  return made;
}

function copied(button: HTMLButtonElement): void {
  const text = button.parentElement?.querySelector("pre")?.textContent ?? "";
  const said = (word: string): void => {
    button.textContent = word;
  };
  // Absent where the page does not come from a secure place.
  const written: Promise<void> = navigator.clipboard?.writeText(text) ?? Promise.reject(new Error("no clipboard"));
  written.then(
    () => said("Copied"),
    () => said("Select the text and copy it"),
  );
}

const given = document.getElementById("charts")?.textContent ?? "[]";
const place = document.getElementById("pictures");
for (const chart of JSON.parse(given) as Chart[]) {
  place?.append(figure(chart));
}
for (const block of document.querySelectorAll("div.diff")) {
  const button = element("button", "Copy");
  button.type = "button";
  button.addEventListener("click", () => copied(button));
  block.prepend(button);
}
