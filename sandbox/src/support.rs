//! Whether this machine can contain programs: [`support`].

use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use crate::{command::check_helper, policy::Level, refusal::Refusal};

/// Features of this machine that contain a program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Support {
    /// The level that was tried.
    pub level: Level,
    /// Names of the namespaces: `user`, `mount`, `pid`, `net`, `ipc`, `uts`, `cgroup`; none at the partial level.
    pub namespaces: Vec<String>,
    /// Version of Landlock's interface; `None` if it is not used (full level only).
    pub landlock_abi: Option<u32>,
}

/// Returns what contains programs at this level, after doing it once in a process of its own. Later calls return the same.
///
/// # Errors
///
/// A feature is missing; the message has the cure. Another level never replaces the one that was asked for.
pub fn support(level: Level) -> Result<&'static Support, Refusal> {
    static KNOWN: [OnceLock<Result<Support, Refusal>>; 2] = [OnceLock::new(), OnceLock::new()];
    check_helper()?;
    let known = &KNOWN[usize::from(level == Level::Partial)];
    known.get_or_init(|| check(level)).as_ref().map_err(Clone::clone)
}

#[cfg(not(target_os = "linux"))]
fn check(level: Level) -> Result<Support, Refusal> {
    unreachable!("no helper on this system for {level:?}")
}

#[cfg(target_os = "linux")]
fn check(level: Level) -> Result<Support, Refusal> {
    use crate::{
        command::command,
        order::{Failure, Order},
        plan::{Guarded, Plan},
        policy::Policy,
        refusal::RefusalKind,
    };

    /// Report of a helper that succeeds.
    #[derive(Deserialize)]
    struct Checked {
        landlock_abi: Option<u32>,
    }

    let policy = Policy { level, ..Policy::default() };
    let plan = Plan::new(&policy, "".as_ref(), None, &Guarded::default())?;
    let order = Order { is_check: true, ..Order::new(&policy, plan) };
    let wrapped = command(&order)?;
    let failed = |text: String| Refusal::new(RefusalKind::Other, format!("the sandbox: {text}"));
    #[expect(clippy::disallowed_methods, reason = "the check is done by the helper itself")]
    let mut command = std::process::Command::new(wrapped.program);
    // It ends within milliseconds, and nothing else holds the pipe.
    let output = command.args(wrapped.args).stdin(std::process::Stdio::null()).output();
    let output =
        output.map_err(|error| failed(format!("its helper cannot be started: {error}")))?;
    if output.status.success() {
        let checked: Checked = serde_json::from_slice(&output.stdout)
            .map_err(|error| failed(format!("its helper reported nonsense: {error}")))?;
        let all = ["user", "mount", "pid", "net", "ipc", "uts", "cgroup"].map(str::to_owned);
        let namespaces = if level == Level::Full { all.to_vec() } else { Vec::new() };
        return Ok(Support { level, namespaces, landlock_abi: checked.landlock_abi });
    }
    match serde_json::from_slice::<Failure>(&output.stdout) {
        Ok(failure) => Err(causes::refusal(&failure)),
        Err(_) => Err(failed(format!("its helper ended without a report ({})", output.status))),
    }
}

#[cfg(target_os = "linux")]
mod causes {
    //! Finds out why the helper failed.

    use std::{fs, path::Path};

    use crate::{
        order::{Failure, Step},
        refusal::{Refusal, RefusalKind},
    };

    /// The refusal for a failure of the check.
    pub(super) fn refusal(failure: &Failure) -> Refusal {
        let is_missing = failure.errno == Some(libc::ENOSYS);
        let (kind, cause) = match failure.step {
            Step::Namespaces if failure.errno == Some(libc::EINVAL) => {
                (RefusalKind::Kernel, "the kernel lacks a kind of namespace; use another kernel or `executor: docker`".to_owned())
            }
            Step::Namespaces | Step::Identity => (RefusalKind::UserNamespaces, user_namespaces()),
            Step::Attributes | Step::Mounts if is_missing => (
                RefusalKind::Kernel,
                "the full level needs Linux 5.12 or later; update the kernel, or use `executor: docker`".to_owned(),
            ),
            // Filters of containers answer either way for calls that they do not permit.
            Step::Process if is_missing || is_denied(failure) => (
                RefusalKind::Kernel,
                "the kernel, or a filter of this container, lacks a system call that the sandbox needs; use Linux 5.12 or \
                 later and permit the call, or use `executor: docker`"
                    .to_owned(),
            ),
            Step::Proc => (
                RefusalKind::Proc,
                format!("a new /proc cannot be mounted, as in containers that hide parts of it; {ALTERNATIVES}"),
            ),
            // Namespaces were made, and permit nothing in them.
            Step::Mounts | Step::Attributes if is_denied(failure) => {
                (RefusalKind::UserNamespaces, user_namespaces())
            }
            Step::Landlock => (RefusalKind::Landlock, landlock(failure)),
            Step::Filter => (
                RefusalKind::Filter,
                "system call filters are refused; the kernel needs CONFIG_SECCOMP_FILTER, and a container has to permit \
                 `seccomp`"
                    .to_owned(),
            ),
            _ => (RefusalKind::Other, "this step of the check failed".to_owned()),
        };
        Refusal::new(kind, format!("{cause} ({failure})"))
    }

    fn is_denied(failure: &Failure) -> bool {
        matches!(failure.errno, Some(libc::EPERM | libc::EACCES))
    }

    const ALTERNATIVES: &str =
        "use `executor: docker` there, or write `level: partial` if the weaker level is enough";

    /// Names the switch that is set.
    fn user_namespaces() -> String {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default().trim().to_owned();
        let value = |name: &str| read(&format!("/proc/sys/{}", name.replace('.', "/")));
        for (name, refused, cure) in [
            ("user.max_user_namespaces", "0", "15000"),
            ("kernel.unprivileged_userns_clone", "0", "1"),
            ("kernel.apparmor_restrict_unprivileged_userns", "1", "0"),
        ] {
            if value(name) == refused {
                return format!(
                    "user namespaces are refused: {name}={refused}; an administrator can permit them with `sysctl -w \
                     {name}={cure}`; otherwise {ALTERNATIVES}"
                );
            }
        }
        let marks = ["/.dockerenv", "/run/.containerenv"];
        if marks.iter().any(|mark| Path::new(mark).exists()) {
            return format!("user namespaces are refused inside of this container; {ALTERNATIVES}");
        }
        format!(
            "user namespaces are refused by a limit or security module of this machine; {ALTERNATIVES}"
        )
    }

    fn landlock(failure: &Failure) -> String {
        match failure.errno {
            Some(libc::ENOSYS) => "the partial level needs Landlock, which this kernel was built without; use the full \
                                   level or `executor: docker`"
                .to_owned(),
            Some(libc::EOPNOTSUPP) => "the partial level needs Landlock, which is switched off: add `landlock` to the \
                                       kernel's parameter `lsm=`, or use the full level or `executor: docker`"
                .to_owned(),
            _ => "the partial level cannot keep the program from signalling your other processes; Landlock ABI 6 (Linux \
                  6.12) can; use the full level or `executor: docker`"
                .to_owned(),
        }
    }
}
