//! The process that becomes the program: gives up everything that the program must not have.

use std::{
    ffi::OsString,
    io::{self, Write},
    os::unix::process::CommandExt,
    path::Path,
    process::Command,
};

use rustix::{
    fs::Mode,
    process::{Resource, Rlimit, chdir, getrlimit, setrlimit, umask},
};

use super::{report::fail, root::open_path};
use crate::{
    filter::{self, Network, Rules},
    order::{During, Failure, Order, Step},
    os::{self, Ruleset, landlock_abi, right},
    plan::{Mount, MountKind},
    policy::{Level, Policy},
};

/// The oldest version of Landlock's interface that restricts truncation and renaming as needed.
const OLDEST_ABI: u32 = 3;

/// From this version on, signals and abstract Unix sockets stay inside.
const SCOPES_ABI: u32 = 6;

/// Processes of the helper that count as those of the user in the sandbox: outer and init.
const HELPERS: u64 = 2;

/// Files of `/proc` that runtimes read, for the partial level.
const PROC_FILES: &[&str] =
    &["/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/sys/vm/overcommit_memory"];

const READ: u64 = right::READ_FILE | right::READ_DIR | right::EXECUTE;
const WRITE: u64 = !(right::MAKE_CHAR | right::MAKE_BLOCK | right::IOCTL_DEVICE);
const DEVICE: u64 = right::READ_FILE | right::WRITE_FILE | right::TRUNCATE;

/// The program to become.
#[derive(Debug)]
pub(super) struct Start {
    pub(super) program: OsString,
    pub(super) args: Vec<OsString>,
}

impl Start {
    /// Becomes the program. `tmp` is the temporary directory, if it is not `/tmp`.
    pub(super) fn run(&self, order: &Order, tmp: Option<&Path>) -> ! {
        let failure = match self.become_program(order, tmp) {
            Ok(never) => match never {},
            Err(failure) => failure,
        };
        fail(&failure, order.is_check)
    }

    #[expect(clippy::disallowed_methods, reason = "this process becomes the contained program")]
    fn become_program(
        &self,
        order: &Order,
        tmp: Option<&Path>,
    ) -> Result<std::convert::Infallible, Failure> {
        let mut command = Command::new(&self.program);
        command.args(&self.args);
        let mut cwd = order.plan.cwd.as_path();
        if let Some(tmp) = tmp {
            command.env("TMPDIR", tmp);
            if cwd == Path::new("/tmp") {
                cwd = tmp;
            }
        }
        chdir(cwd).during(Step::Mounts, || format!("enter {}", cwd.display()))?;
        let policy = &order.policy;
        umask(Mode::from_raw_mode(0o077));
        os::close_at_exec().during(Step::Limits, || "close files".to_owned())?;
        rustix::thread::set_no_new_privs(true)
            .during(Step::Limits, || "give up privileges".to_owned())?;
        os::drop_capabilities().during(Step::Limits, || "drop capabilities".to_owned())?;
        let abi = restrict(order, tmp)?;
        os::reset_signals().during(Step::Process, || "reset its signals".to_owned())?;
        let unix = match policy.level {
            // Without network there is no other end.
            Level::Full => !policy.network || abi.is_some_and(|abi| abi >= SCOPES_ABI),
            Level::Partial => false,
        };
        let partial = policy.level == Level::Partial;
        let network = match (policy.network, &policy.listener) {
            (true, _) => Network::Full,
            (false, Some(_)) => Network::Listener,
            (false, None) => Network::None,
        };
        let rules = Rules { network, unix, partial };
        os::install_filter(&filter::program(rules))
            .during(Step::Filter, || "install the filter of system calls".to_owned())?;
        // Last: they are for the program, and may leave too little for the steps above.
        limit(policy).during(Step::Limits, || "set limits".to_owned())?;
        if order.is_check {
            let report = serde_json::json!({"landlock_abi": abi});
            let _ = writeln!(io::stdout(), "{report}");
            os::exit(0);
        }
        let program = Path::new(&self.program).display();
        Err(command.exec()).during(Step::Program, || format!("start {program}"))
    }
}

/// Sets the limits of this process, which are those of each descendant.
fn limit(policy: &Policy) -> io::Result<()> {
    let limits = &policy.limits;
    let set = |resource, soft: u64, hard: u64| {
        let maximum = getrlimit(resource).maximum.unwrap_or(u64::MAX);
        let limit = Rlimit { current: Some(soft.min(maximum)), maximum: Some(hard.min(maximum)) };
        setrlimit(resource, limit)
    };
    // Root is not limited by it. It counts the processes of a user in this user namespace, if there is one.
    if policy.level == Level::Full {
        let processes = u64::from(policy.processes) + HELPERS;
        set(Resource::Nproc, processes, processes)?;
    }
    for (resource, limit) in [
        (Resource::Core, Some(0)),
        (Resource::Memlock, Some(0)),
        (Resource::Msgqueue, Some(0)),
        (Resource::Sigpending, Some(256)),
        (Resource::Fsize, limits.file_size),
        (Resource::Nofile, limits.open_files),
    ] {
        limit.map_or(Ok(()), |limit| set(resource, limit, limit))?;
    }
    // A program that ignores the signal is killed a second later.
    limits.cpu.map_or(Ok(()), |seconds| set(Resource::Cpu, seconds, seconds.saturating_add(1)))?;
    if let Some(bytes) = limits.memory {
        // Stacks do not count as data.
        let present = getrlimit(Resource::Stack).current.unwrap_or(u64::MAX);
        set(Resource::Stack, present.min(bytes), bytes)?;
        set(Resource::Data, bytes, bytes)?;
    }
    Ok(())
}

/// Restricts this process by Landlock; returns the version of the interface, `None` if it is not used.
fn restrict(order: &Order, tmp: Option<&Path>) -> Result<Option<u32>, Failure> {
    let partial = order.policy.level == Level::Partial;
    let action = || "restrict itself with Landlock".to_owned();
    let abi = match landlock_abi() {
        Ok(abi) if abi >= OLDEST_ABI && (!partial || abi >= SCOPES_ABI) => abi,
        Ok(abi) if partial => {
            let error = io::Error::other(format!("the kernel has version {abi} of its interface"));
            return Err(Failure::new(Step::Landlock, action(), &error));
        }
        Err(error) if partial => return Err(Failure::new(Step::Landlock, action(), &error)),
        _ => return Ok(None),
    };
    let port = order.policy.listener.as_ref().map(|listener| listener.port);
    let rules = Ruleset::new(abi, port).during(Step::Landlock, action)?;
    let permit = |path: &Path, rights: u64| {
        let path = open_path(path)?;
        let kind = rustix::fs::FileType::from_raw_mode(rustix::fs::fstat(&path)?.st_mode);
        rules.permit(&path, if kind.is_dir() { rights } else { rights & right::OF_FILES })
    };
    let mut paths = permitted(&order.plan.mounts, partial);
    paths.extend(tmp.map(|tmp| (tmp, WRITE)));
    for (path, rights) in paths {
        permit(path, rights)
            .during(Step::Landlock, || format!("permit {} with Landlock", path.display()))?;
    }
    rules.restrict().during(Step::Landlock, action)?;
    Ok(Some(abi))
}

/// Paths with their rights.
///
/// At the full level the root directory holds nothing else, so all of it can be read. The rule is bound to this directory:
/// it permits nothing of the root directory outside.
fn permitted(mounts: &[Mount], partial: bool) -> Vec<(&Path, u64)> {
    let mut paths: Vec<(&Path, u64)> = Vec::new();
    for mount in mounts {
        match mount.kind {
            MountKind::Read if partial => paths.push((&mount.path, READ)),
            MountKind::Write => paths.push((&mount.path, WRITE)),
            _ => {}
        }
    }
    if partial {
        let existing = PROC_FILES.iter().map(Path::new).filter(|path| path.exists());
        paths.extend(existing.map(|path| (path, READ)));
        let devices = ["/dev/null", "/dev/full", "/dev/random", "/dev/urandom"];
        paths.extend(devices.map(|path| (Path::new(path), DEVICE)));
        // A shared mapping of it that can be written to is memory that no limit counts.
        paths.push((Path::new("/dev/zero"), READ));
    } else {
        paths.extend([
            (Path::new("/"), READ),
            (Path::new("/tmp"), WRITE),
            (Path::new("/dev/shm"), WRITE),
            (Path::new("/dev"), DEVICE),
        ]);
    }
    paths
}
