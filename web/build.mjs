// Bundles script and style of each page into one file of dist, which the Rust code embeds. The result depends on the sources and
// package-lock.json alone, so it is committed and `cargo build` needs no Node.
import { createHash } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { build } from "esbuild";

/** What each page is made of. */
const PAGES = {
  page: { template: "src/page.html", styles: ["src/page.css"], script: "src/page.ts" },
  watch: { template: "src/watch/watch.html", styles: ["src/page.css", "src/watch/watch.css"], script: "src/watch/watch.tsx" },
};

const read = (file) => readFile(file, "utf8");
await mkdir("dist", { recursive: true });
for (const [name, made] of Object.entries(PAGES)) {
  const bundled = await build({
    entryPoints: [made.script],
    bundle: true,
    minify: true,
    format: "iife",
    target: "es2022",
    jsx: "automatic",
    jsxImportSource: "preact",
    legalComments: "none",
    write: false,
  });
  // The text of a script element ends at the first "</script".
  const script = bundled.outputFiles[0].text.trim().replaceAll("</script", "<\\/script");
  const digest = createHash("sha256").update(script).digest("base64");
  const [template, ...styles] = await Promise.all([made.template, ...made.styles].map(read));
  const page = template
    .replace("/*style*/", () => styles.map((style) => style.trim()).join("\n"))
    .replace("/*script*/", () => script)
    .replace("script-digest", () => digest);
  await writeFile(`dist/${name}.html`, page);
  console.log(`dist/${name}.html: ${(page.length / 1024).toFixed(0)} KiB`);
}
