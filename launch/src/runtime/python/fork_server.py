"""Turns a Python interpreter that is about to run a file into a server that forks processes which run that file.

The interpreter finds this file under the name `sitecustomize` and imports it at the end of its own start, before it
opens the file that it is to run. This module does the imports of that file ahead of time and then waits: for each
request it forks, and the fork returns from this module. So the interpreter itself, and not this file, opens and runs the
evaluator, prints its tracebacks, joins its threads and finds its exit code: no frame of this file is below it, and
nothing is imitated.

Standard input is a socket to the host, which started this interpreter:

    host    pythonpath =<hex> | -              the variable as the evaluator is to see it, or that it is not set
    server  ready                              the imports are done; standard output and error are closed
    server  unusual <reason>                   nothing can be forked here; the server exits
    host    f                                  a request, sent with five descriptors: the standard streams, a socket,
                                               and a pipe with variables of the process, NAME=VALUE and a NUL each

On the socket of a request:

    fork    started <pid>                      the process leads a process group, and waits
    host    g                                  the process continues
    server  refused <reason>                   nothing was started
    server  exited <code> | killed <signal>    the process is dead, and not reaped
    host    closes the socket                  the server kills the group and reaps the process

When the host exits, the server kills its forks and exits. Needs CPython 3.8 on a system with `fork` and `waitid`, and
only the standard library.
"""

import os
import sys


def stand_aside():
    """Gives the name of this module back to the module that it shadows, as if this one had never been imported.

    Returns true if such a module exists.
    """
    directory = os.path.dirname(__file__)
    sys.path[:] = [entry for entry in sys.path if entry != directory]
    sys.path_importer_cache.pop(directory, None)
    for path in (__file__, directory):
        try:
            os.unlink(path) if path == __file__ else os.rmdir(path)
        except OSError:
            pass  # The host deletes it later.
    global ME
    # Without this reference, everything in this module would be freed with the name.
    ME = sys.modules.pop("sitecustomize")
    try:
        import sitecustomize  # noqa: F401
    except ImportError as error:
        if error.name != "sitecustomize":
            raise
        # The interpreter expects this very error; it is raised again in each fork.
        return False
    return True


class Unusual(Exception):
    """Reason why evaluators cannot be forked here."""


#: Variables that make an interpreter report on itself, exit in another way, or ask for input.
UNUSUAL_VARIABLES = (
    "PYTHONINSPECT PYTHONSTARTUP PYTHONVERBOSE PYTHONPROFILEIMPORTTIME PYTHONDUMPREFS PYTHONDUMPREFSFILE "
    "PYTHONMALLOCSTATS PYTHONTRACEMALLOC PYTHONDEVMODE PYTHONPERFSUPPORT PYTHON_PERF_JIT_SUPPORT PYTHONTHREADDEBUG "
    "PYTHON_PRESITE PYTHONCASEOK COVERAGE_PROCESS_START COVERAGE_PROCESS_CONFIG COV_CORE_SOURCE"
).split()

#: Modules that are imported ahead of time wherever the evaluator imports them. Installed packages are imported ahead if only
#: other imports precede them: an import may start threads, open files or depend on what the evaluator does before.
KNOWN = frozenset(
    """
    agentevals_evaluator_sdk pydantic pydantic_core annotated_types typing_extensions

    __future__ abc argparse array ast asyncio base64 bisect calendar collections contextlib copy csv dataclasses
    datetime decimal difflib enum fractions functools hashlib heapq html inspect io itertools json keyword logging math
    numbers operator os pathlib pprint random re reprlib secrets shlex statistics string struct textwrap time tokenize
    traceback types typing unicodedata urllib.parse uuid warnings weakref zlib
    """.split()
)

#: Models of ADK that a metric is called with; importing them takes seconds.
ADK = ["google.adk.evaluation." + name for name in ("eval_case", "eval_metrics", "evaluator")]

#: C modules of the standard library that run code when a process exits, or let others do so.
WITH_AN_END_OF_ITS_OWN = frozenset("_ctypes _curses _curses_panel _dbm _gdbm _sqlite3 _tkinter readline".split())


def read(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""  # The interpreter will report what is wrong.


def stamp(path):
    """Returns a value that changes when the file does."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def wanted(source):
    """Returns the known modules that a file imports, as far as single lines show it."""
    names = []
    for line in source.decode("utf-8", "replace").splitlines():
        words = line.split("#")[0].replace(",", " ").replace(";", " ").split()
        if line[:1].isspace() or words[:1] not in (["import"], ["from"]):
            continue
        for name in words[1:2] if words[0] == "from" else words[1:]:
            if name in KNOWN or name.split(".")[0] in KNOWN and name.startswith(("asyncio.", "collections.", "pydantic.")):
                names.append(name)
    return names


def leading(source):
    """Returns the imports that precede every other statement of a file, as pairs of a module and the names taken from it.

    Reads single lines: the parser would import modules and print warnings. It stops at the first line that it does not know.
    """
    imports = []
    closing = None
    for line in source.decode("utf-8", "replace").splitlines():
        if closing:
            # The rest of a docstring, or of names in parentheses.
            closing = None if closing in line else closing
            continue
        text = line if line.lstrip()[:1] in ("'", '"') else line.split("#")[0].rstrip()
        words = text.replace(",", " ").split()
        quote = text[:3]
        if not words:
            continue
        elif quote in ('"""', "'''") and not imports:
            closing = None if quote in text[3:] else quote
        elif words[0] == "import" and not set(text) & set(";()\\"):
            names = text[len("import") :].split(",")
            imports += [(name.split()[0], ()) for name in names if name.strip()]
        elif words[0] == "from" and words[2:3] == ["import"] and words[1][0] != "." and not set(text) & set(";\\"):
            closing = ")" if "(" in text and ")" not in text else None
            taken = text.split("import", 1)[1].strip(" ()").split(",")
            imports.append((words[1], tuple(name.split()[0] for name in taken if name.strip())))
        else:
            break
    return imports


class Server:
    """The interpreter and the processes that were forked from it."""

    def __init__(self):
        # C modules only: the evaluator must not find more modules loaded than its own imports bring.
        import _signal
        import _socket
        import atexit
        import select

        self.signal = _signal
        self.socket = _socket
        self.select = select
        self.control = _socket.socket(fileno=os.dup(0))
        # The last function to be called at the end of a fork is the first one registered.
        atexit.register(self.at_exit)
        self.server = os.getpid()
        self.children = {}
        self.received = []
        self.poll = None

    # Before the first fork

    def check(self):
        """Raises `Unusual` if a fork would differ from a fresh interpreter."""
        if sys.implementation.name != "cpython" or sys.version_info < (3, 8):
            raise Unusual("the interpreter is not CPython 3.8 or later")
        if not hasattr(os, "waitid"):
            raise Unusual("the system has no waitid")
        for name in UNUSUAL_VARIABLES:
            if os.environ.get(name):
                raise Unusual("%s is set" % name)
        if sys.gettrace() or sys.getprofile():
            raise Unusual("the interpreter is traced")
        if self.spec("usercustomize"):
            raise Unusual("there is a module usercustomize")

    def spec(self, name):
        """Raises `Unusual` if a finder fails, which a package may have added."""
        for finder in sys.meta_path:
            try:
                spec = finder.find_spec(name, None)
            except Exception as error:
                raise Unusual("looking for %s failed: %s: %s" % (name, type(error).__name__, error))
            if spec:
                return spec
        return None

    def restore_environment(self):
        line = b""
        while not line.endswith(b"\n"):
            part = self.control.recv(1)
            if not part:
                os._exit(1)
            line += part
        value = line.split()[1]
        if value == b"-":
            os.environ.pop("PYTHONPATH", None)
        else:
            os.environb[b"PYTHONPATH"] = bytes.fromhex(value[1:].decode())

    def import_ahead(self):
        """Imports the modules that the evaluator will import, from where it will find them."""
        self.path = os.path.abspath(sys.argv[0])
        source = read(self.path)
        names = wanted(source)
        called = None
        if b"evaluator-call" in source and len(sys.argv) > 1:
            # This program loads another file, whose function it calls.
            self.path = os.path.abspath(sys.argv[1])
            called = read(self.path)
            names += wanted(called) + (ADK if sys.argv[2:3] == ["adk"] else [])
            source += called
        self.directory = os.path.dirname(os.path.realpath(self.path))
        # See `ended_well`.
        self.deletes_nothing = b"__cached__" not in source
        # A socket cannot be opened by its name.
        self.names_streams = any(name in source for name in (b"/dev/std", b"/dev/fd", b"/proc/"))
        self.stamp = stamp(self.path)
        fresh = set(sys.modules)
        safe = getattr(sys.flags, "safe_path", False)
        if not safe:
            sys.path.insert(0, self.directory)
        wanted_modules = [(name, ()) for name in names] + self.installed(called if called is not None else source)
        for name, taken in wanted_modules:
            try:
                __import__(name, None, None, taken)
            except ImportError as error:
                # A module that does not exist was not executed. The evaluator will report it.
                if error.name != name or name in sys.modules:
                    raise Unusual("importing %s failed: %s" % (name, error))
            except BaseException as error:
                raise Unusual("importing %s failed: %s: %s" % (name, type(error).__name__, error))
        if not safe:
            del sys.path[0]
        sys.path_importer_cache.pop(self.directory, None)
        self.ahead = {name.split(".")[0] for name in set(sys.modules) - fresh}
        self.listed = None
        self.refuse_shadows()

    def installed(self, source):
        """Returns the imports of installed packages that can be done ahead: what they start must be visible here."""
        found = []
        if not os.path.isdir("/proc/self/task"):
            return found
        library = os.path.dirname(os.__file__) + os.sep
        for name, taken in leading(source):
            try:
                spec = self.spec(name.split(".")[0])
            except Unusual:
                break  # The evaluator will report it.
            origin = spec.origin if spec else None
            # Files of the evaluator may change from one evaluation to the next.
            if origin not in ("built-in", "frozen") and not (
                origin and (origin.startswith(library) or {"site-packages", "dist-packages"} & set(origin.split(os.sep)))
            ):
                break
            found.append((name, taken))
        return found

    def refuse_shadows(self):
        """Raises `Unusual` if a file next to the evaluator has the name of a module that was imported ahead."""
        changed = os.stat(self.directory).st_mtime_ns
        if changed == self.listed:
            return
        suffixes = self.suffixes()
        for entry in os.listdir(self.directory):
            for suffix in suffixes:
                if entry.endswith(suffix) and entry[: len(entry) - len(suffix)] in self.ahead:
                    raise Unusual("%s is next to the evaluator" % entry)
        self.listed = changed

    def suffixes(self):
        """Returns the suffixes of files (and of directories) that can be imported."""
        import _imp

        return ["", ".py", ".pyc"] + _imp.extension_suffixes()

    def check_again(self):
        """Raises `Unusual` if the imports left something that a fork would share or lose."""
        if len(sys._current_frames()) > 1 or self.count("/proc/self/task", 1) > 1 and not self.threads_stop():
            raise Unusual("the imports started threads")
        if self.count("/dev/fd", 0) > self.open_before:
            raise Unusual("the imports opened files")

    def threads_stop(self):
        """Forks a process that exits at once, and returns true if no other thread is left: libraries such as OpenBLAS stop
        their threads before a fork, and start them again where they are needed."""
        try:
            pid = os.fork()
        except Warning:
            return False
        if pid == 0:
            os._exit(0)
        os.waitpid(pid, 0)
        return self.count("/proc/self/task", 1) == 1

    def count(self, directory, unknown):
        try:
            return len(os.listdir(directory))
        except OSError:
            return unknown

    def settle(self):
        """Closes the outputs, which shows the host that nothing was printed, and freezes the imported modules."""
        import gc

        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
        null = os.open(os.devnull, os.O_RDWR)
        for standard in (0, 1, 2):
            os.dup2(null, standard)
        os.close(null)
        gc.collect()
        # A cycle that is never collected: a fork that exits does not touch the objects in it.
        self.kept = {name: module for name, module in sys.modules.items() if name not in ("__main__", "sys", "builtins")}
        self.kept_ends = any(name.split(".")[0] not in KNOWN and self.has_an_end(name, self.kept[name]) for name in self.kept)
        self.cycle = [self]
        gc.freeze()

    # Serving

    def serve(self):
        """Returns in each fork, and never in the server."""
        self.open_before = self.count("/dev/fd", 0)
        try:
            self.restore_environment()
            self.check()
            self.import_ahead()
            self.check_again()
            self.settle()
        except (OSError, Unusual) as why:
            self.say(self.control, "unusual %s" % why)
            os._exit(0)
        self.wake, wake = os.pipe()
        os.set_blocking(self.wake, False)
        os.set_blocking(wake, False)
        self.wakers = (self.wake, wake)
        self.signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        self.signal.signal(self.signal.SIGCHLD, lambda *_: None)
        # A module that was imported earlier may have blocked it; it is restored in a fork.
        self.blocked = self.signal.pthread_sigmask(self.signal.SIG_UNBLOCK, [self.signal.SIGCHLD])
        self.poll = self.select.poll()
        self.poll.register(self.control, self.select.POLLIN)
        self.poll.register(self.wake, self.select.POLLIN)
        self.say(self.control, "ready")
        while True:
            for descriptor, _ in self.poll.poll():
                if descriptor == self.wake:
                    self.look_for_the_dead()
                elif descriptor == self.control.fileno():
                    if self.requested():
                        return
                elif descriptor in self.children:
                    self.answered(descriptor)

    def say(self, socket, line):
        line = " ".join(line.split())
        try:
            socket.sendall(line.encode("utf-8", "replace") + b"\n")
        except OSError:
            pass  # The other side has closed the socket, which is noticed where it matters.

    def requested(self):
        """Reads requests of the host; returns true in a fork."""
        socket = self.socket
        try:
            data, ancillary, _, _ = self.control.recvmsg(64, socket.CMSG_SPACE(4 * 250))
        except InterruptedError:
            return False
        except OSError:
            data, ancillary = b"", []
        for level, kind, content in ancillary:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                for at in range(0, len(content) // 4 * 4, 4):
                    self.received.append(int.from_bytes(content[at : at + 4], sys.byteorder))
        if not data:
            self.end()
        for _ in data:
            descriptors, self.received = self.received[:5], self.received[5:]
            if len(descriptors) == 5 and self.fork(*descriptors):
                return True
        return False

    def fork(self, stdin, stdout, stderr, status, variables):
        """Forks a process; returns true in that process."""
        status = self.socket.socket(fileno=status)
        try:
            self.refuse_shadows()
            if self.names_streams and os.fstat(stdin).st_mode & 0o170000 == 0o140000:
                raise Unusual("it names a file in /dev or /proc, and the standard streams of forks in a sandbox have no names")
            if stamp(self.path) != self.stamp:
                self.deletes_nothing = False
            gate, opener = os.pipe()
            pid = os.fork()
        except (OSError, Unusual) as why:
            self.say(status, "refused %s" % why)
            status.close()
            pid = None
        if pid == 0:
            os.close(opener)
            self.become(gate, stdin, stdout, stderr, status, variables)
            return True
        for descriptor in (stdin, stdout, stderr, variables):
            os.close(descriptor)
        if pid is not None:
            try:
                # Both the process and its parent call this: whichever is first creates the group.
                os.setpgid(pid, pid)
            except OSError:
                pass
            os.close(gate)
            self.children[status.fileno()] = [pid, status, False, opener]
            self.poll.register(status, self.select.POLLIN)
        return False

    def become(self, gate, stdin, stdout, stderr, status, variables):
        """Restores in this fork the state of the interpreter before it became a server."""
        os.setpgid(0, 0)
        # Sent by this process itself: the host takes its number from the kernel.
        self.say(status, "started %d" % os.getpid())
        status.close()
        self.control.close()
        for _, other, _, gate_of_other in self.children.values():
            other.close()
            if gate_of_other is not None:
                os.close(gate_of_other)
        # Nothing is done before the host can end this process, nor if the server dies before that.
        if not os.read(gate, 1):
            os._exit(1)
        os.close(gate)
        self.set_variables(variables)
        self.signal.set_wakeup_fd(-1)
        self.signal.signal(self.signal.SIGCHLD, self.signal.SIG_DFL)
        self.signal.pthread_sigmask(self.signal.SIG_SETMASK, self.blocked)
        for standard, descriptor in enumerate((stdin, stdout, stderr)):
            os.dup2(descriptor, standard)
            os.close(descriptor)
        for descriptor in self.wakers + tuple(self.received):
            os.close(descriptor)
        self.children = self.received = self.poll = self.control = None
        # As the module `random` does by itself: each process starts with another state.
        if "numpy.random" in sys.modules:
            sys.modules["numpy.random"].seed()
        # A dictionary that was frozen would keep what the evaluator defines from being collected at the end.
        main = type(sys)("__main__")
        main.__dict__.clear()
        main.__dict__.update(sys.modules["__main__"].__dict__)
        sys.modules["__main__"] = main

    def set_variables(self, pipe):
        """Sets the variables of this process, which the host has written before it sent the request."""
        text = b""
        while True:
            part = os.read(pipe, 65536)
            if not part:
                break
            text += part
        os.close(pipe)
        for variable in text.split(b"\0")[:-1]:
            name, _, value = variable.partition(b"=")
            os.environb[name] = value

    def look_for_the_dead(self):
        """Reports dead processes to the host, and leaves them unreaped until it has answered."""
        try:
            while os.read(self.wake, 512):
                pass
        except BlockingIOError:
            pass
        flags = os.WEXITED | os.WNOHANG | os.WNOWAIT
        for descriptor, child in list(self.children.items()):
            pid, status, reported, _ = child
            ended = None if reported else os.waitid(os.P_PID, pid, flags)
            if not ended:
                continue
            child[2] = True
            how = "exited" if ended.si_code == os.CLD_EXITED else "killed"
            self.say(status, "%s %d" % (how, ended.si_status))

    def answered(self, descriptor):
        """Lets a process continue, or ends it, as the host requests."""
        pid, status, _, opener = self.children[descriptor]
        try:
            goes_on = status.recv(1) == b"g"
        except InterruptedError:
            return
        except OSError:
            goes_on = False
        if opener is not None:
            try:
                if goes_on:
                    os.write(opener, b"g")
            except OSError:
                pass  # It was killed before it continued.
            os.close(opener)
            self.children[descriptor][3] = None
        if goes_on:
            return
        del self.children[descriptor]
        self.poll.unregister(status)
        status.close()
        self.kill(pid)
        # It was killed, so this takes long only if it is in an uninterruptible system call.
        os.waitpid(pid, 0)

    def kill(self, pid):
        try:
            os.killpg(pid, self.signal.SIGKILL)
        except OSError:
            pass  # Only the dead process itself is left.

    def end(self):
        for pid, _, _, _ in self.children.values():
            self.kill(pid)
        os._exit(0)

    # The end of a fork

    def at_exit(self):
        """Lets a fork exit without tearing down the modules that it shares with all other forks.

        An interpreter that exits tears down every module, which in a fork copies most of its memory. Here the interpreter
        tears down only the modules of the evaluator, with all visible effects; then the process exits.
        """
        if os.getpid() == self.server or sys._getframe().f_back is not None:
            return  # A program calls these functions itself, before its end.
        modules = sys.modules
        quick = self.ended_well() and not self.ends_otherwise()
        for name, module in self.kept.items():
            if modules.get(name) is module:
                del modules[name]
        if quick:
            # Of all that an evaluator can see, the interpreter clears this module last, and in it what was added last.
            sys.evaluator_ends = End(sys.stdout, sys.stderr)

    def ended_well(self):
        """Returns true if the evaluator ran to its last line, so that the exit code is 0.

        The interpreter has then deleted these two names and no others; it does not do so after a `SystemExit`. If it
        printed a traceback, it has stored that in `sys`.
        """
        names = getattr(sys.modules.get("__main__"), "__dict__", {})
        deleted = not any(name in names for name in ("__file__", "__cached__"))
        others = all(name in names for name in ("__name__", "__doc__", "__package__", "__spec__"))
        # Set when the file was opened.
        ran = type(names.get("__loader__")).__name__ == "SourceFileLoader"
        traceback = any(name in sys.__dict__ for name in ("last_type", "last_value", "last_traceback", "last_exc"))
        return ran and deleted and others and self.deletes_nothing and not traceback and sys.excepthook is sys.__excepthook__

    def ends_otherwise(self):
        """Returns true if something would be lost if the process exited before the interpreter is finalized: text that
        cannot be written, and what C modules do when a process exits."""
        for stream in (sys.stdout, sys.stderr):
            try:
                if stream is not None and not stream.closed:
                    stream.flush()
            except BaseException:
                return True
        if self.kept_ends or "_ctypes" in sys.modules:
            return True
        return any(self.has_an_end(name, module) for name, module in sys.modules.items() if self.kept.get(name) is not module)

    def has_an_end(self, name, module):
        """Returns true if a module is, or may be, one in C that runs code when a process exits."""
        if name in WITH_AN_END_OF_ITS_OWN:
            return True
        file = module.__dict__.get("__file__") if type(module) is type(sys) else None
        return isinstance(file, str) and file.endswith(tuple(self.suffixes()[3:])) and "lib-dynload" not in file


class End:
    """Ends the process when it is freed."""

    def __init__(self, *streams):
        self.streams = [stream for stream in streams if stream is not None]

    def __del__(self, exit=os._exit):
        for stream in self.streams:
            try:
                if not stream.closed:
                    stream.flush()
            except BaseException:
                pass
        exit(0)


def main():
    try:
        found = stand_aside()
    except BaseException as error:
        os.write(0, ("unusual sitecustomize failed: %s\n" % type(error).__name__).encode())
        os._exit(0)
    try:
        Server().serve()
    except BaseException:
        # After any error, the interpreter must not continue and run the evaluator instead of serving.
        os._exit(1)
    if not found:
        raise ModuleNotFoundError("No module named 'sitecustomize'", name="sitecustomize")


main()
