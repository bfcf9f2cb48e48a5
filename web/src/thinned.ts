// Rows of a chart of lines, as many as a screen can show.
import { bisector, group } from "d3-array";
import type { Row } from "./chart";
import type { Span } from "./zoom";

/** Points of a line. */
const MOST_POINTS = 600;

const byPosition = bisector((row: Row) => row.at ?? 0);

/**
 * Gives the rows within a span, and the next one of each series on either side; of neighbours that would share a pixel the largest.
 * Rows of a series are in the order of their positions.
 */
export function thinner(rows: Row[]): (span: Span) => Row[] {
  const lines = [...group(rows, (row) => row.series).values()];
  return ([from, to]) =>
    lines.flatMap((line) => {
      const shown = line.slice(Math.max(0, byPosition.left(line, from) - 1), byPosition.right(line, to) + 1);
      const joined = Math.ceil(shown.length / MOST_POINTS);
      if (joined <= 1) return shown;
      return Array.from({ length: Math.ceil(shown.length / joined) }, (_, nth) => largest(shown.slice(nth * joined, (nth + 1) * joined)));
    });
}

const largest = (rows: Row[]): Row => rows.reduce((most, row) => (row.value > most.value ? row : most));
