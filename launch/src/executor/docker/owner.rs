//! Owners of containers: the process that started a container, as part of the name of the container.

use std::process;

use sha2::{Digest, Sha256};

/// Label of the containers of every host.
pub(super) const LABEL: &str = "evaluator.host";

/// Beginning of all names.
const NAME: &str = "evaluator";

/// Returns this process as text: machine, user, process id and start time, separated by dots.
pub(super) fn this_process() -> String {
    let id = process::id();
    format!("{}.{id}.{}", place(), start_time(id).unwrap_or_default())
}

/// Returns the beginning of the names of the containers of an owner.
pub(super) fn names(owner: &str) -> String {
    format!("{NAME}.{owner}.")
}

/// Returns true if a container of this name was started by a process of this machine and user that has ended.
///
/// Other machines and other containers can share an engine; of their processes nothing is known.
pub(super) fn is_orphan(name: &str) -> bool {
    let parts: Vec<&str> = name.split('.').collect();
    let [NAME, machine, user, id, started, _number] = parts[..] else { return false };
    let Ok(id) = id.parse() else { return false };
    // Where start times cannot be read, nothing is known.
    start_time(process::id()).is_some()
        && format!("{machine}.{user}") == place()
        && start_time(id).is_none_or(|running| running != started)
}

/// The machine and the user.
fn place() -> String {
    let machine: String =
        Sha256::digest(machine())[..6].iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{machine}.{}", user())
}

/// This start of the machine, and the namespace that gives process ids their meaning.
#[cfg(target_os = "linux")]
fn machine() -> Vec<u8> {
    let mut machine = std::fs::read("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let namespace = std::fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    machine.extend(namespace.as_os_str().as_encoded_bytes());
    machine
}

#[cfg(all(unix, not(target_os = "linux")))]
fn machine() -> Vec<u8> {
    rustix::system::uname().nodename().to_bytes().to_vec()
}

#[cfg(not(unix))]
fn machine() -> Vec<u8> {
    Vec::new()
}

#[cfg(unix)]
fn user() -> u32 {
    rustix::process::getuid().as_raw()
}

#[cfg(not(unix))]
fn user() -> u32 {
    0
}

/// Returns when a process was started, in ticks since the start of the machine; `None` if it does not run.
#[cfg(target_os = "linux")]
fn start_time(id: u32) -> Option<String> {
    let status = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // The second field is the name of the program in parentheses, and may contain anything.
    let mut fields = status.rsplit_once(')')?.1.split_ascii_whitespace();
    // A zombie has ended, although its parent does not know it.
    fields.next().filter(|state| !["Z", "X"].contains(state))?;
    fields.nth(18).map(str::to_owned)
}

/// Start times are not known here, so another process with the same id keeps the containers of a dead one.
#[cfg(all(unix, not(target_os = "linux")))]
fn start_time(id: u32) -> Option<String> {
    use rustix::{io::Errno, process};
    let id = process::Pid::from_raw(id.try_into().ok()?)?;
    (process::test_kill_process(id) != Err(Errno::SRCH)).then(String::new)
}

/// Nothing is known of other processes here.
#[cfg(not(unix))]
fn start_time(_id: u32) -> Option<String> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn containers_of_this_user_whose_host_has_ended_are_orphans() {
        let [mine, other] = [process::id(), 999_999_999].map(|id| {
            let start = start_time(id).unwrap_or_default();
            names(&format!("{}.{id}.{start}", place()))
        });
        assert_eq!(mine, names(&this_process()));
        assert!(!is_orphan(&format!("{mine}1")), "{mine}");
        assert!(is_orphan(&format!("{other}1")), "{other}");
        let elsewhere = format!("evaluator.0123456789ab.{}.999999999.5.1", user());
        let of_another = other.replace(&format!(".{}.", user()), ".4294967295.");
        for name in [&*elsewhere, &of_another, "evaluator", "postgres", "evaluator.a.b.c.d.e"] {
            assert!(!is_orphan(name), "{name}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_process_with_the_id_of_a_dead_host_is_another_one() {
        let name = names(&format!("{}.{}.1", place(), process::id()));
        assert!(is_orphan(&format!("{name}7")));
    }
}
