//! Variables of a program in a container, and those of the client that starts it.
//!
//! Other users can read the command line of the client, but not its variables. So a variable of the program is set for the
//! client, and the command line has its name only, unless the client would read it itself.

use std::{collections::BTreeMap, env, ffi::OsString};

use super::arguments::TMP;
use crate::process::CommandSpec;

/// Variables with paths of this machine, which are not those of an image.
const OF_THIS_MACHINE: [&str; 8] = [
    "PATH",
    "HOME",
    "TMPDIR",
    "TEMP",
    "TMP",
    "LD_LIBRARY_PATH",
    "DYLD_LIBRARY_PATH",
    "DYLD_FALLBACK_LIBRARY_PATH",
];

/// Beginnings of the names that a client reads.
const OF_CLIENTS: [&str; 10] =
    ["DOCKER_", "CONTAINER", "XDG_", "SSH_", "DBUS_", "DYLD_", "LD_", "GO", "SSL_", "TMP"];

/// Variables set for the client in addition to its own, and arguments that pass variables on to the program.
pub(super) type Split = (Vec<(OsString, Option<OsString>)>, Vec<OsString>);

/// Splits the variables of a command. What this process inherited is for the client alone.
pub(super) fn split(command: &CommandSpec) -> Split {
    // The last one of a name counts.
    let set: BTreeMap<_, _> = command.env.iter().map(|(name, value)| (name, value)).collect();
    let mut client = Vec::new();
    let mut arguments: Vec<OsString> =
        vec![format!("--env=HOME={TMP}").into(), "--env=PYTHONDONTWRITEBYTECODE=1".into()];
    for (name, value) in set {
        let Some(value) = value else { continue };
        let is_local = OF_THIS_MACHINE.iter().any(|local| name == local);
        if is_local && env::var_os(name).as_ref() == Some(value) {
            continue;
        }
        let mut argument = OsString::from("--env=");
        argument.push(name);
        if is_local || is_of_client(&name.to_string_lossy()) {
            argument.push("=");
            argument.push(value);
        } else {
            client.push((name.clone(), Some(value.clone())));
        }
        arguments.push(argument);
    }
    (client, arguments)
}

fn is_of_client(name: &str) -> bool {
    OF_CLIENTS.iter().any(|start| name.starts_with(start))
        || name.to_ascii_uppercase().ends_with("_PROXY")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stay_away_from_the_command_line() {
        let command = CommandSpec::new("python3")
            .env("API_KEY", "old")
            .env("API_KEY", "secret")
            .env("GONE", "x")
            .env_remove("GONE")
            .env("PATH", env::var_os("PATH").unwrap())
            .env("DOCKER_HOST", "tcp://x");
        let (client, arguments) = split(&command);
        assert_eq!(client, [("API_KEY".into(), Some("secret".into()))]);
        assert_eq!(
            arguments,
            [
                "--env=HOME=/tmp",
                "--env=PYTHONDONTWRITEBYTECODE=1",
                "--env=API_KEY",
                "--env=DOCKER_HOST=tcp://x"
            ]
        );
    }
}
