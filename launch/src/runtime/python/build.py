# Run with -I -S -c in a sandbox by the interpreter of a virtual environment: builds a wheel from a source distribution (PEP
# 517). The packages of the environment are not seen by the build, only those that it needs.
#
# Arguments: that with which the interpreter runs pip (`-mpip` or a file), the step, the archive, a directory that stays the
# same in all steps, and wheels. `unpack` and `ask` end with a
# line of what the build needs: first what pyproject.toml names, then what the build backend names. The wheels are what the
# step before named. The last step, `build`, leaves a wheel in the directory `wheel`.
import glob, importlib, json, os, shutil, site, subprocess, sys, tarfile

runner, step, archive, work, *wheels = sys.argv[1:]
source, packages = os.path.join(work, "source"), os.path.join(work, "packages")


def backend_of(root):
    """Returns what pyproject.toml names: requirements, the build backend, and directories of its modules."""
    file = os.path.join(root, "pyproject.toml")
    text = open(file, encoding="utf-8").read() if os.path.exists(file) else ""
    try:
        import tomllib
    except ImportError:
        own = "lib/python%d.%d/site-packages" % sys.version_info[:2]
        own = os.path.join(os.path.dirname(os.path.dirname(sys.executable)), own)
        sys.path.append(own if runner == "-mpip" else os.path.dirname(os.path.dirname(runner)))
        from pip._vendor import tomli as tomllib

        sys.path.pop()
    system = tomllib.loads(text).get("build-system", {"requires": ["setuptools>=40.8.0"]})
    backend = system.get("build-backend", "setuptools.build_meta:__legacy__")
    return system["requires"], backend, system.get("backend-path", [])


def hooks_of(backend, paths):
    sys.path[:0] = [os.path.join(os.getcwd(), path) for path in paths]
    module, _, attributes = backend.partition(":")
    hooks = importlib.import_module(module)
    for attribute in attributes.split(".") if attributes else ():
        hooks = getattr(hooks, attribute)
    return hooks


def install():
    """Installs the wheels where only the build sees them."""
    if wheels:
        pip = ["-I", runner, "--isolated", "--disable-pip-version-check", "install", "--quiet", "--no-index", "--no-deps"]
        pip += ["--no-cache-dir", "--no-warn-script-location", "--upgrade", "--target", packages]
        subprocess.check_call([sys.executable, *pip, *wheels])
    os.environ["PYTHONPATH"] = packages
    os.environ["PATH"] = os.path.join(packages, "bin") + os.pathsep + os.environ.get("PATH", os.defpath)
    sys.path.insert(0, packages)
    if os.path.isdir(packages):
        site.addsitedir(packages)


if step == "unpack":
    if hasattr(tarfile, "data_filter"):
        tarfile.TarFile.extraction_filter = staticmethod(tarfile.data_filter)
    shutil.unpack_archive(archive, source)
roots = [path for path in glob.glob(os.path.join(source, "*")) if os.path.isdir(path)]
if len(roots) != 1:
    sys.exit("a source distribution has one directory, and this one has %d" % len(roots))
needed, backend, paths = backend_of(roots[0])
if step != "unpack":
    install()
    os.chdir(roots[0])
    hooks = hooks_of(backend, paths)
    if step == "build":
        place = os.path.join(work, "wheel")
        os.mkdir(place)
        hooks.build_wheel(place)
        sys.exit()
    needed = hooks.get_requires_for_build_wheel() if hasattr(hooks, "get_requires_for_build_wheel") else []
print("\nevaluator-build-requires " + json.dumps(needed), flush=True)
