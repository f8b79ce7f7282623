//! Scripts that print the state of an interpreter, and all ways to exit.

use std::fs;

use tokio::task::JoinSet;

use super::*;

/// Scripts that run at the same time.
const AT_A_TIME: usize = 4;

/// Name and script. The output must not depend on process ids, time or chance.
const SCRIPTS: &[(&str, &str)] = &[
    ("answers", "import json, sys\nprint(json.dumps({'score': len(sys.stdin.read())}))"),
    (
        "names",
        "print(__name__, __package__, __spec__, __doc__, __cached__ if '__cached__' in globals() else 0)",
    ),
    (
        "file",
        "import sys\nprint(__file__, sys.argv, sys.path, sys.orig_argv if hasattr(sys, 'orig_argv') else 0)",
    ),
    ("globals", "print(list(globals()), __loader__.__class__, __loader__.path, __builtins__)"),
    (
        "main module",
        "import sys\nm = sys.modules['__main__']\nx = 1\nprint(m.x, m.__dict__ is globals(), sorted(vars(m)))",
    ),
    (
        "flags",
        "import sys\nprint(sys.flags, sys.warnoptions, sys._xoptions, sys.flags.utf8_mode, sys.dont_write_bytecode)",
    ),
    ("prefixes", "import sys\nprint(sys.executable, sys.prefix, sys.base_prefix, sys.exec_prefix)"),
    (
        "streams",
        "import sys\nfor s in (sys.stdin, sys.stdout, sys.stderr):\n    print(s, s.encoding, s.errors, s.line_buffering, s.isatty(), s.fileno(), s is getattr(sys, '__' + s.name[1:-1] + '__'))",
    ),
    ("environment", "import os\nprint(sorted(os.environ.items()))\nos.system('env | sort')"),
    (
        "directory",
        "import os\nprint(os.getcwd(), os.listdir('/proc/self/fd') if os.path.exists('/proc/self/fd') else 0)",
    ),
    (
        "signals",
        "import signal\nfor n in range(1, 32):\n    try:\n        print(n, signal.getsignal(n))\n    except ValueError as e:\n        print(e)\nprint(signal.pthread_sigmask(signal.SIG_BLOCK, []), signal.set_wakeup_fd(-1))",
    ),
    (
        "group",
        "import os\nprint(os.getpgid(0) == os.getpid(), os.getsid(0) == os.getpid(), os.umask(0), os.nice(0))",
    ),
    (
        "resources",
        "import resource\nfor name in sorted(dir(resource)):\n    if name.startswith('RLIMIT_'):\n        print(name, resource.getrlimit(getattr(resource, name)))",
    ),
    (
        "threads",
        "import threading\nprint(threading.active_count(), threading.main_thread().name, threading.current_thread() is threading.main_thread())",
    ),
    (
        "stack",
        "import inspect, sys, traceback\nprint(len(inspect.stack()), sys._getframe().f_back)\ntraceback.print_stack()\ndef f():\n    print([x.function for x in inspect.stack()])\nf()",
    ),
    (
        "hooks",
        "import sys\nprint([str(x).split(' at ')[0] for x in sys.meta_path + sys.path_hooks], sys.excepthook, sys.displayhook, sys.gettrace(), sys.getprofile(), len(sys.path_importer_cache) > 0)",
    ),
    (
        "no module of ours",
        "import sys\nprint('sitecustomize' in sys.modules, [n for n in sys.modules if 'fork' in n])\nimport sitecustomize",
    ),
    ("recursion", "def f(n):\n    return f(n + 1)\nf(0)"),
    (
        "recursion depth",
        "import sys\nn = 0\ndef f():\n    global n\n    n += 1\n    f()\ntry:\n    f()\nexcept RecursionError:\n    print(n, sys.getrecursionlimit())",
    ),
    ("uncaught", "def f():\n    raise ValueError('no \u{e4}\u{1f600}')\nprint('before')\nf()"),
    (
        "uncaught chain",
        "try:\n    {}['a']\nexcept KeyError as e:\n    raise RuntimeError('while') from e",
    ),
    ("uncaught context", "try:\n    {}['a']\nfinally:\n    1 / 0"),
    ("uncaught in import", "import json\njson.loads('{')"),
    ("uncaught without source", "exec(compile('1/0', 'nowhere.py', 'exec'))"),
    ("exit nothing", "import sys\nprint('x')\nsys.exit()"),
    ("exit none", "import sys\nsys.exit(None)"),
    ("exit 0", "import sys\nprint('x', flush=True)\nsys.exit(0)"),
    ("exit 3", "import sys\nprint('{\"score\": 1}')\nsys.exit(3)"),
    ("exit 256", "raise SystemExit(256)"),
    ("exit -1", "raise SystemExit(-1)"),
    ("exit big", "raise SystemExit(1 << 70)"),
    ("exit text", "import sys\nsys.exit('text \u{e4}')"),
    ("exit tuple", "raise SystemExit((1, 2))"),
    ("exit true", "raise SystemExit(True)"),
    ("exit subclass", "class E(SystemExit):\n    code = 7\nraise E(1)"),
    ("exit of site", "exit(4)"),
    ("exit without names", "del __file__\nglobals().pop('__cached__', None)\nraise SystemExit(3)"),
    ("exit without globals", "globals().clear()\nraise SystemExit(3)"),
    (
        "exit without cached",
        "import sys\nfor n in ('__file__', '__' + 'cached__'):\n    globals().pop(n, None)\nprint('ok')",
    ),
    (
        "exit in thread",
        "import threading, sys\nt = threading.Thread(target=lambda: sys.exit(3))\nt.start()\nt.join()\nprint('end')",
    ),
    (
        "excepthook",
        "import sys\nsys.excepthook = lambda *a: print('hook', a[0], a[1])\nraise ValueError(3)",
    ),
    (
        "excepthook that forgets",
        "import sys\ndef hook(*a):\n    for n in ('last_type', 'last_value', 'last_traceback', 'last_exc'):\n        if hasattr(sys, n): delattr(sys, n)\nsys.excepthook = hook\nraise ValueError(3)",
    ),
    (
        "excepthook that fails",
        "import sys\ndef hook(*a): raise KeyError('in hook')\nsys.excepthook = hook\nraise ValueError(3)",
    ),
    ("os exit", "import os\nprint('lost')\nos._exit(9)"),
    ("abort", "import os\nprint('lost')\nos.abort()"),
    (
        "killed",
        "import os, signal\nprint('said', flush=True)\nos.kill(os.getpid(), signal.SIGKILL)",
    ),
    ("terminated", "import os, signal\nos.kill(os.getpid(), signal.SIGTERM)\nsignal.pause()"),
    (
        "interrupted",
        // As Python sets it, unless the parent of these tests ignored it.
        "import os, signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\nprint('x')\n\
         os.kill(os.getpid(), signal.SIGINT)\nsignal.pause()",
    ),
    ("keyboard interrupt", "print('x')\nraise KeyboardInterrupt('why')"),
    ("segfault", "import ctypes\nctypes.string_at(1)"),
    (
        "segfault with handler",
        "import faulthandler, ctypes\nfaulthandler.enable(all_threads=False)\ndef f(): ctypes.string_at(1)\nf()",
    ),
    (
        "atexit",
        "import atexit\natexit.register(print, 'first')\natexit.register(print, 'second')\nprint('main', atexit._ncallbacks() > 0)",
    ),
    (
        "atexit file",
        "import atexit\n@atexit.register\ndef f():\n    print(globals().get('__file__'), globals().get('__cached__', 0), __name__)",
    ),
    (
        "atexit fails",
        "import atexit\nclass F:\n    def __repr__(self): return 'F'\n    def __call__(self): raise ValueError('at exit')\natexit.register(F())",
    ),
    ("atexit exits", "import atexit, os\natexit.register(lambda: os._exit(5))\nprint('kept')"),
    (
        "atexit by hand",
        "import atexit\natexit.register(print, 'bye')\natexit._run_exitfuncs()\nimport json\nprint(json.dumps(1))",
    ),
    ("atexit cleared", "import atexit\natexit._clear()\nprint('x')"),
    (
        "del at exit",
        "class D:\n    def __del__(self): print('deleted', self.__class__.__name__)\nd = D()\nc = D()\nc.me = c",
    ),
    (
        "del fails at exit",
        "class F:\n    def __repr__(self): return 'F'\n    def __call__(self, *a): raise ValueError('del')\nclass D:\n    __del__ = F()\nd = D()",
    ),
    (
        "del imports at exit",
        "class D:\n    def __del__(self):\n        try:\n            import decimal\n            print(decimal.Decimal(1))\n        except ImportError as e:\n            print(e)\nd = D()",
    ),
    (
        "del uses modules",
        "import json\nclass D:\n    def __del__(self): print(json.dumps({'a': [1]}))\nd = D()",
    ),
    (
        "weakref finalize",
        "import weakref\nclass A: pass\na = A()\nweakref.finalize(a, print, 'finalized')",
    ),
    (
        "tempfile at exit",
        "import tempfile, os, atexit\nt = tempfile.TemporaryDirectory()\natexit.register(lambda: print(os.path.isdir(t.name)))",
    ),
    (
        "thread joined",
        "import threading, time\ndef f():\n    time.sleep(0.2)\n    print('from thread')\nthreading.Thread(target=f).start()\nprint('main')",
    ),
    (
        "daemon thread",
        "import threading, time\nthreading.Thread(target=time.sleep, args=(30,), daemon=True).start()\nprint('main')",
    ),
    (
        "thread fails",
        "import threading\ndef f(): raise ValueError('in thread')\nt = threading.Thread(target=f, name='T')\nt.start()\nt.join()",
    ),
    (
        "pool",
        "from concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor(4) as p:\n    print(list(p.map(abs, range(-4, 0))))",
    ),
    (
        "asyncio",
        "import asyncio\nasync def main():\n    await asyncio.sleep(0.01)\n    p = await asyncio.create_subprocess_exec('echo', 'hi', stdout=-1)\n    print(await p.communicate())\nasyncio.run(main())",
    ),
    (
        "fork",
        "import os\nprint('before', flush=True)\npid = os.fork()\nif pid == 0:\n    print('child')\nelse:\n    print(os.waitpid(pid, 0)[1])",
    ),
    (
        "fork that fails",
        "import os, sys\npid = os.fork()\nif pid == 0:\n    sys.exit(6)\nprint(os.waitpid(pid, 0)[1])",
    ),
    (
        "multiprocessing fork",
        "import multiprocessing as m\ndef f(q): q.put(m.current_process().name)\nif __name__ == '__main__':\n    c = m.get_context('fork')\n    q = c.Queue()\n    p = c.Process(target=f, args=(q,))\n    p.start()\n    print(q.get(), p.join(), p.exitcode)",
    ),
    (
        "multiprocessing spawn",
        "import multiprocessing as m\ndef f(x): return x * x\nif __name__ == '__main__':\n    with m.get_context('spawn').Pool(1) as p:\n        print(p.map(f, [1, 2]))",
    ),
    (
        "subprocess",
        "import subprocess, sys\nprint(subprocess.run([sys.executable, '-c', 'import sys; print(sys.argv, 1/0)'], capture_output=True))",
    ),
    (
        "exec",
        "import os, sys\nprint('gone')\nsys.stdout.flush()\nos.execv(sys.executable, [sys.executable, '-c', 'import sys; print(sys.stdin.read()); sys.exit(8)'])",
    ),
    (
        "bytes",
        "import sys\nsys.stdout.buffer.write(bytes(range(256)))\nsys.stderr.buffer.write(b'\\xff\\n')",
    ),
    ("unicode stderr", "import sys\nprint('\u{4e2d}\u{6587} \\ud800', file=sys.stderr)"),
    ("unencodable", "print('\\ud800')"),
    ("reads a line", "print(repr(input()))"),
    ("reads a byte", "import os\nprint(os.read(0, 1))"),
    ("reads nothing", "print('x' * 100000)"),
    ("closes stdin", "import sys, os\nsys.stdin.close()\nprint('ok')"),
    ("closes stdout", "import sys\nprint('x')\nsys.stdout.close()"),
    ("closes stdout's descriptor", "import os\nprint('x')\nos.close(1)"),
    ("closes all descriptors", "import os\nprint('x')\nos.closerange(0, 20)"),
    ("no stdout", "import sys\nsys.stdout = None\nprint('x')"),
    (
        "own stdout",
        "import sys\nclass W:\n    def write(self, s): sys.__stdout__.write(s.upper())\n    def flush(self): pass\nsys.stdout = W()\nprint('x')",
    ),
    (
        "writes late",
        "import sys\nclass D:\n    def __del__(self): sys.__stdout__.write('late')\nsys.keep = D()",
    ),
    (
        "writes much",
        "import sys\nfor _ in range(200):\n    sys.stdout.write('0123456789' * 10000)\n    sys.stderr.write('e')",
    ),
    (
        "warnings",
        "import warnings\nwarnings.warn('careful')\ndef f(): warnings.warn('deep', DeprecationWarning, stacklevel=5)\nf()",
    ),
    ("syntax warning", "print(1 is 1)\nx = '\\d'"),
    ("resource warning", "import warnings\nwarnings.simplefilter('always')\nopen('/dev/null')"),
    ("syntax error", "print('never')\ndef f(:\n    pass"),
    ("indentation error", "if 1:\nprint('never')"),
    (
        "future import",
        "from __future__ import annotations\nimport dataclasses\n@dataclasses.dataclass\nclass A:\n    x: undefined\nprint(A.__annotations__, A(1))",
    ),
    (
        "pickle",
        "import pickle, dataclasses\n@dataclasses.dataclass\nclass A:\n    x: int\nprint(pickle.loads(pickle.dumps(A(1))), pickle.dumps(A)[:40])",
    ),
    (
        "inspect source",
        "import inspect\ndef f():\n    return 1\nprint(inspect.getsource(f), inspect.getfile(f), inspect.getmodule(f))",
    ),
    (
        "typing hints",
        "import typing, sys\nclass A:\n    x: 'int'\nprint(typing.get_type_hints(A), A.__module__)",
    ),
    ("relative import", "from . import x"),
    ("missing module", "import not_there"),
    ("missing sdk part", "from agentevals_evaluator_sdk import not_there"),
    ("random", "import random\nrandom.seed(1)\nprint(random.random())"),
    (
        "logging",
        "import logging\nlogging.warning('w')\nlogging.getLogger('x').error('e', stack_info=True)",
    ),
    ("argparse", "import argparse\nargparse.ArgumentParser().parse_args(['-x'])"),
    (
        "unittest",
        "import unittest\nclass T(unittest.TestCase):\n    def test(self): self.fail('no')\nunittest.main(argv=['x'], testRunner=type('R', (), {'run': lambda s, t: t(unittest.TestResult()) or unittest.TestResult()}))",
    ),
    ("settrace", "import sys\nsys.settrace(lambda *a: None)\nprint('traced')"),
    (
        "print after exit hooks",
        "import sys, threading\nthreading.Timer(0.1, lambda: print('timer')).start()",
    ),
    ("sys exit in finally", "import sys\ntry:\n    1 / 0\nfinally:\n    sys.exit(2)"),
    ("main guard", "def main():\n    print('main')\nif __name__ == '__main__':\n    main()"),
    (
        "handler",
        "import signal, os\nsignal.signal(signal.SIGUSR1, lambda n, f: print('got', n, f.f_code.co_name))\nos.kill(os.getpid(), signal.SIGUSR1)",
    ),
    ("memory error", "x = 'a' * (1 << 62)"),
    (
        "locale",
        "import locale, sys\nprint(locale.setlocale(locale.LC_ALL), sys.getfilesystemencoding(), locale.getpreferredencoding())",
    ),
    ("garbage", "import gc\nprint(gc.isenabled(), gc.get_threshold(), gc.garbage, gc.callbacks)"),
];

/// Sources that are no UTF-8, or no text at all.
const SOURCES: &[(&str, &[u8])] = &[
    ("latin-1", b"# -*- coding: latin-1 -*-\nprint('\xe4', ascii('\xe4'))\n"),
    ("undeclared", b"print('\xe4')\n"),
    ("wrong cookie", b"# coding: no-such-code\nprint(1)\n"),
    ("byte order mark", b"\xef\xbb\xbfprint(ascii('\xc3\xa4'))\n"),
    ("carriage returns", b"print(1)\r\nprint(2)\rprint(3)"),
    ("zero byte", b"print(1)\n\x00\n"),
    ("empty", b""),
];

/// Input of every script.
const INPUT: &[u8] = b"{\"first\": 1}\nsecond line\n";

fn limits() -> Limits {
    Limits { eof_grace: Duration::from_secs(5), ..Limits::with_timeout(BOUNDED) }
}

/// Runs a file in both ways and compares.
async fn compare(what: &str, command: &CommandSpec) -> Option<String> {
    let expected = seen(&started(command, INPUT, &limits()).await);
    let server = match server(command).await {
        Ok(server) => server,
        Err(error) => return Some(format!("{what}: no server: {error}")),
    };
    // The second fork must not find anything of the first.
    for _ in 0..2 {
        let found = seen(&forked(&server, INPUT, &limits()).await);
        if found != expected {
            return Some(format!("{what}:\n  started {expected:?}\n  forked  {found:?}"));
        }
    }
    server.end(BOUNDED).await;
    None
}

#[tokio::test]
async fn scripts_do_the_same_when_they_are_forked() {
    for python in interpreters().await {
        let directory = TestDirectory::new();
        let scripts = SCRIPTS.iter().map(|(name, script)| (*name, script.as_bytes()));
        let mut tasks = JoinSet::new();
        let mut different = Vec::new();
        for (number, (name, source)) in scripts.chain(SOURCES.iter().copied()).enumerate() {
            let file = directory.file(&format!("script{number}.py"), source);
            let mut command = CommandSpec::new(&python)
                .arg(file)
                .args(["--an", "argument"])
                // Sets are not printed in an order of chance.
                .env("PYTHONHASHSEED", "1");
            command.cwd = Some(directory.path().to_owned());
            if tasks.len() == AT_A_TIME {
                different.extend(tasks.join_next().await.unwrap().unwrap());
            }
            tasks.spawn(async move { compare(name, &command).await });
        }
        different.extend(tasks.join_all().await.into_iter().flatten());
        assert!(different.is_empty(), "{}:\n{}", python.display(), different.join("\n"));
    }
}

#[tokio::test]
async fn variables_reach_a_fork_as_they_reach_a_process() {
    for python in interpreters().await {
        let directory = TestDirectory::new();
        directory.file("library/helper.py", "print('helper', __file__)");
        let script = "import os, sys\nprint(os.environ.get('PYTHONPATH'), sys.path, sys.flags)\n\
                      print(sys.stdout.encoding, sys.stdout.line_buffering)\nimport helper\nassert False";
        let file = directory.file("bin/check.py", script);
        let mut different = Vec::new();
        for (name, value) in [
            ("PYTHONPATH", "library"),
            ("PYTHONPATH", ""),
            ("PYTHONPATH", ":library::/nowhere:"),
            ("PYTHONSAFEPATH", "1"),
            ("PYTHONUNBUFFERED", "1"),
            ("PYTHONIOENCODING", "latin-1"),
            ("PYTHONUTF8", "1"),
            ("PYTHONOPTIMIZE", "1"),
            ("PYTHONWARNINGS", "error"),
            ("PYTHONNOUSERSITE", "1"),
            ("PYTHONDONTWRITEBYTECODE", "1"),
            ("PYTHONFAULTHANDLER", "1"),
            ("LC_ALL", "C"),
        ] {
            let mut command = CommandSpec::new(&python).arg(&file).env(name, value);
            command.cwd = Some(directory.path().to_owned());
            different.extend(compare(&format!("{name}={value}"), &command).await);
        }
        let mut bare = CommandSpec::new(&python).arg(&file);
        (bare.clear_env, bare.cwd) = (true, Some(directory.path().to_owned()));
        different.extend(compare("no variables", &bare).await);
        assert!(different.is_empty(), "{}:\n{}", python.display(), different.join("\n"));
    }
}

#[tokio::test]
async fn files_that_are_left_open_are_written_as_ever() {
    for python in interpreters().await {
        for script in [
            "f = open('left', 'w')\nf.write('kept')",
            "class A:\n    f = open('left', 'w')\nA.f.write('kept')",
            "import sys\nsys.stdout = open('left', 'w')\nprint('kept', end='')",
            "import sys\nsys.kept = open('left', 'w')\nsys.kept.write('kept')",
            "import builtins\nbuiltins.kept = open('left', 'w')\nbuiltins.kept.write('kept')",
            "import threading\nthreading.Thread(target=lambda: open('left', 'w').write('kept')).start()",
            "f = open('left', 'w')\nf.write('kept')\nraise SystemExit(0)",
            "f = open('left', 'w')\nf.write('kept')\nf.me = f\n",
            "def f(a): pass\nf.file = open('left', 'w')\nf.me = f\nf.file.write('kept')\ndel f",
        ] {
            let directory = TestDirectory::new();
            let mut command = CommandSpec::new(&python).arg(directory.file("check.py", script));
            command.cwd = Some(directory.path().to_owned());
            // Interpreters lose text of their own in one of these: a fork is to lose no more.
            let left = || fs::read_to_string(directory.path().join("left")).unwrap();
            let expected = (seen(&started(&command, b"", &limits()).await), left());
            fs::remove_file(directory.path().join("left")).unwrap();
            let server = server(&command).await.unwrap();
            let found = (seen(&forked(&server, b"", &limits()).await), left());
            assert_eq!(found, expected, "{script}");
        }
    }
}

#[tokio::test]
async fn a_file_that_is_not_there_is_missed_in_the_same_words() {
    for python in interpreters().await {
        let directory = TestDirectory::new();
        for path in ["gone.py", "gone/too.py"] {
            let command = CommandSpec::new(&python).arg(directory.path().join(path));
            // Its directory may be missing, too: then there is no server.
            let complaint = compare(path, &command).await;
            let complaint = complaint.filter(|text| !text.contains("no server"));
            assert_eq!(complaint, None);
        }
    }
}
