//! The command line that starts a program contained: [`wrap`].

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
};

use crate::{
    order::{HIDDEN_ARGUMENT, Order},
    plan::{Guarded, Plan, is_path},
    policy::Policy,
    refusal::{Refusal, RefusalKind},
};

/// The command to start in place of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrapped {
    /// The executable of this process, named so that only this process can start it. It can be started when its file was
    /// replaced or removed meanwhile.
    pub program: PathBuf,
    /// Its arguments: the hidden one, what to do as JSON, `--`, the program and its arguments.
    pub args: Vec<OsString>,
}

/// The executable of the process that opens it. A child is still that executable when it starts another one.
const RUNNING: &str = "/proc/self/exe";

/// Longest argument that the kernel takes, without the final NUL.
const LONGEST_ARGUMENT: usize = (128 << 10) - 1;

/// Returns the command that starts `program` with `args`, contained as the policy demands.
///
/// Environment, standard streams, process group and exit status are those of the program, so it can be supervised as if
/// it were started directly. It ends when this process ends, however that happens. Start the command as leader of a
/// process group, and kill the group when it has exited: at the partial level that ends its descendants.
///
/// A program without `/` in its name is looked up on `PATH` inside the sandbox. Without `cwd` it starts in its temporary
/// directory. Whether this machine can do it is answered by [`crate::support`].
///
/// # Errors
///
/// The policy is invalid or would show too much, [`crate::run_if_helper`] was not called, or this is not Linux on x86_64
/// or aarch64.
pub fn wrap(
    policy: &Policy,
    program: &Path,
    args: &[OsString],
    cwd: Option<&Path>,
) -> Result<Wrapped, Refusal> {
    check_helper()?;
    let cwd = cwd.map(absolute).transpose()?;
    let program = if is_path(program) {
        match &cwd {
            Some(cwd) => cwd.join(program),
            None => absolute(program)?,
        }
    } else {
        program.to_owned()
    };
    let plan = Plan::new(policy, &program, cwd.as_deref(), &Guarded::from_env())?;
    let mut wrapped = command(&Order::new(policy, plan))?;
    wrapped.args.push("--".into());
    wrapped.args.push(program.into());
    wrapped.args.extend_from_slice(args);
    Ok(wrapped)
}

/// The command of the helper without `--` and what follows.
pub(crate) fn command(order: &Order) -> Result<Wrapped, Refusal> {
    let json = serde_json::to_string(order).map_err(|error| Refusal::policy(error.to_string()))?;
    if json.len() > LONGEST_ARGUMENT {
        return Err(Refusal::policy(format!(
            "the paths that are visible in the sandbox have {} bytes together; the limit is {LONGEST_ARGUMENT}; name \
             directories instead of the files in them",
            json.len()
        )));
    }
    Ok(Wrapped { program: RUNNING.into(), args: vec![HIDDEN_ARGUMENT.into(), json.into()] })
}

fn absolute(path: &Path) -> Result<PathBuf, Refusal> {
    std::path::absolute(path)
        .map_err(|error| Refusal::policy(format!("{}: {error}", path.display())))
}

/// True once [`crate::run_if_helper`] has returned, so that the command of the helper does not start this program again.
static ASKED: AtomicBool = AtomicBool::new(false);

pub(crate) fn mark_asked() {
    ASKED.store(true, Ordering::Relaxed);
}

pub(crate) fn check_helper() -> Result<(), Refusal> {
    let is_known = cfg!(any(target_arch = "x86_64", target_arch = "aarch64"));
    if !cfg!(target_os = "linux") || !is_known {
        let text = "the sandbox contains programs on Linux only, on x86_64 and aarch64; use `executor: docker`";
        return Err(Refusal::new(RefusalKind::Platform, text));
    }
    if ASKED.load(Ordering::Relaxed) {
        return Ok(());
    }
    let text = "this program cannot start a sandbox: `evaluator_sandbox::run_if_helper()` has to be called first in \
                its `main`";
    Err(Refusal::new(RefusalKind::NoHelper, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_that_would_start_themselves_instead_of_the_helper_are_refused() {
        // The test harness does not call `run_if_helper`.
        let refusal = wrap(&Policy::default(), "true".as_ref(), &[], None).unwrap_err();
        let known =
            cfg!(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")));
        let expected = if known { RefusalKind::NoHelper } else { RefusalKind::Platform };
        assert_eq!(refusal.kind(), expected, "{refusal}");
        assert_eq!(crate::support(crate::Level::Full).unwrap_err(), refusal);
    }
}
