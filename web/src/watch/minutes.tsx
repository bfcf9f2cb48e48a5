// The last minutes as charts: a bar for each step, as wide as the step was long, the newest on the right.
import * as Plot from "@observablehq/plot";
import { useLayoutEffect, useRef } from "preact/hooks";
import { COLOURS, DOT } from "../colours";
import { labelled } from "../labelled";
import { LITTLE_MS, Legend, colourOf } from "./bar";
import type { Picture, Step, Time } from "./seen";

/** Seconds that the axis has at least, and at most. */
const SPAN = { least: 60, most: 300 };

interface MinutesChart {
  title: string;
  unit: string;
  marks: Plot.Markish[];
  /** The newest value. */
  now: string;
  /** Names that have a colour each, and a legend. */
  names?: string[];
}

/** What a step has of a resource, where that is known. */
interface Resource {
  title: string;
  unit: string;
  key: "cores" | "rss_bytes" | "pss_bytes";
  factor: number;
}

const between = { x1: (step: Step) => -step.from_s, x2: (step: Step) => -step.to_s, insetLeft: 0.5, insetRight: 0.5 };

const bars = (steps: Step[], y: (step: Step) => number | null, fill: string): Plot.Markish =>
  Plot.rectY(steps, { ...between, y1: 0, y2: y, fill });

/** A row for each part of each step. */
const split = (steps: Step[], of: (step: Step) => Time[]): (Step & Time)[] =>
  steps.flatMap((step) => of(step).map((time) => ({ ...step, ...time })));

const namesOf = (times: Time[]): string[] => [...new Set(times.map((time) => time.name))];

function charts({ steps, threads }: Picture): MinutesChart[] {
  const newest = steps.at(-1);
  if (!newest) return [];
  const parts = split(steps, (step) => step.parts);
  const inside = split(steps, (step) => step.inside);
  const large = namesOf(inside).filter((name) => inside.some((one) => one.name === name && one.ms >= LITTLE_MS));
  const lines = inside.filter((one) => large.includes(one.name));
  const middle = (step: Step): number => -(step.from_s + step.to_s) / 2;
  const fails = steps.some((step) => step.failed_per_s > 0);
  const total = newest.parts.reduce((sum, { ms }) => sum + ms, 0);
  const made: MinutesChart[] = [
    {
      title: fails ? "Requests, and failed ones in orange" : "Requests",
      unit: "a second",
      now: newest.per_s.toFixed(1),
      marks: [bars(steps, (step) => step.per_s, DOT), bars(steps, (step) => step.failed_per_s, COLOURS[4] ?? DOT)],
    },
    {
      title: "Request time by part",
      unit: "ms a request",
      now: total.toFixed(1),
      names: namesOf(parts),
      marks: [Plot.rectY(parts, Plot.stackY({ order: namesOf(parts) }, { ...between, y: "ms", fill: "name" }))],
    },
  ];
  if (large.length > 0) {
    const now = newest.inside.filter(({ name }) => large.includes(name));
    made.push({
      title: "Inside it: calls, pool and GC",
      unit: "ms a request",
      now: now.map(({ name, ms }) => `${name} ${ms.toFixed(1)}`).join(", "),
      names: large,
      marks: [Plot.lineY(lines, { x: middle, y: "ms", stroke: "name", strokeWidth: 2, marker: "dot" })],
    });
  }
  if (threads !== null) {
    const all = Plot.ruleY([threads], { stroke: "currentColor", strokeDasharray: "4 3" });
    made.push({
      title: `Threads busy, of ${threads}`,
      unit: "on average",
      now: newest.busy.toFixed(1),
      marks: [bars(steps, (step) => step.busy, DOT), all],
    });
  }
  const hasPss = steps.some((step) => step.pss_bytes !== null);
  const resources: Resource[] = [
    { title: "CPU", unit: "% of a core", key: "cores", factor: 100 },
    { title: hasPss ? "Memory, PSS" : "Memory, RSS", unit: "MiB", key: hasPss ? "pss_bytes" : "rss_bytes", factor: 2 ** -20 },
  ];
  for (const { title, unit, key, factor } of resources) {
    const value = (step: Step): number | null => (step[key] === null ? null : factor * step[key]);
    if (steps.every((step) => value(step) === null)) continue;
    made.push({ title, unit, now: value(newest)?.toFixed(0) ?? "unknown", marks: [bars(steps, value, DOT)] });
  }
  return made;
}

function ago(seconds: number): string {
  if (seconds === 0) return "now";
  return seconds % 60 === 0 ? `−${-seconds / 60} min` : `−${-seconds} s`;
}

function Drawn({ chart, span }: { chart: MinutesChart; span: number }) {
  const place = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const every = span > 120 ? 60 : 20;
    const picture = Plot.plot({
      width: 380,
      height: 170,
      marginLeft: 48,
      marginRight: 14,
      marginTop: 10,
      marginBottom: 26,
      style: { fontSize: "12px" },
      x: { domain: [-span, 0], ticks: Array.from({ length: Math.floor(span / every) + 1 }, (_, at) => -every * at), tickFormat: ago, label: null },
      y: { label: null, grid: true, zero: true, nice: true, ticks: 4 },
      ...(chart.names ? { color: { domain: chart.names, range: chart.names.map(colourOf) } } : {}),
      marks: [...chart.marks, Plot.ruleY([0], { stroke: "currentColor" })],
    });
    labelled(picture, `${chart.title}, ${chart.unit}: ${chart.now} now`);
    place.current?.replaceChildren(picture);
  });
  return (
    <figure>
      <figcaption>
        <strong>{chart.title}</strong>
        <span>{chart.unit}</span>
      </figcaption>
      <div ref={place} />
      {chart.names ? <Legend times={chart.names.map((name) => ({ name }))} /> : null}
    </figure>
  );
}

/** Everything that has figures. */
export function Minutes({ picture }: { picture: Picture }) {
  const oldest = Math.max(0, ...picture.steps.map((step) => step.from_s));
  const span = Math.min(SPAN.most, Math.max(SPAN.least, Math.ceil(oldest / 20) * 20));
  return (
    <section class="minutes" aria-label="The last minutes as charts">
      {charts(picture).map((chart) => (
        <Drawn key={chart.unit + chart.title} chart={chart} span={span} />
      ))}
    </section>
  );
}
