// What powerband watch has seen, as /seen.json has it. The crate `watch` writes it (crates/watch/src/picture.rs); the words and cells
// in it are final.

/** Milliseconds a request. */
export interface Time {
  name: string;
  ms: number;
}

/** What was done in some seconds, so many seconds ago. */
export interface Step {
  from_s: number;
  to_s: number;
  per_s: number;
  failed_per_s: number;
  parts: Time[];
  inside: Time[];
  busy: number;
  cores: number | null;
  rss_bytes: number | null;
  pss_bytes: number | null;
}

export interface Row {
  name: string;
  unlike: boolean;
  cells: string[];
  opens: { process: string } | { endpoint: string } | { request: string } | null;
}

export interface Table {
  title: string;
  /** The title of the names. */
  what: string;
  titles: string[];
  rows: Row[];
  /** Rows that are left out. */
  further: number;
}

/** One request. */
export interface Course {
  title: string;
  facts: string;
  parts: Time[];
  /** In the order in which it happened. */
  steps: Time[];
  no_order: string | null;
  table: Table;
}

/** Everything, or one process or endpoint. */
export interface Picture {
  title: string;
  totals: string;
  sentence: string;
  unlike: string[];
  parts: Time[];
  inside: Time[];
  threads: number | null;
  /** The oldest first. */
  steps: Step[];
  tables: Table[];
  course: Course | null;
}

export interface Seen {
  version: string;
  source: string;
  interval_ms: number;
  reading: number;
  problem: string | null;
  picture: Picture | null;
}
