# Run with -c by the interpreter that the user has chosen: reports what it is and which packages it finds.
#
# Each argument is a question, its parts separated by U+001F. The answers are one line of JSON. Any version of Python 3 runs
# this; output of other code is not mistaken for an answer. No module of an evaluator or of a package is executed: the
# directory of an evaluator is searched and never on the search path, where a file of the name of a module of the
# standard library would be imported by the next `import`.
import os, sys

if sys.path and sys.path[0] == "":
    # Files of the working directory must not shadow modules of the standard library.
    del sys.path[0]
import ast, json, stat
from importlib import machinery, util

SDK = "agentevals_evaluator_sdk"

# Maximum size of a source file that is read, in bytes.
LONGEST_SOURCE = 4 << 20


def spec_of(name, directory):
    """Looks up a module without dots as an evaluator in this directory does."""
    own = machinery.PathFinder.find_spec(name, [directory])
    if own is not None and own.origin is not None:
        return own
    try:
        # A directory without code gives way to a package that is installed.
        return util.find_spec(name) or own
    except (ImportError, ValueError):
        return own


def is_found(name, directory):
    """Returns true if a module exists, as far as that shows without executing a package."""
    parts = name.split(".")
    spec = spec_of(parts[0], directory)
    for end in range(2, len(parts) + 1):
        if spec is None or spec.origin is not None or spec.submodule_search_locations is None:
            break
        # A namespace package has no code, so only a search decides what is in it.
        spec = machinery.PathFinder.find_spec(".".join(parts[:end]), spec.submodule_search_locations)
    return spec is not None


def tree_of(file):
    # Opening a pipe would wait for a writer, and a device has no end.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    with open(os.open(file, flags), "rb") as source:
        found = os.fstat(source.fileno())
        if not stat.S_ISREG(found.st_mode) or found.st_size > LONGEST_SOURCE:
            raise OSError("not a source file")
        return ast.parse(source.read(LONGEST_SOURCE), file)


def imports(tree):
    """Yields (module, line, is certain) for the absolute imports of a file, without optional ones."""

    def is_named(node, *names):
        return getattr(node, "id", getattr(node, "attr", None)) in names

    def catches(handler):
        kinds = getattr(handler.type, "elts", [handler.type])
        return any(kind is None or is_named(kind, "ImportError", "ModuleNotFoundError", "Exception", "BaseException") for kind in kinds)

    def is_main(test):
        return any(getattr(part, "value", None) == "__main__" for part in ast.walk(test))

    def visit(nodes, certain):
        for node in nodes:
            if isinstance(node, ast.Import):
                for alias in node.names:
                    yield alias.name, node.lineno, certain
            elif isinstance(node, ast.ImportFrom):
                if node.level == 0:
                    yield node.module, node.lineno, certain
            elif hasattr(node, "handlers"):
                # An import that may fail, and what replaces it.
                if not any(catches(handler) for handler in node.handlers):
                    yield from visit(node.body + node.orelse, certain)
                yield from visit(node.finalbody, certain)
            elif isinstance(node, ast.If):
                if not is_named(node.test, "TYPE_CHECKING"):
                    yield from visit(node.body, certain and is_main(node.test))
                yield from visit(node.orelse, False)
            elif isinstance(node, (ast.With, ast.ClassDef)):
                # `with suppress(ImportError)` continues after an import that fails.
                calls = [getattr(item.context_expr, "func", None) for item in getattr(node, "items", ())]
                yield from visit(node.body, certain and not any(is_named(call, "suppress") for call in calls))
            else:
                yield from visit(ast.iter_child_nodes(node), False)

    yield from visit(tree.body, True)


def changes_search(tree):
    """Returns true if a file changes where modules are looked for, as far as its text shows."""
    names = ("path", "meta_path", "path_hooks", "modules")
    nodes = list(ast.walk(tree))
    aliases = [alias for node in nodes if isinstance(node, ast.Import) for alias in node.names if alias.name == "sys"]
    of_sys = {alias.asname or "sys" for alias in aliases}
    for node in nodes:
        if isinstance(node, ast.Attribute):
            if node.attr in names and getattr(node.value, "id", None) in of_sys or node.attr == "addsitedir":
                return True
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            wanted = {"sys": names, "site": ("addsitedir",)}.get(node.module, ())
            if any(alias.name in wanted for alias in node.names):
                return True
    return False


def own_module(directory, name):
    """Returns the file of a module if the module belongs to the evaluator."""
    path = os.path.join(directory, *name.split("."))
    for file in (path + ".py", os.path.join(path, "__init__.py")):
        if os.path.isfile(file):
            return file
    return None


def answer_version(name):
    from importlib import metadata

    return metadata.version(name)


def answer_marker(text):
    try:
        from packaging.markers import Marker
    except ImportError:
        from pip._vendor.packaging.markers import Marker
    return bool(Marker(text).evaluate())


def answer_sdk(directory, *files):
    """Returns whether these files of an evaluator import the SDK, and whether it is installed."""
    for file in files:
        try:
            used = any(name.split(".")[0] == SDK for name, _, _ in imports(tree_of(file)))
        except SyntaxError:
            # The interpreter will report it when it runs the file.
            used = False
        if used:
            return "found" if is_found(SDK, directory) else "missing"
    return "unused"


def answer_missing(directory, script):
    """Returns the modules that the evaluator imports when it starts and that are not found.

    Each has its name, and the file and line of the import. `path_changed_in` is the file of the evaluator, if there is one,
    that changes where modules are looked for, so the evaluator may find the module when it runs.
    """
    missing, seen, unread, changed_in = [], set(), [script], None
    while unread:
        file = unread.pop()
        tree = tree_of(file)
        if changed_in is None and changes_search(tree):
            changed_in = os.path.basename(file)
        for name, line, certain in imports(tree):
            if name in seen or not certain:
                continue
            seen.add(name)
            own = own_module(directory, name) or own_module(directory, name.split(".")[0])
            if own is not None:
                unread.append(own)
            elif not is_found(name, directory):
                missing.append({"name": name, "file": os.path.basename(file), "line": line})
    return [dict(module, path_changed_in=changed_in) for module in missing]


def files():
    """Returns the directories that this interpreter reads, and the base of the user's packages if it has any."""
    found = {sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix, os.path.dirname(os.path.realpath(sys.executable))}
    site = sys.modules.get("site")
    packages = site.getusersitepackages() if getattr(site, "ENABLE_USER_SITE", False) else None
    has_packages = packages and os.path.isdir(packages)
    return {
        "directories": sorted(found | {packages} if has_packages else found),
        "user_base": site.getuserbase() if has_packages else None,
    }


def runner_of_pip(directories):
    """Returns the file of pip that runs it in another environment, which pip has since 22.3; `None` if it has no such file
    or is outside of these directories, which are what a sandbox shows."""
    spec = util.find_spec("pip")
    runner = os.path.join(os.path.dirname(spec.origin), "__pip-runner__.py") if spec and spec.origin else ""
    real = os.path.realpath(runner)
    is_inside = any(real.startswith(os.path.realpath(directory) + os.sep) for directory in directories)
    return runner if is_inside and os.path.isfile(runner) else None


def wheel_of_setuptools():
    """Returns the wheel of setuptools that comes with the interpreter; `None` without one."""
    spec = util.find_spec("ensurepip")
    own = [os.path.join(os.path.dirname(spec.origin), "_bundled")] if spec and spec.origin else []
    # Debian has them in a directory for all its interpreters.
    for directory in own + ["/usr/share/python-wheels"]:
        names = sorted(os.listdir(directory)) if os.path.isdir(directory) else []
        for name in names:
            if name.startswith("setuptools-") and name.endswith(".whl"):
                return os.path.join(directory, name)
    return None


def answer(question):
    kind, *parts = question.split("\x1f")
    try:
        return globals()["answer_" + kind](*parts)
    except Exception:
        # Without an answer, a package counts as missing.
        return None


seen = files()
pip, setuptools = runner_of_pip(seen["directories"]), None
if sys.version_info < (3, 12):
    # Packages import setuptools there. Without its wheel, only `venv` installs it, along with a pip.
    setuptools = wheel_of_setuptools() if pip else None
    pip = pip if setuptools else None
report = {
    "identity": {
        "tag": sys.implementation.cache_tag,
        "version": sys.version.split()[0],
        "abi": machinery.EXTENSION_SUFFIXES[0],
        "has_venv": bool(util.find_spec("venv") and (pip or util.find_spec("ensurepip"))),
        "pip": pip,
        "setuptools": setuptools,
        "files": seen,
        "base": os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable),
    },
    "executable": sys.executable,
    "answers": [answer(question) for question in sys.argv[1:]],
}
sys.stdout.flush()
sys.stdout.buffer.write(("\n" + json.dumps(report, ensure_ascii=False) + "\n").encode("utf-8", "surrogateescape"))
sys.stdout.buffer.flush()
