//! The root directory of the full level.
//!
//! All sources are copied as detached mounts first, and attached then: mounts such as `/tmp` would hide sources below them.

use std::{
    ffi::CStr,
    fs, io,
    os::{fd::OwnedFd, unix::fs::symlink},
    path::Path,
};

use rustix::{
    fs::{CWD, Mode, OFlags, ResolveFlags, openat2},
    io::Errno,
    mount::{
        MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags, mount,
        mount_bind, mount_change, move_mount, open_tree, unmount,
    },
    process::{geteuid, pivot_root, umask},
    system::{setdomainname, sethostname},
};

use crate::{
    order::{During, Failure, Order, Step},
    os::{MountAttributes, set_mount_attributes},
    plan::{Mount, MountKind},
};

/// Where the new root directory is made: it exists everywhere, and is hidden only in this process.
const NEW_ROOT: &str = "/usr";

/// Names of devices below `/dev`, and what they are outside. Memory that is mapped from `zero` is shared and not limited;
/// `full` reads the same and cannot be mapped.
const DEVICES: [(&str, &str); 5] = [
    ("null", "/dev/null"),
    ("zero", "/dev/full"),
    ("full", "/dev/full"),
    ("random", "/dev/random"),
    ("urandom", "/dev/urandom"),
];

/// Inodes of the temporary directory, and of shared memory: names of files use memory, too.
const TMP_INODES: u32 = 16 << 10;
const SHARED_INODES: u32 = 1 << 10;

/// Files of `/proc` about the machine instead of the processes of the sandbox. Root can read all of them.
const MACHINE_FILES: [&str; 20] = [
    "buddyinfo",
    "cmdline",
    "config.gz",
    "diskstats",
    "interrupts",
    "iomem",
    "ioports",
    "kcore",
    "key-users",
    "keys",
    "kpagecgroup",
    "kpagecount",
    "kpageflags",
    "latency_stats",
    "pagetypeinfo",
    "sched_debug",
    "slabinfo",
    "timer_list",
    "vmallocinfo",
    "zoneinfo",
];

/// Host name inside: every machine resolves it.
const HOST_NAME: &[u8] = b"localhost";

/// Makes the directories that the plan shows, and makes them everything that this process sees.
pub(super) fn enter(order: &Order) -> Result<(), Failure> {
    let step = Step::Mounts;
    sethostname(HOST_NAME)
        .and_then(|()| setdomainname(b"(none)"))
        .during(Step::Process, || "replace the host name".to_owned())?;
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)
        .during(step, || "separate its mounts".to_owned())?;
    let copies = order.plan.mounts.iter().map(copy).collect::<Result<Vec<_>, _>>()?;
    let devices = DEVICES.iter().map(copy_device).collect::<Result<Vec<_>, _>>()?;
    let mut mounts: Vec<_> = order.plan.mounts.iter().zip(copies).collect();
    let root = match mounts.first() {
        Some((mount, Some(_))) if mount.path == Path::new("/") => mounts.remove(0).1,
        _ => None,
    };
    umask(Mode::from_raw_mode(0o022));
    match &root {
        Some(root) => attach(root, NEW_ROOT),
        None => temporary(NEW_ROOT, "mode=755,size=1m,nr_inodes=64k"),
    }
    .during(step, || "make the root directory".to_owned())?;
    rustix::process::chdir(NEW_ROOT).during(step, || "enter the root directory".to_owned())?;
    let size = order.policy.tmp;
    let tmp = format!("mode=1777,size={size},nr_inodes={TMP_INODES}");
    make_directory(Path::new("tmp"))
        .and_then(|()| temporary("tmp", &tmp))
        .during(step, || "make /tmp".to_owned())?;
    make_devices(&devices, size).during(step, || "make /dev".to_owned())?;
    for (mount, copy) in &mounts {
        show(mount, copy.as_ref()).during(step, || format!("show {}", mount.path.display()))?;
    }
    make_proc(order.policy.processes)?;
    for path in [".", "dev", "proc"] {
        let action = || format!("protect /{}", path.trim_matches('.'));
        open_path(path)
            .and_then(|mount| set_mount_attributes(mount, MountAttributes::NO_WRITES, false))
            .during(Step::Attributes, action)?;
    }
    pivot_root(".", ".").during(step, || "change the root directory".to_owned())?;
    unmount(".", UnmountFlags::DETACH)
        .during(step, || "leave the old root directory".to_owned())?;
    rustix::process::chdir("/").during(step, || "enter the root directory".to_owned())
}

/// The path inside of the new root directory, which is the working directory.
fn inside(path: &Path) -> &Path {
    match path.strip_prefix("/") {
        Ok(inside) if inside != Path::new("") => inside,
        _ => Path::new("."),
    }
}

/// Opens a path that has no links.
pub(super) fn open_path(path: impl rustix::path::Arg) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    // Links were followed when the plan was made; what has become a link since then is an error.
    Ok(openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)?)
}

/// A copy of what is mounted at this path and below it, which is attached nowhere.
fn detach(path: impl rustix::path::Arg) -> io::Result<OwnedFd> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE
        | OpenTreeFlags::AT_EMPTY_PATH;
    Ok(open_tree(open_path(path)?, "", flags)?)
}

fn copy(mount: &Mount) -> Result<Option<OwnedFd>, Failure> {
    let attributes = match mount.kind {
        MountKind::Read => MountAttributes::READ_ONLY,
        MountKind::Write => MountAttributes::WRITABLE,
        MountKind::Directory | MountKind::Link(_) => return Ok(None),
    };
    let path = &mount.path;
    let copy = detach(path).during(Step::Mounts, || format!("open {}", path.display()))?;
    set_mount_attributes(&copy, attributes, true)
        .during(Step::Attributes, || format!("protect {}", path.display()))?;
    Ok(Some(copy))
}

fn copy_device((name, path): &(&'static str, &str)) -> Result<(&'static str, OwnedFd), Failure> {
    let copy = detach(*path).during(Step::Mounts, || format!("open {path}"))?;
    set_mount_attributes(&copy, MountAttributes::DEVICE, false)
        .during(Step::Attributes, || format!("protect {path}"))?;
    Ok((name, copy))
}

fn attach(copy: &OwnedFd, path: impl rustix::path::Arg) -> io::Result<()> {
    Ok(move_mount(copy, "", CWD, path, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)?)
}

/// Mounts a file system in memory.
fn temporary(path: &str, options: &str) -> io::Result<()> {
    let options = std::ffi::CString::new(options)?;
    Ok(mount("tmpfs", path, "tmpfs", MountFlags::NOSUID | MountFlags::NODEV, &*options)?)
}

fn make_directory(path: &Path) -> io::Result<()> {
    // Where the root directory is the one from outside, it cannot be written to, and has them.
    if path.is_dir() { Ok(()) } else { fs::create_dir_all(path) }
}

fn show(mount: &Mount, copy: Option<&OwnedFd>) -> io::Result<()> {
    let path = inside(&mount.path);
    let parent = path.parent().filter(|parent| *parent != Path::new(""));
    match (&mount.kind, copy) {
        (MountKind::Link(target), _) => {
            parent.map_or(Ok(()), make_directory)?;
            symlink(target, path)
        }
        (_, Some(copy)) => {
            if rustix::fs::FileType::from_raw_mode(rustix::fs::fstat(copy)?.st_mode).is_dir() {
                make_directory(path)?;
            } else if !path.exists() {
                parent.map_or(Ok(()), make_directory)?;
                fs::File::create_new(path)?;
            }
            attach(copy, path)
        }
        (_, None) => make_directory(path),
    }
}

fn make_devices(devices: &[(&str, OwnedFd)], shared: u64) -> io::Result<()> {
    make_directory(Path::new("dev"))?;
    temporary("dev", "mode=755,size=64k,nr_inodes=64")?;
    for (name, copy) in devices {
        let path = format!("dev/{name}");
        fs::File::create_new(&path)?;
        attach(copy, &path)?;
    }
    for (name, target) in [("fd", ""), ("stdin", "/0"), ("stdout", "/1"), ("stderr", "/2")] {
        symlink(format!("/proc/self/fd{target}"), format!("dev/{name}"))?;
    }
    fs::create_dir("dev/shm")?;
    temporary("dev/shm", &format!("mode=1777,size={shared},nr_inodes={SHARED_INODES}"))
}

/// Hides processes that this one may not trace. The older 2 shows them to members of group 0.
const HIDE_OTHERS: &CStr = c"hidepid=4";

/// Mounts a `/proc` that shows the processes of this sandbox only, and without the helper's for the program.
fn make_proc(processes: u32) -> Result<(), Failure> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    make_directory(Path::new("proc"))
        .and_then(|()| Ok(mount("proc", "proc", "proc", flags, HIDE_OTHERS)?))
        .during(Step::Proc, || "mount /proc".to_owned())?;
    for name in MACHINE_FILES {
        hide(name).during(Step::Proc, || format!("hide /proc/{name}"))?;
    }
    if geteuid().is_root() && has_own_ids() {
        limit_ids(processes).during(Step::Limits, || "limit the number of processes".to_owned())?;
    }
    Ok(())
}

/// Covers a file of `/proc`, if the kernel has it, by the device that is empty.
fn hide(name: &str) -> io::Result<()> {
    match mount_bind("dev/null", format!("proc/{name}")) {
        Err(Errno::NOENT) | Ok(()) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Ids that the kernel gives out only once, and not again after the highest one was reached.
const RESERVED_IDS: u32 = 300;

/// The highest id that the kernel knows.
const HIGHEST_ID: u32 = 1 << 22;

/// Limits the ids of processes and threads, for root: `RLIMIT_NPROC` does not limit root.
///
/// The last id is set behind the reserved ones. Otherwise programs would have those in addition at first, and lack them
/// later.
fn limit_ids(processes: u32) -> io::Result<()> {
    match fs::write("proc/sys/kernel/ns_last_pid", RESERVED_IDS.to_string()) {
        // A kernel without checkpoints has no such file.
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let end = RESERVED_IDS.saturating_add(processes).min(HIGHEST_ID);
    fs::write("proc/sys/kernel/pid_max", end.to_string())
}

/// Returns true if a PID namespace has its own highest id (Linux 6.14). Before, there is only that of the whole machine.
fn has_own_ids() -> bool {
    let system = rustix::system::uname();
    let release = system.release().to_string_lossy().into_owned();
    let mut numbers = release.split(['.', '-']).map_while(|part| part.parse::<u32>().ok());
    (numbers.next(), numbers.next()) >= (Some(6), Some(14))
}
