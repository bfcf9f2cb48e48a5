// Parts of a request's time, to scale.
import { OTHER, PARTS } from "../colours";
import type { Time } from "./seen";

/** The colour of a part, the same everywhere. */
export const colourOf = (name: string): string => PARTS[name] ?? OTHER;

/** Less is not worth words or a line, milliseconds. */
export const LITTLE_MS = 0.05;

export const said = ({ name, ms }: Time): string => `${name} ${ms.toFixed(1)} ms`;

/** Names with their colours, and their times where they are known. */
export function Legend({ times }: { times: { name: string; ms?: number }[] }) {
  return (
    <ul class="legend">
      {times.map(({ name, ms }) => (
        <li key={name}>
          <i style={{ background: colourOf(name) }} />
          {name}
          {ms === undefined ? null : <b>{ms.toFixed(1)} ms</b>}
        </li>
      ))}
    </ul>
  );
}

function Strip({ times, label }: { times: Time[]; label: string }) {
  return (
    <div class="strip" role="img" aria-label={label}>
      {times.map((time, at) => (
        <span key={at} style={{ flexGrow: time.ms, background: colourOf(time.name) }} />
      ))}
    </div>
  );
}

/** The mean request, or one. */
export function Bar({ times }: { times: Time[] }) {
  if (times.reduce((sum, { ms }) => sum + ms, 0) <= 0) return null;
  return (
    <>
      <Strip times={times} label={`Parts of a request's time: ${times.map(said).join(", ")}`} />
      <Legend times={times} />
    </>
  );
}

/** One request, in the order in which it happened. */
export const Order = ({ times }: { times: Time[] }) => (
  <Strip times={times} label={`In the order in which it happened, in ${times.length} steps; the table has them, short neighbours in one row`} />
);
