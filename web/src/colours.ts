// Okabe and Ito's colours, which colour-blind readers tell apart.
export const COLOURS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9", "#8a8a8a", "#b8a800"];
/** Between their two blues, so that it stands out on white and on black. */
export const DOT = "#2f8fd0";
export const OTHER = "#8a8a8a";

/** Parts of a request's time have the same colours on every page; crates/trace/src/picture.rs has them too. */
export const PARTS: Record<string, string | undefined> = {
  queue: COLOURS[0],
  Ruby: COLOURS[2],
  "running Ruby": COLOURS[2],
  "GVL wait": COLOURS[4],
  "waiting to run Ruby (GVL)": COLOURS[4],
  lock: COLOURS[3],
  "waiting for a lock": COLOURS[3],
  "I/O": COLOURS[5],
  "waiting for database or network (I/O)": COLOURS[5],
  "waiting for database, network or a lock": COLOURS[5],
  SQL: COLOURS[0],
  HTTP: COLOURS[1],
  cache: COLOURS[2],
  Redis: COLOURS[4],
  pool: COLOURS[3],
  GC: OTHER,
};
