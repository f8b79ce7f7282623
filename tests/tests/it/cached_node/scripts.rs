//! The environment that a file sees, and its output.

use super::*;

const INPUT: &str = r#"{"invocations": [{"final_response": "häuser"}, {"final_response": ""}]}"#;

/// Runs a file without the cache and three times with it: by then the cache is complete.
async fn same(name: &str, source: &str) {
    same_in(name, source, &[]).await;
}

async fn same_in(name: &str, source: &str, others: &[(&str, &str)]) {
    for node in nodes() {
        let directory = directory();
        for (name, content) in others {
            directory.file(name, content);
        }
        let file = directory.file(name, source);
        let (command, cached) = match commands(&node, &file) {
            Ok(both) => both,
            Err(reason) => {
                println!("skipped: {}: {reason}", node.display());
                continue;
            }
        };
        let limits = Limits::with_timeout(BOUNDED);
        let elsewhere = |command: &CommandSpec| {
            let cwd = Some(directory.path().join("node_modules"));
            CommandSpec { cwd, ..command.clone() }.args(["--flag", "ü x"])
        };
        let plain = seen(&started(&elsewhere(&command), INPUT.as_bytes(), &limits).await);
        assert!(plain.1 && plain.3, "{plain:?}");
        for time in 1..=3 {
            let cached = elsewhere(&cached.command);
            let cached = seen(&started(&cached, INPUT.as_bytes(), &limits).await);
            assert!(
                cached == plain,
                "{name} in {}, time {time}: {source}\n{}",
                node.display(),
                difference(&plain, &cached)
            );
        }
    }
}

/// The lines in which two outcomes differ.
fn difference(plain: &impl std::fmt::Debug, cached: &impl std::fmt::Debug) -> String {
    let [plain, cached] = [format!("{plain:?}"), format!("{cached:?}")];
    let [plain, cached]: [Vec<&str>; 2] = [&plain, &cached].map(|it| it.split("\\n").collect());
    let only = |these: &[&str], those: &[&str], sign: &str| {
        let lines = these.iter().filter(|line| !those.contains(line));
        lines.map(|line| format!("{sign} {line}\n")).collect::<String>()
    };
    only(&plain, &cached, "-") + &only(&cached, &plain, "+")
}

/// All of it that has a name in CommonJS.
const ALL: &str = r"
const Module = require('module');
const describe = (value) => typeof value === 'function' ? String(value).length : typeof value;
const own = (object) => Object.getOwnPropertyNames(object).map((name) => [name, describe(Object.getOwnPropertyDescriptor(object, name).value)]);
require('mean');
const fs = require('fs');
const descriptors = () => fs.readdirSync('/dev/fd').flatMap((it) => {
  try { return fs.readlinkSync('/dev/fd/' + it).replace(/\d+/g, ''); } catch { return []; }
}).sort();
const { AsyncResource } = require('async_hooks');
console.log(JSON.stringify({
  argv: process.argv, argv0: process.argv0, execArgv: process.execArgv, execPath: process.execPath, title: process.title,
  cwd: process.cwd(), env: process.env, filename: __filename, dirname: __dirname, id: module.id, paths: module.paths,
  main: require.main === module, parent: module.parent, children: module.children.map((it) => it.id),
  cache: Object.keys(require.cache), found: Object.entries(Module._pathCache || {}), preloaded: process._preload_modules,
  builtins: process.moduleLoadList, process: own(process), global: own(globalThis), module: Object.keys(Module),
  listeners: process.eventNames(), limit: Error.stackTraceLimit, stack: new Error('here').stack,
  async: new AsyncResource('X').asyncId(), active: process.getActiveResourcesInfo(),
  descriptors: descriptors(),
  text: String(require('mean').mean),
}, null, 1));
";

#[tokio::test]
async fn nothing_of_it_can_be_seen() {
    same("check.js", ALL).await;
    same("check.cjs", ALL).await;
    same_in("check.js", ALL, &[("package.json", r#"{"type": "commonjs"}"#)]).await;
}

const MODULE: &str = r"
import { mean } from 'mean';
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
const require = createRequire(import.meta.url);
const document = JSON.parse(readFileSync(0, 'utf8'));
const other = await import('./other.mjs');
console.log(JSON.stringify({ ...import.meta, resolved: import.meta.resolve('mean'), keys: Object.keys(import.meta),
  argv: process.argv, execArgv: process.execArgv, env: process.env, cache: Object.keys(require.cache), main: typeof require.main,
  // Those that it loads itself may be there a little earlier.
  loaded: process.moduleLoadList.sort(), other: other.default, score: mean(document.invocations.map((it) => it.final_response.length)),
  stack: new Error('here').stack }, null, 1));
";

#[tokio::test]
async fn modules_are_modules() {
    let other = ("other.mjs", "export default import.meta.url;\n");
    same_in("check.mjs", MODULE, &[other]).await;
    same_in("check.js", MODULE, &[other, ("package.json", r#"{"type": "module"}"#)]).await;
    // Found out by the syntax.
    same_in("check.js", MODULE, &[other]).await;
    same("check.mjs", "await new Promise(() => {});\n").await;
    same("check.mjs", "import { gone } from 'mean/gone.js';\n").await;
    same("check.mjs", "import { gone } from 'mean';\n").await;
    same("check.mjs", "const x = ;\n").await;
}

#[tokio::test]
async fn types_are_stripped() {
    let typed = r"
import { readFileSync } from 'node:fs';
interface Turn { final_response: string }
const document: { invocations: Turn[] } = JSON.parse(readFileSync(0, 'utf8'));
const scores: number[] = document.invocations.map((it: Turn): number => it.final_response ? 1 : 0);
console.log(JSON.stringify({ scores, url: import.meta.url, execArgv: process.execArgv }));
if (scores.length === 2) throw new RangeError(`line and column of ${scores}`);
";
    same("check.mts", typed).await;
    same_in("check.ts", typed, &[("package.json", r#"{"type": "module"}"#)]).await;
    same(
        "check.cts",
        "const fs: any = require('fs');\nconsole.log(fs.readFileSync(0, 'utf8') as string);\n",
    )
    .await;
    same("check.mts", "enum Way { One }\nconsole.log(Way.One);\n").await;
    same("check.mts", "const x: = 1;\n").await;
}

#[tokio::test]
async fn it_reads_and_writes_as_ever() {
    for source in [
        "console.log(JSON.parse(require('fs').readFileSync(0, 'utf8')))",
        "console.log(require('fs').readFileSync('/dev/stdin', 'utf8').length)",
        "let text = ''; process.stdin.setEncoding('utf8'); process.stdin.on('data', (it) => text += it)\
         .on('end', () => process.stdout.write(JSON.stringify(JSON.parse(text))))",
        "process.stdin.on('readable', () => { let it; while ((it = process.stdin.read(7)) !== null) console.log(String(it)); })",
        "require('readline').createInterface({ input: process.stdin }).on('line', (it) => console.log(it)).on('close', () => console.error('end'))",
        "(async () => { for await (const it of process.stdin) process.stdout.write(it); })()",
        "console.log(process.stdin.isTTY, process.stdout.isTTY, require('fs').fstatSync(0).isFIFO(), require('fs').fstatSync(1).isFIFO())",
        "console.log('no read')",
        "console.error('one'); console.log('two'); console.warn('three')",
        "require('fs').writeSync(1, 'x'.repeat(100000))",
        "process.stdout.write('x'.repeat(1000000), () => process.exit(3))",
        "require('fs').closeSync(1); console.log('nowhere')",
    ] {
        same("check.js", source).await;
    }
}

#[tokio::test]
async fn it_ends_as_ever() {
    for source in [
        "process.exit(3)",
        "process.exitCode = 4",
        "process.exit()",
        "process.reallyExit(5)",
        "process.abort()",
        "process.kill(process.pid, 'SIGKILL')",
        "process.kill(process.pid, 'SIGTERM'); setTimeout(() => {}, 60000)",
        "process.kill(process.pid, 'SIGSEGV'); setTimeout(() => {}, 60000)",
        "throw new Error('uncaught')",
        "throw 'text'",
        "throw null",
        "throw Object.assign(new Error('with'), { code: 'E', cause: new TypeError('cause') })",
        "function inner() { null.x }\nfunction outer() { inner() }\nouter()",
        "require('mean').fail()",
        "require('./gone')",
        "require('gone')",
        "const x = ;",
        "return 1",
        "await 1; require('fs')",
        "Promise.reject(new Error('unhandled'))",
        "Promise.reject('text')",
        "(async () => { await null; throw new Error('later') })()",
        "setTimeout(() => { throw new Error('in a timer') }, 1)",
        "process.nextTick(() => { throw new Error('in a tick') })",
        "process.on('uncaughtException', (it) => { console.error(it.stack); process.exit(7) }); throw new Error('x')",
        "process.on('exit', (code) => console.log('exit', code)); process.on('beforeExit', () => console.log('before'))",
        "process.emitWarning('careful'); new Buffer(1)",
        "require('assert').strictEqual(1, 2)",
        "function deep() { return 1 + deep() }\ntry { deep() } catch (it) { console.log(it.message) }",
        "console.trace('here')",
        "'use strict'; undeclared = 1",
        "JSON.parse('{\\\"a\\\": ')",
        "",
        "#!/usr/bin/env node\nconsole.log(__filename)",
        "\u{feff}console.log('a mark of byte order')",
    ] {
        same("check.js", source).await;
    }
}

#[tokio::test]
async fn what_it_starts_is_as_ever() {
    for source in [
        "const { spawnSync } = require('child_process'); console.log(String(spawnSync('env').stdout))",
        "const { execFileSync } = require('child_process'); console.log(String(execFileSync(process.execPath, \
         ['-p', 'JSON.stringify([process.execArgv, require(\"module\").getCompileCacheDir?.()])'])))",
        "const { fork } = require('child_process'); if (process.send) { process.send([process.execArgv, process.argv, process.env]); process.disconnect() } \
         else fork(__filename, ['x']).on('message', (it) => console.log(JSON.stringify(it)))",
        "const { Worker, isMainThread, parentPort } = require('worker_threads'); \
         if (isMainThread) new Worker(__filename).on('message', (it) => console.log(JSON.stringify(it))).on('exit', (code) => console.log(code)); \
         else parentPort.postMessage([process.execArgv, process.argv, process.env, Object.keys(require.cache), process._preload_modules, require.main === module])",
        "const { Worker } = require('worker_threads'); new Worker('throw new Error(`in a thread`)', { eval: true })",
        "const { Worker } = require('worker_threads'); new Worker('console.log(process.execArgv)', { eval: true, execArgv: ['--no-warnings'] })",
        "const vm = require('vm'); console.log(vm.runInNewContext('1 + 1'), new vm.Script('2').runInThisContext())",
        "import('node:fs').then((it) => console.log(Object.keys(it).length))",
        "require('module').wrap; const M = require('module'); const was = M.prototype._compile; \
         M.prototype._compile = function (...all) { console.log(all[1]); return was.apply(this, all) }; require('mean')",
    ] {
        same("check.js", source).await;
    }
}
