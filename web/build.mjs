// Bundles the page's script and style into one template, dist/page.html, which the Rust crate `report` embeds. The result depends on
// the sources and package-lock.json alone, so it is committed and `cargo build` needs no Node.
import { createHash } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { build } from "esbuild";

const bundled = await build({
  entryPoints: ["src/page.ts"],
  bundle: true,
  minify: true,
  format: "iife",
  target: "es2022",
  legalComments: "none",
  write: false,
});
// The text of a script element ends at the first "</script".
const script = bundled.outputFiles[0].text.trim().replaceAll("</script", "<\\/script");
const digest = createHash("sha256").update(script).digest("base64");
const [template, style] = await Promise.all(["src/page.html", "src/page.css"].map((file) => readFile(file, "utf8")));
const page = template
  .replace("/*style*/", () => style.trim())
  .replace("/*script*/", () => script)
  .replace("script-digest", () => digest);
await mkdir("dist", { recursive: true });
await writeFile("dist/page.html", page);
console.log(`dist/page.html: ${(page.length / 1024).toFixed(0)} KiB`);
