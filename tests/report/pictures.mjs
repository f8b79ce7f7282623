// Draws the pictures of the HTML report, docs/picture/report-*.png: `node pictures.mjs EVALUATOR`. Needs what drive.mjs needs, and pngquant.

import { execFileSync } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

import { evalSet, bookings, run, traces } from "./reports.mjs";

const require = createRequire(join(process.env.NODE_PACKAGES ?? import.meta.dirname, "package.json"));
const { default: puppeteer } = await import(pathToFileURL(require.resolve("puppeteer-core")));
const program = resolve(process.argv[2]), directory = mkdtempSync(join(tmpdir(), "report-pictures-"));
const config = `group_by: conversation
evaluators:
  - {name: tool_trajectory_avg_score, type: builtin, threshold: 1, gate: {pass_rate: 0.9}}
  - {name: response_match_score, type: builtin, threshold: 0.8, gate: {mean: 0.96}}
  - {name: tool_call_count_v1, type: builtin, max: 3, gate: {mean: 0.9}}
`;
for (const [name, bad] of [["base", 0.04], ["new", 0.08]]) {
  const all = bookings(240, bad), files = { "traces.jsonl": traces(all), "golden.json": evalSet(all.map((it) => it.golden)), "eval_config.yaml": config };
  run(program, directory, files, ["run", "traces.jsonl", "-e", "golden.json", "--transcripts", "all", "--save-run", `${name}.evalrun`, "-o", `summary=${name}.txt`]);
}
run(program, directory, {}, ["compare", "base.evalrun", "new.evalrun", "--no-regressions", "-o", "html=comparison.html"]);
run(program, directory, {}, ["report", "new.evalrun", "-o", "html=run.html"]);

const browser = await puppeteer.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"] });
async function picture(name, file, hash, { width = 1100, height = 680, scheme = "light" } = {}) {
  const page = await browser.newPage();
  await page.setViewport({ width, height });
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
  await page.goto(pathToFileURL(join(directory, file)).href + hash);
  await page.waitForFunction(() => document.documentElement.dataset.ready === "1");
  const path = join(import.meta.dirname, "../../docs/picture", `report-${name}.png`);
  await page.screenshot({ path });
  execFileSync("pngquant", ["--force", "--strip", "--speed", "1", "--ext", ".png", "128", path]);
  await page.close();
}
const page = await browser.newPage();
await page.goto(pathToFileURL(join(directory, "run.html")).href);
await page.waitForSelector("table.list a.case");
const failing = await page.$eval("table.list a.case", (it) => it.hash);
await picture("overview", "run.html", "");
await picture("case", "run.html", failing);
await picture("comparison", "comparison.html", "#/compare", { height: 620 });
await browser.close();
