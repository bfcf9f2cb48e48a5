// One function a kind of chart.
import * as Plot from "@observablehq/plot";
import { extent, max } from "d3-array";
import type { Chart, Row } from "./chart";
import { COLOURS, DOT, PARTS } from "./colours";
import { thinner } from "./thinned";
import type { Zoom } from "./zoom";

const WIDTH = 840;
/** Room for the longest name, within these bounds, at about so many pixels a character. */
const NAMES = { least: 120, most: 340, character: 7.4, height: 14 };
const ROW = 34;
/** The title of an axis ends at the edge, and a g below it. */
const STYLE = { fontSize: "13px", overflow: "visible" };
/** A line further away than this many times the greatest value would leave no room for the values. */
const FAR = 3;

/** A chart of lines with more rows has no dots, and can be zoomed. */
const FEW = 120;

type Drawn = SVGSVGElement | HTMLElement;

const names = (rows: Row[]): string[] => [...new Set(rows.map((row) => row.name))];
const series = (rows: Row[]): string[] => [...new Set(rows.map((row) => row.series ?? row.name))];

function room(all: string[]): number {
  const longest = Math.max(...all.map((name) => name.length)) * NAMES.character + 16;
  return Math.min(NAMES.most, Math.max(NAMES.least, longest));
}

/** One line for each name: the name on the left, its values on the right. */
const named = (chart: Chart): Plot.PlotOptions => ({
  width: WIDTH,
  height: ROW * names(chart.rows).length + 80,
  marginLeft: room(names(chart.rows)),
  marginRight: 30,
  marginTop: 28,
  marginBottom: 40,
  style: STYLE,
  y: { label: null, domain: names(chart.rows) },
});

function marks(chart: Chart): Plot.Markish[] {
  const most = Math.max(...chart.rows.map((row) => row.value));
  if (!chart.mark || chart.mark.value > FAR * most) return [];
  const at = [chart.mark.value];
  return [
    Plot.ruleX(at, { stroke: "currentColor", strokeDasharray: "4 3" }),
    Plot.text(at, { x: (value: number) => value, text: () => chart.mark?.name, frameAnchor: "top", dy: -10, fill: "currentColor" }),
  ];
}

/** Every trial as a dot, the median of each name as a bar. */
function trials(chart: Chart): Drawn {
  return Plot.plot({
    ...named(chart),
    x: { label: chart.unit, zero: true, grid: true },
    marks: [
      ...marks(chart),
      Plot.dot(chart.rows, { x: "value", y: "name", fill: DOT, fillOpacity: 0.6, r: 5, title: (row: Row) => `${row.series}: ${row.value}` }),
      Plot.tickX(chart.rows, Plot.groupY({ x: "median" }, { x: "value", y: "name", stroke: COLOURS[4], strokeWidth: 3 })),
    ],
  });
}

/** One dot a block, the interval as a band, and the line of no difference. */
function blocks(chart: Chart): Drawn {
  const band = chart.band ? [chart.band] : [];
  return Plot.plot({
    width: WIDTH,
    height: 280,
    marginLeft: 60,
    marginTop: 36,
    marginBottom: 40,
    inset: 14,
    style: STYLE,
    x: { label: chart.atUnit, tickFormat: "d", ticks: Math.min(chart.rows.length, 24) },
    y: { label: chart.unit, grid: true, zero: true },
    marks: [
      Plot.rectY(band, { y1: "low", y2: "high", fill: COLOURS[5], fillOpacity: 0.25 }),
      Plot.ruleY([0], { stroke: "currentColor" }),
      Plot.dot(chart.rows, { x: "at", y: "value", fill: DOT, r: 5, title: "name" }),
    ],
  });
}

/** The colours of parts of a request's time, or any. */
const coloursOf = (series: string[]): string[] => (series.every((name) => PARTS[name]) ? series.map((name) => PARTS[name] as string) : COLOURS);

/** Parts of each name, stacked. */
function parts(chart: Chart): Drawn {
  return Plot.plot({
    ...named(chart),
    x: { label: chart.unit, grid: true },
    color: { legend: true, domain: series(chart.rows), range: coloursOf(series(chart.rows)) },
    marks: [
      Plot.barX(chart.rows, Plot.stackX({ x: "value", y: "name", fill: "series", order: series(chart.rows), title: (row: Row) => `${row.series}: ${row.value}` })),
      ...marks(chart),
    ],
  });
}

/** Rows whose names run over no dot and no other name, the greatest values first: the table has every name. */
function legible(rows: Row[], most: number, width: number, height: number): Row[] {
  const placed = rows.map((row) => {
    const x = ((row.at ?? 0) / most) * width;
    return { from: x - 5, to: x + 5, y: (row.value / most) * height };
  });
  return [...rows]
    .sort((a, b) => b.value - a.value)
    .filter((row) => {
      const x = ((row.at ?? 0) / most) * width;
      const length = row.name.length * NAMES.character + 9;
      const y = (row.value / most) * height;
      // The dot itself lies beside its name.
      const [from, to] = x > width / 2 ? [x - length, x - 6] : [x + 6, x + length];
      const free = placed.every((other) => Math.abs(other.y - y) > NAMES.height || other.to < from || other.from > to);
      if (free) placed.push({ from, to, y });
      return free;
    });
}

/** Predictions against measurements; on the diagonal both agree. */
function predictions(chart: Chart): Drawn {
  const most = Math.max(...chart.rows.flatMap((row) => [row.value, row.at ?? 0])) * 1.05;
  const named = legible(chart.rows, most, 440, 378);
  return Plot.plot({
    width: 560,
    height: 460,
    marginLeft: 60,
    marginTop: 36,
    marginBottom: 40,
    marginRight: 60,
    style: STYLE,
    x: { label: chart.atUnit, domain: [0, most], grid: true },
    y: { label: chart.unit, domain: [0, most], grid: true },
    marks: [
      Plot.line([[0, 0], [most, most]], { stroke: "currentColor", strokeDasharray: "4 3" }),
      Plot.dot(chart.rows, { x: "at", y: "value", fill: DOT, r: 5, title: "name" }),
      // A name ends at its dot in the right half, where it would run over the edge.
      ...(["start", "end"] as const).map((textAnchor) =>
        Plot.text(
          named.filter((row) => ((row.at ?? 0) > most / 2) === (textAnchor === "end")),
          { x: "at", y: "value", text: "name", dx: textAnchor === "end" ? -9 : 9, textAnchor, fill: "currentColor" },
        ),
      ),
    ],
  });
}

const legend = (chart: Chart): Plot.PlotOptions["color"] => ({ legend: true, domain: series(chart.rows), range: COLOURS });

const MARGIN = { left: 60, right: 40 };

const across = (chart: Chart): Plot.PlotOptions => ({
  width: WIDTH,
  height: 340,
  marginLeft: MARGIN.left,
  marginTop: 36,
  marginRight: MARGIN.right,
  marginBottom: 44,
  style: STYLE,
  color: legend(chart),
});

/** A horizontal line at the limit, unless it is too far away, and a vertical one at the answer. */
function limits(chart: Chart): Plot.Markish[] {
  const most = Math.max(...chart.rows.map((row) => row.value));
  const made: Plot.Markish[] = [];
  if (chart.mark && chart.mark.value <= FAR * most) {
    const { value, name } = chart.mark;
    made.push(
      Plot.ruleY([value], { stroke: "currentColor", strokeDasharray: "4 3" }),
      Plot.text([value], { y: (at: number) => at, text: () => name, frameAnchor: "right", dy: -8, fill: "currentColor" }),
    );
  }
  if (chart.atMark) {
    const { value, name } = chart.atMark;
    made.push(
      Plot.ruleX([value], { stroke: "currentColor", strokeDasharray: "4 3" }),
      Plot.text([value], { x: (at: number) => at, text: () => name, frameAnchor: "top", dy: -12, fill: "currentColor" }),
    );
  }
  return made;
}

const titled = (row: Row): string => `${row.series}, ${row.name}: ${row.value}`;

/** A line for each series, with its points. */
function lines(chart: Chart): Drawn {
  return Plot.plot({
    ...across(chart),
    x: { label: chart.atUnit },
    y: { label: chart.unit, grid: true, zero: true },
    marks: [
      Plot.lineY(chart.rows, { x: "at", y: "value", stroke: "series", strokeWidth: 1.8 }),
      Plot.dot(chart.rows, { x: "at", y: "value", fill: "series", r: 3, title: titled }),
      ...limits(chart),
    ],
  });
}

const rounded = (at: number): string => Number(at.toPrecision(4)).toLocaleString("en");

/** How the chart is zoomed into, if it is one of many rows over time. What does not depend on the span is calculated once. */
export function zoomOf(chart: Chart): Zoom | undefined {
  if (chart.kind !== "lines" || chart.rows.length <= FEW) return undefined;
  const [first = 0, last = 0] = extent(chart.rows, (row) => row.at);
  const most = Math.max(0, max(chart.rows, (row) => row.value) ?? 0);
  const plain = across(chart);
  const marks = limits(chart);
  const rows = thinner(chart.rows);
  return {
    whole: [first, last],
    // Ten rows of a line remain.
    most: Math.max(2, chart.rows.length / series(chart.rows).length / 10),
    across: { left: MARGIN.left, right: WIDTH - MARGIN.right, width: WIDTH },
    draw: (span) =>
      Plot.plot({
        ...plain,
        x: { label: chart.atUnit, domain: span },
        // The scale of the values stays while the time is magnified.
        y: { label: chart.unit, grid: true, zero: true, domain: [0, most], nice: true },
        marks: [Plot.lineY(rows(span), { x: "at", y: "value", stroke: "series", strokeWidth: 1.8, clip: true }), ...marks],
      }),
    said: ([from, to]) => `${rounded(from)} to ${rounded(to)} ${chart.atUnit ?? ""}`,
  };
}

/** Percentiles by how rare what lies above them is: 50 %, 90 %, 99 % and 99.9 % are as far apart. */
function percentiles(chart: Chart): Drawn {
  const rare = (row: Row): number => 100 / (100 - (row.at ?? 0));
  const ticks = [2, 10, 100, 1000, 10000].filter((tick) => tick <= Math.max(...chart.rows.map(rare)) * 1.01);
  return Plot.plot({
    ...across(chart),
    x: { type: "log", label: chart.atUnit, ticks, tickFormat: (tick: number) => `p${Number((100 - 100 / tick).toFixed(3))}` },
    y: { label: chart.unit, grid: true, zero: true },
    marks: [
      Plot.lineY(chart.rows, { x: rare, y: "value", stroke: "series", strokeWidth: 1.8 }),
      Plot.dot(chart.rows, { x: rare, y: "value", fill: "series", r: 3.5, title: titled }),
      ...limits(chart),
    ],
  });
}

/** A cell for each pair, darker with more, and its value in it. */
function heat(chart: Chart): Drawn {
  const most = Math.max(...chart.rows.map((row) => row.value));
  return Plot.plot({
    width: Math.min(WIDTH, 150 + 110 * series(chart.rows).length),
    height: 60 + 44 * names(chart.rows).length,
    marginLeft: 120,
    marginTop: 36,
    style: STYLE,
    x: { domain: series(chart.rows), axis: "top", label: null },
    y: { domain: names(chart.rows), label: null },
    color: { type: "linear", range: ["#e8f1fa", COLOURS[0]], domain: [0, most] },
    marks: [
      Plot.cell(chart.rows, { x: "series", y: "name", fill: "value", inset: 1 }),
      Plot.text(chart.rows, {
        x: "series",
        y: "name",
        text: (row: Row) => String(Number(row.value.toPrecision(3))),
        fill: (row: Row) => (row.value > 0.8 * most ? "white" : "#1d1d1f"),
      }),
    ],
  });
}

/** An estimate and its interval for each name, a panel for each series. */
function intervals(chart: Chart): Drawn {
  const panels = series(chart.rows);
  return Plot.plot({
    ...named(chart),
    height: (ROW * names(chart.rows).length + 40) * panels.length + 60,
    fy: { label: null, domain: panels, axis: null },
    x: { label: chart.unit, grid: true },
    marks: [
      Plot.ruleX(chart.mark ? [chart.mark.value] : [], { stroke: "currentColor" }),
      Plot.text(panels.map((panel) => ({ panel })), { fy: "panel", text: "panel", frameAnchor: "top-left", dy: -14, fill: "currentColor", fontWeight: "bold" }),
      Plot.ruleY(chart.rows, { fy: "series", y: "name", x1: "low", x2: "high", stroke: DOT, strokeWidth: 3 }),
      Plot.dot(chart.rows, { fy: "series", y: "name", x: "value", fill: DOT, r: 5, title: (row: Row) => `${row.value} (${row.low} to ${row.high})` }),
    ],
  });
}

const kinds = { trials, blocks, parts, predictions, lines, percentiles, heat, intervals };

/** The chart as a picture. */
export function draw(chart: Chart): Drawn {
  return kinds[chart.kind](chart);
}
