//! Arguments that take rights away from a container.

use std::{env, ffi::OsString, path::Path};

use super::guard::Mount;
use crate::executor::{CONTAINED_MEMORY, Containment, MAX_FILE_SIZE};
use crate::process::{CommandSpec, Resources};

/// Limit where the entry sets none.
const OPEN_FILES: u64 = 1024;

/// The temporary directory, and the value of `HOME`.
pub(super) const TMP: &str = "/tmp";

/// Returns the arguments that are the same for every container with these settings and limits.
pub(super) fn hardening(containment: &Containment, resources: &Resources) -> Vec<OsString> {
    let Containment { network, tmp, processes, .. } = containment;
    let memory = resources.memory.unwrap_or(CONTAINED_MEMORY);
    let files = resources.open_files.unwrap_or(OPEN_FILES);
    let mut args: Vec<OsString> = [
        "--rm",
        "--interactive",
        "--pull=never",
        // Else the engine writes every answer to its disk.
        "--log-driver=none",
        // Process 1 of a container ignores most signals, also those that a program sends itself.
        "--init",
        "--read-only",
        "--cap-drop=ALL",
        "--security-opt=no-new-privileges",
        "--cpus=1",
        "--ulimit=core=0",
        // Default of most systems, and a bound that the program cannot raise.
        "--ulimit=stack=8388608:67108864",
    ]
    .map(OsString::from)
    .into();
    let limits = [
        format!("--user={}", user()),
        format!("--memory={memory}"),
        // With swap, thus none.
        format!("--memory-swap={memory}"),
        // The init is a process, too.
        format!("--pids-limit={}", processes.saturating_add(1)),
        format!("--shm-size={tmp}"),
        format!("--ulimit=nofile={files}:{files}"),
        format!("--ulimit=fsize={MAX_FILE_SIZE}:{MAX_FILE_SIZE}"),
    ];
    args.extend(limits.map(OsString::from));
    if let Some(cpu) = resources.cpu {
        args.push(format!("--ulimit=cpu={cpu}:{}", cpu.saturating_add(1)).into());
    }
    if !network {
        args.push("--network=none".into());
    }
    args
}

/// User and group in the container: nobody instead of root, because root owns the files of the image.
#[cfg(unix)]
fn user() -> String {
    let (user, group) = (rustix::process::getuid(), rustix::process::getgid());
    if user.is_root() { nobody() } else { format!("{}:{}", user.as_raw(), group.as_raw()) }
}

#[cfg(not(unix))]
fn user() -> String {
    nobody()
}

fn nobody() -> String {
    "65534:65534".to_owned()
}

/// The working directory: the same as without a container if it is visible there.
pub(super) fn directory(command: &CommandSpec, mounts: &[Mount]) -> OsString {
    let here = command.cwd.clone().or_else(|| {
        let here = env::current_dir().ok()?;
        mounts.iter().any(|mount| here.starts_with(&mount.path)).then_some(here)
    });
    let mut argument = OsString::from("--workdir=");
    argument.push(here.as_deref().unwrap_or(Path::new(TMP)));
    argument
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(containment: &Containment, resources: Resources) -> Vec<String> {
        let args = hardening(containment, &resources);
        args.into_iter().map(|arg| arg.into_string().unwrap()).collect()
    }

    #[test]
    fn nothing_that_contains_a_program_is_left_out() {
        let args = shown(&Containment::default(), Resources::default());
        for expected in [
            "--rm",
            "--pull=never",
            "--network=none",
            "--read-only",
            "--cap-drop=ALL",
            "--security-opt=no-new-privileges",
            "--pids-limit=65",
            "--memory=1073741824",
            "--memory-swap=1073741824",
            "--ulimit=nofile=1024:1024",
        ] {
            assert!(args.iter().any(|arg| arg == expected), "{expected}: {args:?}");
        }
        let is_open = |arg: &&String| arg.contains("privileged") || arg.contains("host");
        assert_eq!(args.iter().find(is_open).map(String::as_str), None);
        assert!(!args.iter().any(|arg| arg.starts_with("--user=0")), "{args:?}");
    }

    #[test]
    fn settings_and_limits_of_the_entry_apply() {
        let containment =
            Containment { network: true, processes: 7, tmp: 4096, ..Containment::default() };
        let limits = Resources { memory: Some(9 << 20), cpu: Some(3), open_files: Some(20) };
        let args = shown(&containment, limits);
        for expected in [
            "--pids-limit=8",
            "--memory=9437184",
            "--shm-size=4096",
            "--ulimit=cpu=3:4",
            "--ulimit=nofile=20:20",
        ] {
            assert!(args.iter().any(|arg| arg == expected), "{expected}: {args:?}");
        }
        assert!(!args.iter().any(|arg| arg.starts_with("--network")), "{args:?}");
    }
}
