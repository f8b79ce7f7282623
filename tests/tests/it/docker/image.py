"""Writes the file system of a test image to standard output, as a tar archive.

It has busybox, and the Python, the Node.js and the C library of this machine, so nothing is downloaded. Arguments: programs whose
libraries it needs, too.
"""
import os, re, shutil, subprocess, sys, sysconfig, tarfile

image = tarfile.open(fileobj=sys.stdout.buffer, mode="w|")
known = set()


def entry(path, kind, mode=0o755, link=""):
    if path not in known:
        known.add(path)
        info = tarfile.TarInfo(path.lstrip("/"))
        info.type, info.mode, info.linkname = kind, mode, link
        image.addfile(info)


def directory(path, mode=0o755):
    if path not in ("/", ""):
        directory(os.path.dirname(path))
        entry(path, tarfile.DIRTYPE, mode)


def file(path, name=None):
    """Adds the content of a file. Links are followed, so an image needs none of the links of this machine."""
    name = name or path
    if name not in known:
        directory(os.path.dirname(name))
        known.add(name)
        info = image.gettarinfo(os.path.realpath(path), arcname=name.lstrip("/"))
        info.mode, info.type, info.linkname = 0o755, tarfile.REGTYPE, ""
        with open(path, "rb") as content:
            info.size = os.fstat(content.fileno()).st_size
            image.addfile(info, content)


def libraries(program):
    listed = subprocess.run(["ldd", program], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, universal_newlines=True).stdout
    for path in re.findall(r"(/\S+) \(0x", listed):
        file(path)


def program(path):
    file(path)
    libraries(path)


for path in ("/proc", "/dev", "/sys", "/run", "/var/tmp", "/home", "/root"):
    directory(path)
directory("/tmp", 0o1777)
for path in ("/etc/passwd", "/etc/group", "/etc/localtime"):
    if os.path.exists(path):
        file(path)

busybox = shutil.which("busybox")
program(busybox)
for name in subprocess.run([busybox, "--list"], stdout=subprocess.PIPE, universal_newlines=True).stdout.split():
    if name != "busybox":
        entry("/bin/" + name, tarfile.SYMTYPE, link=busybox)

python = os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable)
program(python)
directory("/usr/local/bin")
entry("/usr/local/bin/python3", tarfile.SYMTYPE, link=python)
unused = {"site-packages", "dist-packages", "test", "tests", "idlelib", "__pycache__", "ensurepip", "tkinter"}
for root in {sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib"), sysconfig.get_config_var("DESTSHARED")}:
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if name not in unused and not name.startswith("config-")]
        for name in files:
            path = os.path.join(folder, name)
            if os.path.isfile(path):
                file(path)
                if ".so" in name:
                    libraries(path)

if shutil.which("node"):
    asked = subprocess.run(["node", "-p", "process.execPath"], stdout=subprocess.PIPE, universal_newlines=True)
    node = os.path.realpath(asked.stdout.strip())
    # It may be below /tmp, which containers have of their own.
    file(node, "/usr/local/bin/node")
    libraries(node)
    for path in ("/usr/lib/ssl/openssl.cnf", "/etc/ssl/openssl.cnf"):
        if os.path.exists(path):
            file(path)

for path in sys.argv[1:]:
    libraries(path)
image.close()
