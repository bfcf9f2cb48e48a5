// Asks for what was seen, once a reading, while somebody looks.
import { useEffect, useState } from "preact/hooks";
import type { Seen } from "./seen";

export interface Polled {
  /** Of the present place. */
  seen: Seen | null;
  /** Why the last question has no answer. */
  failure: string | null;
}

const token = new URLSearchParams(location.search).get("token");
/** Until the first answer says how often there are readings. */
const AT_FIRST_MS = 1000;

async function asked(words: string): Promise<Seen> {
  const all = new URLSearchParams(words);
  if (token !== null) all.set("token", token);
  const answer = await fetch(`seen.json?${all}`, { cache: "no-store" }).catch(() => {
    throw new Error("powerband watch does not answer any more: it has ended, or its address cannot be reached.");
  });
  if (!answer.ok) throw new Error((await answer.text()).trim());
  return answer.json();
}

/** What was seen of the place that these words name. */
export function usePolled(words: string, isPaused: boolean): Polled {
  const [polled, set] = useState<Polled & { words: string }>({ words, seen: null, failure: null });
  useEffect(() => {
    let timer = 0;
    let hasEnded = false;
    let wait = AT_FIRST_MS;
    let questions = 0;
    let answered = 0;
    const next = async (): Promise<void> => {
      clearTimeout(timer);
      if (!document.hidden) {
        const question = ++questions;
        // A later question may be answered first.
        const isNews = (): boolean => !hasEnded && question > answered;
        try {
          const seen = await asked(words);
          wait = seen.interval_ms;
          if (isNews()) set({ words, seen, failure: null });
        } catch (error) {
          const failure = error instanceof Error ? error.message : String(error);
          if (isNews()) set((last) => ({ words, seen: last.words === words ? last.seen : null, failure }));
        }
        answered = Math.max(answered, question);
      }
      clearTimeout(timer);
      if (!hasEnded && !isPaused) timer = window.setTimeout(next, wait);
    };
    const shown = (): void => {
      if (!document.hidden && !isPaused) void next();
    };
    document.addEventListener("visibilitychange", shown);
    void next();
    return () => {
      hasEnded = true;
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", shown);
    };
  }, [words, isPaused]);
  return polled.words === words ? polled : { seen: null, failure: null };
}
