// What the page is given to draw. The Rust crate `report` writes it (crates/report/src/html/charts.rs); the words in it are final.

/** A number with a name. */
export interface Row {
  name: string;
  value: number;
  /** Which series or part it belongs to. */
  series?: string;
  /** Position on a second axis: a block, a prediction, a rate, a percentile. */
  at?: number;
  /** Ends of the interval of the value. */
  low?: number;
  high?: number;
}

/** One chart. */
export interface Chart {
  id: string;
  kind: "trials" | "blocks" | "parts" | "predictions" | "lines" | "percentiles" | "heat" | "intervals";
  title: string;
  /** How to read it, in a sentence. */
  note: string;
  /** Unit of `value`, as the axis shows it. */
  unit: string;
  /** Unit of `at`. */
  atUnit?: string;
  /** A value to draw a line at, and its name. */
  mark?: { value: number; name: string };
  /** The same on the axis of `at`. */
  atMark?: { value: number; name: string };
  /** An interval to draw a band for. */
  band?: { low: number; high: number };
  rows: Row[];
}
