"""Writes the files of a package index into a directory: wheels, and source distributions that try to break out when they are
built.

Arguments: the directory, a file that must not be read, one that must not be written, and a port.
"""

import hashlib
import io
import os
import sys
import tarfile
import zipfile

place, secret, beside, port = sys.argv[1:]

# What code of a package tries. The wheel has the list of what worked.
ATTEMPTS = """
import os, socket, sys
done = []
def attempt(name, action):
    try:
        action()
        done.append(name)
    except Exception as error:
        print(name, error)
attempt("read", lambda: open(%r).read())
attempt("write", lambda: open(%r, "w").close())
attempt("connect", lambda: socket.create_connection(("127.0.0.1", %s), 10).close())
""" % (secret, beside, port)

# A build backend without dependencies. A package sets NAME, VERSION, NEEDS (when it runs) and ASKS (when it is built).
BACKEND = """
import zipfile
def get_requires_for_build_wheel(settings=None):
    return ASKS
def build_wheel(directory, settings=None, metadata=None):
    name = NAME.replace("-", "_")
    file = "%s-%s-py3-none-any.whl" % (name, VERSION)
    info = "%s-%s.dist-info/" % (name, VERSION)
    with zipfile.ZipFile(os.path.join(directory, file), "w") as wheel:
        wheel.writestr(name + ".py", "version = %r\\ndone = %r\\n" % (VERSION, done))
        head = "Metadata-Version: 2.1\\nName: %s\\nVersion: %s\\n" % (NAME, VERSION)
        extra = "Provides-Extra: more\\n" if any("extra ==" in it for it in NEEDS) else ""
        needs = "".join("Requires-Dist: %s\\n" % it for it in NEEDS)
        wheel.writestr(info + "METADATA", head + extra + needs)
        wheel.writestr(info + "WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        wheel.writestr(info + "RECORD", "")
    return file
"""


def source(name, version="1", needs=(), requires=(), asks=(), code="", files=None, more=()):
    """Writes a source distribution with a backend of its own; `files` replace it, `more` are members of the archive."""
    head = "NAME, VERSION, NEEDS, ASKS = %r, %r, %r, %r\n" % (name, version, list(needs), list(asks))
    if files is None:
        listed = ", ".join('"%s"' % it for it in requires)
        files = {
            "pyproject.toml": "[build-system]\nrequires = [%s]\nbuild-backend = 'backend'\nbackend-path = ['.']\n" % listed,
            "backend.py": ATTEMPTS + head + BACKEND + code,
        }
    with tarfile.open(os.path.join(place, "%s-%s.tar.gz" % (name, version)), "w:gz") as archive:
        for path, text in files.items():
            member = tarfile.TarInfo("%s-%s/%s" % (name, version, path))
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text.encode()))
        for member in more:
            archive.addfile(member, io.BytesIO(b"x" * member.size))


def wheel(name, version="1", files=(), needs=()):
    info = "%s-%s.dist-info/" % (name, version)
    with zipfile.ZipFile(os.path.join(place, "%s-%s-py3-none-any.whl" % (name, version)), "w") as file:
        for path, text in dict(files).items():
            file.writestr(path, text)
        head = "Metadata-Version: 2.1\nName: %s\nVersion: %s\n" % (name, version)
        file.writestr(info + "METADATA", head + "".join("Requires-Dist: %s\n" % it for it in needs))
        file.writestr(info + "WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        file.writestr(info + "RECORD", "")


def member(name, kind=tarfile.REGTYPE, target=""):
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    info.size = 1 if kind == tarfile.REGTYPE else 0
    return info


# Packages that depend on each other, in two versions, with an extra and a marker.
source("first", "1")
source("first", "2", needs=["second<2", "absent; python_version < '3'", "third; extra == 'more'"])
source("second", "1", needs=["first"])
source("second", "2")
wheel("third", files={"third.py": "done = []\n"})

# What a build needs: a wheel, a source distribution, and what the backend asks for.
source("built", requires=["tool"], asks=["asked"], code="import tool\ndef imports():\n    import asked\n"
       "old = build_wheel\ndef build_wheel(*args):\n    imports()\n    return old(*args)\n")
source("tool", requires=["helper"], code="import helper\n")
wheel("helper", files={"helper.py": ""})
wheel("asked", files={"asked.py": ""})

# A package with setup.py only. This stands in for setuptools, which runs it in the directory of the package.
source("legacy", files={"setup.py": "NAME, VERSION, NEEDS, ASKS = 'legacy', '1', [], []\n" + ATTEMPTS})
wheel("setuptools", "99", files={
    "setuptools/__init__.py": "",
    "setuptools/build_meta.py": "import os\nexec(open('setup.py').read())\n" + BACKEND + "import sys\n__legacy__ = sys.modules[__name__]\n",
})

# Builds that do not work.
source("failing", code="def build_wheel(*args):\n    print('before')\n    raise ValueError('no compiler here')\n")
source("linking", code="def build_wheel(directory, *args):\n    os.symlink(%r, os.path.join(directory, 'linking-1-py3-none-any.whl'))\n" % secret)
source("moving", code="def build_wheel(directory, *args):\n    os.rmdir(directory)\n    os.symlink(%r, directory)\n" % place)
source("renamed", code="NAME = 'other'\n")
source("endless", code="def build_wheel(*args):\n    while True:\n        __import__('time').sleep(1)\n")
source("options", requires=["--index-url http://127.0.0.1:%s/" % port])
source("cycle", requires=["circle"])
source("circle", requires=["cycle"])
source("forging", code="def build_wheel(*args):\n    print('evaluator-build-requires [\"/etc/passwd\"]')\n    sys.exit(0)\n")
wheel("pointing", needs=["pointed @ file://%s/failing-1.tar.gz" % place, "first"])

wheel("cloned", needs=["repository @ git+http://127.0.0.1:%s/x.git" % port])
wheel("beside", needs=["directory @ file://%s" % place])

# Archives that reach out of their directory.
source("upward", more=[member("../../../../../../../../../.." + beside)])
source("absolute", more=[member(beside)])
source("linked", more=[
    member("linked-1/link", tarfile.SYMTYPE, os.path.dirname(beside)),
    member("linked-1/link/" + os.path.basename(beside)),
])

with open(os.path.join(place, "second-2.tar.gz"), "rb") as file:
    print(hashlib.sha256(file.read()).hexdigest(), end="")
