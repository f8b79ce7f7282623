"""Turns a Python interpreter that is about to run a file into a server that forks processes which run that file.

The interpreter finds this file under the name `sitecustomize` and imports it at the end of its own start, before it
looks at the file it was told to run. Here it does the imports of that file ahead of time and then waits: for each
request it forks, and the fork simply returns from here. So it is the interpreter itself, not this file, that opens and
runs the evaluator, prints its tracebacks, joins its threads and finds its exit code: there is no frame of this file below it,
and nothing that had to be imitated.

Standard input is a socket to whoever started this interpreter (the host):

    host    pythonpath =<hex> | -              the variable as the evaluator is to see it, or that it is not set
    server  ready                              the imports are done; standard output and error are closed now
    server  unusual <why>                      nothing can be forked here; the server ends
    host    f                                  a request, sent with four descriptors: the standard streams, and a socket

On the socket of a request:

    server  started <pid>                      it leads a process group of its own, and waits
    host    g                                  it may go on
    server  refused <why>                      nothing was started
    server  exited <code> | killed <signal>    it is dead, and not reaped
    host    closes the socket                  its group is killed and the process reaped

When the host is gone, so is everything here. Needs CPython 3.8 on a system with `fork` and `waitid`; knows of nothing but
the standard library.
"""

import os
import sys


def stand_aside():
    """Gives the name of this module back to the one it stands in front of, if there is one, as if this had never been.

    Whether there is one.
    """
    folder = os.path.dirname(__file__)
    sys.path[:] = [entry for entry in sys.path if entry != folder]
    sys.path_importer_cache.pop(folder, None)
    for path in (__file__, folder):
        try:
            os.unlink(path) if path == __file__ else os.rmdir(path)
        except OSError:
            pass  # The host deletes it later.
    global ME
    # Else everything here would be forgotten when the name is given away.
    ME = sys.modules.pop("sitecustomize")
    try:
        import sitecustomize  # noqa: F401
    except ImportError as error:
        if error.name != "sitecustomize":
            raise
        # The interpreter expects this very error; it is raised anew in each fork.
        return False
    return True


class Unusual(Exception):
    """Why evaluators cannot be forked here."""


#: Variables that make an interpreter report on itself, behave otherwise at its end, or ask for input.
UNUSUAL_VARIABLES = (
    "PYTHONINSPECT PYTHONSTARTUP PYTHONVERBOSE PYTHONPROFILEIMPORTTIME PYTHONDUMPREFS PYTHONDUMPREFSFILE "
    "PYTHONMALLOCSTATS PYTHONTRACEMALLOC PYTHONDEVMODE PYTHONPERFSUPPORT PYTHON_PERF_JIT_SUPPORT PYTHONTHREADDEBUG "
    "PYTHON_PRESITE PYTHONCASEOK COVERAGE_PROCESS_START COVERAGE_PROCESS_CONFIG COV_CORE_SOURCE"
).split()

#: Imported ahead of time where the evaluator imports them. What is not on this list is left to the evaluator: its import may
#: start threads, open files or depend on what the evaluator does before.
KNOWN = frozenset(
    """
    agentevals_evaluator_sdk pydantic pydantic_core annotated_types typing_extensions

    __future__ abc argparse array ast asyncio base64 bisect calendar collections contextlib copy csv dataclasses
    datetime decimal difflib enum fractions functools hashlib heapq html inspect io itertools json keyword logging math
    numbers operator os pathlib pprint random re reprlib secrets shlex statistics string struct textwrap time tokenize
    traceback types typing unicodedata urllib.parse uuid warnings weakref zlib
    """.split()
)

#: Models of ADK, which a metric is called with; to import them takes seconds.
ADK = ["google.adk.evaluation." + name for name in ("eval_case", "eval_metrics", "evaluator")]

#: Modules of the standard library in C that do something of their own when a process ends, or let others do.
WITH_AN_END_OF_ITS_OWN = frozenset("_ctypes _curses _curses_panel _dbm _gdbm _sqlite3 _tkinter readline".split())


def read(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""  # The interpreter will say what is wrong.


def stamp(path):
    """Changes when the file does."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def wanted(source):
    """Which of the known modules a file imports, as far as that can be seen without reading it closely."""
    names = []
    for line in source.decode("utf-8", "replace").splitlines():
        words = line.split("#")[0].replace(",", " ").replace(";", " ").split()
        if line[:1].isspace() or words[:1] not in (["import"], ["from"]):
            continue
        for name in words[1:2] if words[0] == "from" else words[1:]:
            if name in KNOWN or name.split(".")[0] in KNOWN and name.startswith(("asyncio.", "collections.", "pydantic.")):
                names.append(name)
    return names


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
        """Raises `Unusual` where a fork would differ from a fresh interpreter."""
        if sys.implementation.name != "cpython" or sys.version_info < (3, 8):
            raise Unusual("the interpreter is not CPython 3.8 or later")
        if not hasattr(os, "waitid"):
            raise Unusual("the system has no waitid")
        for name in UNUSUAL_VARIABLES:
            if os.environ.get(name):
                raise Unusual("%s is set" % name)
        if sys.gettrace() or sys.getprofile():
            raise Unusual("the interpreter is traced")
        if self.find("usercustomize"):
            raise Unusual("there is a module usercustomize")

    def find(self, name):
        for finder in sys.meta_path:
            if finder.find_spec(name, None):
                return True
        return False

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
        """Imports what the evaluator will import, from where it will find it."""
        self.path = os.path.abspath(sys.argv[0])
        source = read(self.path)
        names = wanted(source)
        if b"evaluator-call" in source and len(sys.argv) > 1:
            # This program loads another file, whose function it calls.
            self.path = os.path.abspath(sys.argv[1])
            called = read(self.path)
            names += wanted(called) + (ADK if sys.argv[2:3] == ["adk"] else [])
            source += called
        self.folder = os.path.dirname(os.path.realpath(self.path))
        # See `ended_well`.
        self.deletes_nothing = b"__cached__" not in source
        self.stamp = stamp(self.path)
        fresh = set(sys.modules)
        safe = getattr(sys.flags, "safe_path", False)
        if not safe:
            sys.path.insert(0, self.folder)
        for name in names:
            try:
                __import__(name)
            except ImportError as error:
                # What is not there at all was not touched. The evaluator will find out for itself.
                if error.name != name or name in sys.modules:
                    raise Unusual("importing %s failed: %s" % (name, error))
            except BaseException as error:
                raise Unusual("importing %s failed: %s: %s" % (name, type(error).__name__, error))
        if not safe:
            del sys.path[0]
        sys.path_importer_cache.pop(self.folder, None)
        self.ahead = {name.split(".")[0] for name in set(sys.modules) - fresh}
        self.listed = None
        self.refuse_shadows()

    def refuse_shadows(self):
        """Raises `Unusual` when a file beside the evaluator has the name of something that was imported ahead."""
        changed = os.stat(self.folder).st_mtime_ns
        if changed == self.listed:
            return
        suffixes = self.suffixes()
        for entry in os.listdir(self.folder):
            for suffix in suffixes:
                if entry.endswith(suffix) and entry[: len(entry) - len(suffix)] in self.ahead:
                    raise Unusual("%s stands beside the evaluator" % entry)
        self.listed = changed

    def suffixes(self):
        """The ends of names of files (and of folders) that can be imported."""
        import _imp

        return ["", ".py", ".pyc"] + _imp.extension_suffixes()

    def check_again(self):
        """Raises `Unusual` when the imports left something behind that a fork would share or lose."""
        if len(sys._current_frames()) > 1 or self.count("/proc/self/task", 1) > 1:
            raise Unusual("the imports started threads")
        if self.count("/dev/fd", 0) > self.open_before:
            raise Unusual("the imports opened files")

    def count(self, folder, unknown):
        try:
            return len(os.listdir(folder))
        except OSError:
            return unknown

    def settle(self):
        """Closes the outputs, by which the host knows that nothing was printed, and makes what was imported last for good."""
        import gc

        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
        null = os.open(os.devnull, os.O_RDWR)
        for standard in (0, 1, 2):
            os.dup2(null, standard)
        os.close(null)
        gc.collect()
        # A cycle that is never collected. What it holds survives the end of a fork without being touched by it.
        self.kept = {name: module for name, module in sys.modules.items() if name not in ("__main__", "sys", "builtins")}
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
        # Something imported before this file may have blocked it; a fork finds it as it was.
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
            pass  # Nobody listens any more, which is found out where it matters.

    def requested(self):
        """Takes what the host sent; true in a fork."""
        socket = self.socket
        try:
            data, ancillary, _, _ = self.control.recvmsg(64, socket.CMSG_SPACE(4 * 253))
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
            descriptors, self.received = self.received[:4], self.received[4:]
            if len(descriptors) == 4 and self.fork(*descriptors):
                return True
        return False

    def fork(self, stdin, stdout, stderr, status):
        """Starts a process; true in that process."""
        status = self.socket.socket(fileno=status)
        try:
            self.refuse_shadows()
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
            self.become(gate, stdin, stdout, stderr, status)
            return True
        for descriptor in (stdin, stdout, stderr):
            os.close(descriptor)
        if pid is not None:
            try:
                # Whoever is first, it or its parent: afterwards the group exists.
                os.setpgid(pid, pid)
            except OSError:
                pass
            os.close(gate)
            self.children[status.fileno()] = [pid, status, False, opener]
            self.poll.register(status, self.select.POLLIN)
            self.say(status, "started %d" % pid)
        return False

    def become(self, gate, stdin, stdout, stderr, status):
        """Makes this fork what the interpreter was before it was a server."""
        os.setpgid(0, 0)
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
        self.signal.set_wakeup_fd(-1)
        self.signal.signal(self.signal.SIGCHLD, self.signal.SIG_DFL)
        self.signal.pthread_sigmask(self.signal.SIG_SETMASK, self.blocked)
        for standard, descriptor in enumerate((stdin, stdout, stderr)):
            os.dup2(descriptor, standard)
            os.close(descriptor)
        for descriptor in self.wakers + tuple(self.received):
            os.close(descriptor)
        self.children = self.received = self.poll = self.control = None
        # A dictionary that was there when everything was made to last would keep what the evaluator defines from being
        # collected at the end.
        main = type(sys)("__main__")
        main.__dict__.clear()
        main.__dict__.update(sys.modules["__main__"].__dict__)
        sys.modules["__main__"] = main

    def look_for_the_dead(self):
        """Tells the host of processes that have ended, and leaves them unreaped until it has answered."""
        try:
            while os.read(self.wake, 512):
                pass
        except BlockingIOError:
            pass
        flags = os.WEXITED | os.WNOHANG | os.WNOWAIT
        for descriptor, child in list(self.children.items()):
            pid, status, told, _ = child
            ended = None if told else os.waitid(os.P_PID, pid, flags)
            if not ended:
                continue
            child[2] = True
            how = "exited" if ended.si_code == os.CLD_EXITED else "killed"
            self.say(status, "%s %d" % (how, ended.si_status))

    def answered(self, descriptor):
        """The host lets a process go on, or is done with it, whether it is dead or not."""
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
                pass  # It was killed before it began.
            os.close(opener)
            self.children[descriptor][3] = None
        if goes_on:
            return
        del self.children[descriptor]
        self.poll.unregister(status)
        status.close()
        self.kill(pid)
        # It was killed, so this does not take long, unless it is stuck in the system: then so is everything else.
        os.waitpid(pid, 0)

    def kill(self, pid):
        try:
            os.killpg(pid, self.signal.SIGKILL)
        except OSError:
            pass  # Nobody is left but the dead process itself.

    def end(self):
        for pid, _, _, _ in self.children.values():
            self.kill(pid)
        os._exit(0)

    # The end of a fork

    def at_exit(self):
        """Lets a fork end without taking apart what it has in common with all others.

        An interpreter that ends takes every module apart, which in a fork means to copy most of its memory. Here only
        what the evaluator brought in is taken apart, by the interpreter itself and with everything that can be
        seen of it; then the process ends.
        """
        if os.getpid() == self.server or sys._getframe().f_back is not None:
            return  # Somebody runs these functions by hand, in the middle of a program.
        modules = sys.modules
        quick = self.ended_well() and not self.ends_otherwise()
        for name, module in self.kept.items():
            if modules.get(name) is module:
                del modules[name]
        if quick:
            # Of all that an evaluator can see, the interpreter forgets this module last, and in it what was added last.
            sys.evaluator_ends = End(sys.stdout, sys.stderr)

    def ended_well(self):
        """Whether the evaluator ran to its last line, so that the exit code is 0.

        The interpreter then has deleted these two names and nothing else, which it does not get to when a `SystemExit` ends
        the program. When it printed a traceback, it has noted that in `sys`.
        """
        names = getattr(sys.modules.get("__main__"), "__dict__", {})
        deleted = not any(name in names for name in ("__file__", "__cached__"))
        others = all(name in names for name in ("__name__", "__doc__", "__package__", "__spec__"))
        # Set when the file was opened.
        ran = type(names.get("__loader__")).__name__ == "SourceFileLoader"
        traceback = any(name in sys.__dict__ for name in ("last_type", "last_value", "last_traceback", "last_exc"))
        return ran and deleted and others and self.deletes_nothing and not traceback and sys.excepthook is sys.__excepthook__

    def ends_otherwise(self):
        """Whether something would be lost if the process ended before the interpreter has: text that cannot be written, and
        what modules in C do at the end of a process."""
        for stream in (sys.stdout, sys.stderr):
            try:
                if stream is not None and not stream.closed:
                    stream.flush()
            except BaseException:
                return True
        if "_ctypes" in sys.modules:
            return True
        suffixes = tuple(self.suffixes()[3:])
        for name, module in sys.modules.items():
            if self.kept.get(name) is module:
                continue
            if name in WITH_AN_END_OF_ITS_OWN:
                return True
            file = module.__dict__.get("__file__") if type(module) is type(sys) else None
            if isinstance(file, str) and file.endswith(suffixes) and "lib-dynload" not in file:
                return True
        return False


class End:
    """Ends the process when it is forgotten."""

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
        # Whatever it was: the interpreter must not go on and run the evaluator in place of serving.
        os._exit(1)
    if not found:
        raise ModuleNotFoundError("No module named 'sitecustomize'", name="sitecustomize")


main()
