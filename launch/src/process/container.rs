//! Containers that a command starts through the client of an engine.
//!
//! The client is a process like any other, but its death does not end the container. So each start of the command gets a
//! name of its own, which is known before the start, and a container that has to end is killed by that name.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use super::{CommandSpec, Ending, spawn::start_detached};

/// Clients of the containers that may exist, by the name of the container.
static ALL: Mutex<BTreeMap<String, CommandSpec>> = Mutex::new(BTreeMap::new());

fn all() -> MutexGuard<'static, BTreeMap<String, CommandSpec>> {
    // No code panics halfway through a change.
    ALL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes every container that may exist, without waiting: for a program that is about to exit.
pub(super) fn remove_all() {
    for (name, client) in &*all() {
        start_detached(&call(client, ["rm", "--force", name]));
    }
}

/// Returns another command of the engine.
fn call<const N: usize>(client: &CommandSpec, args: [&str; N]) -> CommandSpec {
    CommandSpec { args: args.map(OsString::from).into(), ..client.clone() }
}

/// A container of a command that is being started or was started. It is removed when this is dropped, unless it is known
/// to be gone.
#[derive(Debug)]
pub(crate) struct Container {
    /// The command of the engine without arguments.
    client: CommandSpec,
    name: String,
    is_gone: bool,
}

impl Container {
    /// Returns the command with a new name for its container, and the container; `None` if the command starts none.
    pub(crate) fn name(spec: &CommandSpec) -> Option<(CommandSpec, Self)> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let prefix = spec.container.as_ref()?;
        let name = format!("{prefix}{}", NEXT.fetch_add(1, Ordering::Relaxed));
        let mut named = spec.clone();
        let at = named.args.len().min(1);
        named.args.insert(at, format!("--name={name}").into());
        let client =
            CommandSpec { args: Vec::new(), container: None, starter: None, ..spec.clone() };
        all().insert(name.clone(), client.clone());
        Some((named, Self { client, name, is_gone: false }))
    }

    /// Notes that the container does not exist, or removes itself.
    pub(crate) fn set_gone(&mut self) {
        self.is_gone = true;
    }

    /// Returns the commands that kill the container, or remove it if it does not run yet. The first that succeeds is enough.
    pub(super) fn killers(&self) -> [CommandSpec; 2] {
        [
            call(&self.client, ["kill", &self.name]),
            call(&self.client, ["rm", "--force", &self.name]),
        ]
    }

    /// Returns how the program in the container ended, from the ending of the client, which exits with 128 and the number
    /// of a signal. Notes whether the container can still exist.
    pub(super) fn ending(&mut self, client: Ending) -> Ending {
        // The engine reports its own errors by 125, and a client that was killed leaves the container alone.
        self.is_gone = matches!(client, Ending::Exited(code) if code != 125);
        match client {
            Ending::Exited(code @ 129..=192) => Ending::Signalled(code - 128),
            other => other,
        }
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        all().remove(&self.name);
        if !self.is_gone {
            start_detached(&call(&self.client, ["rm", "--force", &self.name]));
        }
    }
}
