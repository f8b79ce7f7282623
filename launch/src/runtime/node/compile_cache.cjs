'use strict';
// Loaded by Node.js before the file it was told to run, from a folder of its own, in which it has Node.js keep what it
// compiles, so that the next process need not compile it again. Then it takes itself out of all that a program can
// see. It must never fail, nor print: what it does is not the evaluator's doing.
try {
  const Module = require('node:module');
  for (const list of [process.execArgv, process._preload_modules]) {
    const at = Array.isArray(list) ? list.indexOf(__filename) : -1;
    if (at >= 0) {
      const option = at > 0 && list[at - 1] === '--require' ? 1 : 0;
      list.splice(at - option, 1 + option);
    }
  }
  delete require.cache[__filename];
  for (const request of Object.keys(Module._pathCache || {})) {
    if (Module._pathCache[request] === __filename) delete Module._pathCache[request];
  }
  // Threads have what the process has.
  if (Module.getCompileCacheDir() === undefined) Module.enableCompileCache(__dirname + '/kept');
} catch {}
