//! Kills what still runs when this process has ended without a chance to do so itself, as after `SIGKILL`.
//!
//! The guardian is a shell. It reads which process groups start and end, and kills those that are left at the end of its
//! input, which only this process can write. So it ends with this process in any case. Killing by the kernel
//! (`PR_SET_PDEATHSIG`) is bound to the thread that starts a process, and needs `fork` instead of the faster `posix_spawn`.

use std::{
    collections::BTreeSet,
    io::{self, PipeWriter, Write as _},
    os::unix::process::CommandExt as _,
    process::{Child, Command, Stdio},
    sync::{Mutex, MutexGuard, PoisonError},
};

/// The program. It ignores what ends this process, and occupies no directory.
const SCRIPT: &str = r#"trap '' HUP INT QUIT TERM
cd /
live=' '
while read -r change leader; do
    case $change in
        +) live="$live$leader " ;;
        -) live="${live%% $leader *} ${live#* $leader }" ;;
    esac
done
for leader in $live; do kill -KILL "-$leader"; done"#;

static GUARDIAN: Mutex<Guardian> = Mutex::new(Guardian::new());

/// The group of a leader, which is killed if this process ends before this is dropped. It must be dropped before the leader
/// is reaped.
#[derive(Debug)]
pub(in super::super) struct Guarded(u32);

impl Guarded {
    pub(in super::super) fn new(leader: u32) -> Self {
        guardian().add(leader);
        Self(leader)
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        guardian().remove(self.0);
    }
}

#[derive(Debug)]
struct Guardian {
    leaders: BTreeSet<u32>,
    shell: Option<Shell>,
}

fn guardian() -> MutexGuard<'static, Guardian> {
    // No code panics halfway through a change.
    GUARDIAN.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Guardian {
    const fn new() -> Self {
        Self { leaders: BTreeSet::new(), shell: None }
    }

    fn add(&mut self, leader: u32) {
        self.leaders.insert(leader);
        self.report('+', leader);
    }

    fn remove(&mut self, leader: u32) {
        self.leaders.remove(&leader);
        self.report('-', leader);
    }

    /// Reports a change; if no shell reads it, reports all groups to a new one.
    fn report(&mut self, change: char, leader: u32) {
        let line = format!("{change} {leader}\n");
        self.shell = self.shell.take().filter(|shell| shell.write(&line).is_ok());
        if self.shell.is_none() && !self.leaders.is_empty() {
            // Without `/bin/sh` there is no guardian, and evaluators run all the same.
            self.shell = Shell::start(&self.leaders).ok();
        }
    }
}

/// A running shell. Dropping it kills it before its input ends, so that it kills nothing.
#[derive(Debug)]
struct Shell {
    child: Child,
    input: PipeWriter,
}

impl Shell {
    #[expect(clippy::disallowed_methods, reason = "it outlives this process to end evaluators")]
    fn start(leaders: &BTreeSet<u32>) -> io::Result<Self> {
        let (output, input) = io::pipe()?;
        // A shell that does not read must not stop this process.
        rustix::io::ioctl_fionbio(&input, true)?;
        let mut command = Command::new("/bin/sh");
        // Nothing of this process is open or readable in it, and signals to the group of this process do not reach it.
        command.args(["-c", SCRIPT]).env_clear().process_group(0);
        command.stdin(output).stdout(Stdio::null()).stderr(Stdio::null());
        let shell = Self { child: command.spawn()?, input };
        let all: String = leaders.iter().map(|leader| format!("+ {leader}\n")).collect();
        shell.write(&all)?;
        Ok(shell)
    }

    /// Writes without waiting.
    fn write(&self, lines: &str) -> io::Result<()> {
        (&self.input).write_all(lines.as_bytes())
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        // Both fail only if other code of this process has reaped it.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt as _;

    use super::*;

    #[expect(clippy::disallowed_methods, reason = "any process will do to see it end")]
    fn group() -> Child {
        Command::new("sleep").arg("600").process_group(0).spawn().unwrap()
    }

    #[test]
    fn groups_that_are_left_end_with_the_input_of_the_last_shell() {
        let mut guardian = Guardian::new();
        let [mut first, mut second, mut removed] = [group(), group(), group()];
        guardian.add(first.id());
        // Something else kills it: another one has to know all groups.
        let shell = &mut guardian.shell.as_mut().unwrap().child;
        shell.kill().unwrap();
        shell.wait().unwrap();
        // A child that another thread has just forked may still hold the pipe.
        let killed = shell.id();
        while guardian.shell.as_ref().is_some_and(|shell| shell.child.id() == killed) {
            guardian.add(removed.id());
        }
        guardian.add(second.id());
        guardian.remove(removed.id());
        let mut shell = guardian.shell.take().unwrap();
        shell.input = io::pipe().unwrap().1;
        assert!(shell.child.wait().unwrap().success());
        for group in [&mut first, &mut second] {
            assert_eq!(group.wait().unwrap().signal(), Some(9));
        }
        assert!(removed.try_wait().unwrap().is_none());
        removed.kill().unwrap();
        removed.wait().unwrap();
    }
}
