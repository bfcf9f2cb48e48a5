// One function a kind of chart. Colours are Okabe and Ito's, which colour-blind readers tell apart.
import * as Plot from "@observablehq/plot";
import type { Chart, Row } from "./chart";

const COLOURS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9", "#8a8a8a", "#b8a800"];
const WIDTH = 840;
const NAMES = 210;
const ROW = 34;
const STYLE = { fontSize: "13px" };
/** Between Okabe and Ito's two blues, so that it stands out on white and on black. */
const DOT = "#2f8fd0";
/** A line further away than this many times the greatest value would leave no room for the values. */
const FAR = 3;

type Drawn = SVGSVGElement | HTMLElement;

const names = (rows: Row[]): string[] => [...new Set(rows.map((row) => row.name))];
const series = (rows: Row[]): string[] => [...new Set(rows.map((row) => row.series ?? row.name))];

/** One line for each name: the name on the left, its values on the right. */
const named = (chart: Chart): Plot.PlotOptions => ({
  width: WIDTH,
  height: ROW * names(chart.rows).length + 80,
  marginLeft: NAMES,
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

/** Parts of each name, one upon the other. */
function parts(chart: Chart): Drawn {
  return Plot.plot({
    ...named(chart),
    x: { label: chart.unit, grid: true },
    color: { legend: true, domain: series(chart.rows), range: COLOURS },
    marks: [
      Plot.barX(chart.rows, Plot.stackX({ x: "value", y: "name", fill: "series", order: series(chart.rows), title: (row: Row) => `${row.series}: ${row.value}` })),
      ...marks(chart),
    ],
  });
}

/** Predictions against measurements; on the diagonal both agree. */
function predictions(chart: Chart): Drawn {
  const most = Math.max(...chart.rows.flatMap((row) => [row.value, row.at ?? 0])) * 1.05;
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
      Plot.text(chart.rows, { x: "at", y: "value", text: "name", dy: -10, fill: "currentColor" }),
    ],
  });
}

const kinds = { trials, blocks, parts, predictions };

/** The chart as a picture. */
export function draw(chart: Chart): Drawn {
  return kinds[chart.kind](chart);
}
