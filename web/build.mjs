// Bundles script and style of each page into one file of dist, which the Rust code embeds. The result depends on the sources and
// package-lock.json alone, so it is committed and `cargo build` needs no Node.
import { createHash } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { build } from "esbuild";

/** What each page has in the slots of src/document.html. */
const PAGES = {
  page: {
    policy: "",
    head: "<title><!--powerband:title--></title>",
    body: `<main>
<!--powerband:body-->
</main>
<script type="application/json" id="charts"><!--powerband:charts--></script>
<script type="application/json" id="document"><!--powerband:document--></script>`,
    styles: ["src/page.css"],
    script: "src/page.ts",
  },
  watch: {
    policy: "connect-src 'self'; img-src data:; ",
    head: `<link rel="icon" href="data:,">
<title>powerband watch</title>`,
    body: "<noscript>The live view needs JavaScript; powerband watch shows the same in a terminal.</noscript>",
    styles: ["src/page.css", "src/watch/watch.css"],
    script: "src/watch/watch.tsx",
  },
};

const read = (file) => readFile(file, "utf8");
await mkdir("dist", { recursive: true });
const template = await read("src/document.html");
for (const [name, made] of Object.entries(PAGES)) {
  const bundled = await build({
    entryPoints: [made.script],
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
  const styles = await Promise.all(made.styles.map(read));
  const page = template
    .replace("/*digest*/", () => digest)
    .replace("/*policy*/", () => made.policy)
    .replace("<!--head-->", () => made.head)
    .replace("<!--body-->", () => made.body)
    .replace("/*style*/", () => styles.map((style) => style.trim()).join("\n"))
    .replace("/*script*/", () => script);
  await writeFile(`dist/${name}.html`, page);
  console.log(`dist/${name}.html: ${(page.length / 1024).toFixed(0)} KiB`);
}
