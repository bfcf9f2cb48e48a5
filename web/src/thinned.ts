// Rows of a chart of lines, as many as a screen can show.
import { group } from "d3-array";
import type { Row } from "./chart";
import type { Span } from "./zoom";

/** Points of a line. */
const MOST_POINTS = 600;

/** The rows within a span, and the next one of each series on either side; of neighbours that would share a pixel the largest. */
export function thinned(rows: Row[], [from, to]: Span): Row[] {
  return [...group(rows, (row) => row.series).values()].flatMap((line) => {
    const first = Math.max(0, line.findIndex((row) => at(row) >= from) - 1);
    const behind = line.findIndex((row) => at(row) > to);
    const shown = line.slice(first, behind < 0 ? undefined : behind + 1);
    const joined = Math.ceil(shown.length / MOST_POINTS);
    if (joined <= 1) return shown;
    return Array.from({ length: Math.ceil(shown.length / joined) }, (_, nth) => {
      const neighbours = shown.slice(nth * joined, (nth + 1) * joined);
      return neighbours.reduce((most, row) => (row.value > most.value ? row : most));
    });
  });
}

const at = (row: Row): number => row.at ?? 0;
