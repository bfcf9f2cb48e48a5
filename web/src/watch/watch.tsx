// The live view in a browser: what powerband watch shows in the terminal, once a reading.
import { render } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Bar, LITTLE_MS, Order, said } from "./bar";
import { Figures } from "./figures";
import { Minutes } from "./minutes";
import { type Place, back, placeOf, wordsOf } from "./place";
import { usePolled } from "./polled";
import type { Course, Picture, Seen } from "./seen";

/** What stands between backquotes is a command. */
const Sentence = ({ text }: { text: string }) => <>{text.split("`").map((words, at) => (at % 2 === 1 ? <code key={at}>{words}</code> : words))}</>;

function usePlace(): Place {
  const [place, set] = useState(placeOf(location.hash));
  useEffect(() => {
    const moved = (): void => set(placeOf(location.hash));
    const pressed = (event: KeyboardEvent): void => {
      const before = back(placeOf(location.hash));
      if (event.key === "Escape" && before) location.hash = wordsOf(before);
    };
    addEventListener("hashchange", moved);
    addEventListener("keydown", pressed);
    return () => {
      removeEventListener("hashchange", moved);
      removeEventListener("keydown", pressed);
    };
  }, []);
  return place;
}

function Path({ place }: { place: Place }) {
  const before = back(place);
  if (!before) return null;
  const words = place.request === undefined ? "All processes" : "All its requests";
  return (
    <nav aria-label="Back">
      <a href={`#${wordsOf(before)}`}>← {words}</a>
    </nav>
  );
}

function OneRequest({ course, place }: { course: Course; place: Place }) {
  return (
    <section aria-label="One request">
      <Bar times={course.parts} />
      {course.steps.length > 0 ? (
        <>
          <p class="about">In the order in which it happened:</p>
          <Order times={course.steps} />
        </>
      ) : null}
      <p>{course.facts}</p>
      {course.no_order === null ? null : (
        <p class="about">
          <Sentence text={course.no_order} />
        </p>
      )}
      <Figures table={course.table} place={place} />
    </section>
  );
}

function Shown({ picture, place }: { picture: Picture; place: Place }) {
  const inside = picture.inside.filter(({ ms }) => ms >= LITTLE_MS).map(said);
  return (
    <>
      <p class="about">
        {picture.title}
        <br />
        {picture.totals}
      </p>
      {picture.unlike.length > 0 ? (
        <ul class="unlike">
          {picture.unlike.map((why) => (
            <li key={why}>! {why}</li>
          ))}
        </ul>
      ) : null}
      <Bar times={picture.parts} />
      {inside.length > 0 ? <p class="about">Inside these: {inside.join(", ")}</p> : null}
      <Minutes picture={picture} />
      {picture.tables.map((table) =>
        table.rows.length > 0 ? (
          <section key={table.title} aria-label={table.title}>
            <h2>{table.title}</h2>
            <Figures table={table} place={place} />
          </section>
        ) : null,
      )}
      <footer>Times are milliseconds a request, means over the window; CPU is in per cent of a core, RSS in MiB. – is not measured.</footer>
    </>
  );
}

function Body({ picture, place }: { picture: Picture | null; place: Place }) {
  if (!picture) return null;
  if (place.request === undefined) return <Shown picture={picture} place={place} />;
  return picture.course ? <OneRequest course={picture.course} place={place} /> : null;
}

/** What stands above all. */
function headline(seen: Seen | null, place: Place): string {
  if (seen?.picture && place.request !== undefined) {
    return seen.picture.course?.title ?? "This request is no longer among the slowest of the last minutes.";
  }
  if (seen?.picture) return seen.picture.sentence;
  if (seen?.problem) return "No server is running.";
  if (seen && seen.reading > 1 && back(place)) return "This process has ended, or has not finished a request yet.";
  return "Reading …";
}

function App() {
  const place = usePlace();
  const [isPaused, pause] = useState(false);
  const words = wordsOf(place);
  const { seen, failure } = usePolled(words, isPaused);
  const heading = useRef<HTMLHeadingElement>(null);
  const first = useRef(true);
  // The link that was followed is gone: who uses the keyboard goes on from the top.
  useEffect(() => {
    if (!first.current) {
      heading.current?.focus();
      scrollTo(0, 0);
    }
    first.current = false;
  }, [words]);
  const sentence = headline(seen, place);
  useEffect(() => {
    document.title = `${(place.request === undefined && seen?.picture?.title) || sentence} – powerband watch`;
  }, [sentence, seen, place]);
  const status = failure ?? seen?.problem ?? null;
  return (
    <>
      <header>
        <strong>powerband watch</strong>
        <span>{seen?.source}</span>
        <button type="button" aria-pressed={isPaused} onClick={() => pause(!isPaused)}>
          {isPaused ? "Resume" : "Pause"}
        </button>
      </header>
      <main>
        <p role="status" class={status === null ? "status" : "status problem"}>
          {status}
        </p>
        <Path place={place} />
        <h1 ref={heading} tabIndex={-1}>
          <Sentence text={sentence} />
        </h1>
        <Body picture={seen?.picture ?? null} place={place} />
      </main>
    </>
  );
}

render(<App />, document.body);
