# Run with -I -c by the interpreter of a new virtual environment: downloads what requirements name, as `pip download` does,
# without running code of a package. The process starts no other one and unpacks no archive, so a source distribution can
# only be resolved with a wheel that was built from it elsewhere.
#
# Arguments: `-mpip` or the file `__pip-runner__.py` of a pip elsewhere, the store, `build` or `refuse`, and those of pip, of
# which the last two are `--dest` and a directory. The store has a directory for each source distribution, named after the
# hash of the archive, with the archive and the wheel. Without a wheel there, `build` leaves the hash in the file `wanted` of
# the store. With all wheels, only wheels are in the destination.
import copy, glob, hashlib, importlib, logging, os, shutil, sys

STARTS = ("subprocess.Popen", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.system", "pty.spawn")
runner, store, mode, *arguments = sys.argv[1:]


def refuse(event, args):
    if event in STARTS:
        name = os.path.basename(os.fsdecode(args[0])) if args else ""
        # The user's store of passwords, and the C library of Alpine, which is asked for its version.
        if name != "keyring" and not name.startswith("ld-musl-"):
            raise PermissionError("a download for contained evaluators must not start " + (name or event))


if not hasattr(sys, "addaudithook"):
    sys.exit("packages of contained evaluators need Python 3.8 or later, and this is Python " + sys.version.split()[0])
sys.addaudithook(refuse)

if runner != "-mpip":
    # Of that directory, only pip is seen.
    sys.path.insert(0, os.path.dirname(os.path.dirname(runner)))
    importlib.import_module("pip")
    del sys.path[0]
from pip._internal.utils import unpacking

unpacking.unpack_file = lambda *args, **options: None
from pip._internal.distributions.wheel import WheelDistribution
from pip._internal.exceptions import CommandError
from pip._internal.operations import prepare


def directory_of(archive):
    with open(archive, "rb") as file:
        return os.path.join(store, hashlib.sha256(file.read()).hexdigest())


def wheel_of(archive):
    return next(iter(glob.glob(os.path.join(glob.escape(directory_of(archive)), "*.whl"))), None)


def distribution(requirement):
    if requirement.is_wheel:
        return WheelDistribution(requirement)
    archive = requirement.local_file_path
    if not archive or not os.path.isfile(archive) or not requirement.name:
        raise CommandError("%s is not a package of an index, and cannot be downloaded without running its code" % requirement)
    name = os.path.basename(archive)
    if mode != "build":
        raise CommandError("%s is a source distribution, whose code runs when it is installed" % name)
    wheel = wheel_of(archive)
    if wheel is None:
        place = directory_of(archive)
        os.makedirs(place, exist_ok=True)
        shutil.copyfile(archive, os.path.join(place, name))
        with open(os.path.join(store, "wanted"), "w") as file:
            file.write(os.path.basename(place))
        # This is not an error.
        logging.disable(logging.CRITICAL)
        raise CommandError(name)
    built = copy.copy(requirement)
    built.local_file_path = wheel
    made = WheelDistribution(built)
    # Some versions of pip ask the requirement, too, which looks for the metadata of an unpacked archive.
    requirement.get_dist = getattr(made, "get_metadata_distribution", None)
    return made


def repository(link, *args, **options):
    raise CommandError("%s is a repository, and cannot be downloaded without running its code" % link)


prepare.make_distribution_for_install_requirement = distribution
prepare.unpack_vcs_link = repository
from pip._internal.cli.main import main

code = main(["download", *arguments])
if code == 0:
    destination = arguments[-1]
    for name in os.listdir(destination):
        archive = os.path.join(destination, name)
        if not name.endswith(".whl"):
            shutil.copy(wheel_of(archive), destination)
            os.remove(archive)
elif os.path.exists(os.path.join(store, "wanted")):
    code = 0
sys.exit(code)
