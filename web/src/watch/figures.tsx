// Tables of figures, whose rows lead to what they are about.
import { type Place, wordsOf } from "./place";
import type { Row, Table } from "./seen";

function Name({ row, place }: { row: Row; place: Place }) {
  if (row.opens === null) return <>{row.name}</>;
  const at = "request" in row.opens ? { ...place, ...row.opens } : row.opens;
  return <a href={`#${wordsOf(at)}`}>{row.name}</a>;
}

/** A table, below its title. */
export function Figures({ table, place }: { table: Table; place: Place }) {
  if (table.rows.length === 0) return null;
  return (
    <div class="wide" tabIndex={0} role="group" aria-label={table.title}>
      <table>
        <thead>
          <tr>
            <th scope="col">{table.what}</th>
            {table.titles.map((title) => (
              <th scope="col" key={title}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {table.rows.map((row, at) => (
            <tr key={row.opens === null ? at : JSON.stringify(row.opens)} class={row.unlike ? "unlike" : undefined}>
              <th scope="row">
                {row.unlike ? <abbr title="unlike its siblings">!</abbr> : null}
                <Name row={row} place={place} />
              </th>
              {row.cells.map((cell, column) => (
                <td key={column}>{cell}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {table.further > 0 ? <p class="about">and {table.further} more with less request time</p> : null}
    </div>
  );
}
