// What is looked at, as the address has it behind `#`: nothing is everything.

/** The names are those of the parameters of /seen.json. */
export interface Place {
  process?: string;
  endpoint?: string;
  /** One of its slowest requests. */
  request?: string;
}

const NAMES = ["process", "endpoint", "request"] as const;

export function placeOf(hash: string): Place {
  const words = new URLSearchParams(hash.replace(/^#/, ""));
  const place: Place = {};
  for (const name of NAMES) {
    const value = words.get(name);
    if (value !== null) place[name] = value;
  }
  return place;
}

export const wordsOf = (place: Place): string => new URLSearchParams(Object.entries(place)).toString();

/** The screen before; `null` on the first one. */
export function back(place: Place): Place | null {
  const { request, ...rest } = place;
  if (request !== undefined) return rest;
  return rest.process === undefined && rest.endpoint === undefined ? null : {};
}
