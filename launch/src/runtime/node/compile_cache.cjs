'use strict';
// Node.js loads this module before the evaluator, from a private directory, and then keeps its compiled code in that
// directory, so that the next process does not compile it again. The module removes itself from everything that a
// program can see. It must never fail or print: its effects would be attributed to the evaluator.
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
