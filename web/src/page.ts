// Draws the charts, each with its figures as a table, where the page has a place for them.
import type { Chart, Row } from "./chart";
import { draw, zoomOf } from "./draw";
import { labelled } from "./labelled";
import { zoomable } from "./zoom";

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
  const scrolled = element("div");
  scrolled.className = "wide";
  scrolled.tabIndex = 0;
  scrolled.setAttribute("role", "group");
  scrolled.setAttribute("aria-label", `${chart.title}: table`);
  details.append(scrolled);
  // Thousands of rows would slow down the page for readers who want none.
  details.addEventListener("toggle", () => scrolled.append(rows(chart)), { once: true });
  return details;
}

function rows(chart: Chart): HTMLTableElement {
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
  return made;
}

/** The picture, and the buttons of one to zoom into. */
function picture(chart: Chart): HTMLElement[] {
  const scrolled = element("div");
  scrolled.className = "wide";
  scrolled.tabIndex = 0;
  scrolled.setAttribute("role", "group");
  scrolled.setAttribute("aria-label", chart.title);
  const described = <T extends SVGSVGElement | HTMLElement>(drawn: T): T => {
    labelled(drawn, `${chart.title}. ${chart.note}`);
    return drawn;
  };
  const zoom = zoomOf(chart);
  if (!zoom) {
    scrolled.append(described(draw(chart)));
    return [scrolled];
  }
  const { picture, buttons } = zoomable({ ...zoom, draw: (span) => described(zoom.draw(span)) });
  buttons.setAttribute("role", "group");
  buttons.setAttribute("aria-label", `${chart.title}: zoom`);
  scrolled.append(picture);
  return [scrolled, buttons];
}

function figure(chart: Chart): HTMLElement {
  const made = element("figure");
  made.id = `chart-${chart.id}`;
  const caption = element("figcaption");
  caption.append(element("strong", chart.title), element("span", chart.note));
  made.append(caption, ...picture(chart), table(chart));
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
