//! Fork servers for Python files.
//!
//! The server is the same interpreter with the same file and arguments. It becomes a server by a module called
//! `sitecustomize`, which an interpreter imports at the end of its own start, and which it finds first because
//! `PYTHONPATH` starts with its directory. `fork_server.py` is that module.

use std::{ffi::OsStr, fmt::Write as _, path::Path};

use crate::{
    process::{CommandSpec, forks::ServerCommand},
    runtime::{PrivateDirectory, environment::is_script},
};

const SERVER: &str = include_str!("fork_server.py");

const SEARCH_PATH: &str = "PYTHONPATH";

/// Makes the command of a server that forks what `command` would start.
pub(super) fn server(command: &CommandSpec) -> Result<ServerCommand, String> {
    if is_script(Path::new(&command.program)) {
        // A wrapper may start the interpreter so that it does not find the server, and runs the file instead.
        return Err(format!("{} is a script", command.program.display()));
    }
    if !command.resources.is_unlimited() && !cfg!(target_os = "linux") {
        // Elsewhere only a process can limit itself.
        return Err("its entry limits what it may use".to_owned());
    }
    // The server deletes it when it runs.
    let directory = PrivateDirectory::new("forks")
        .and_then(|directory| directory.write("sitecustomize.py", SERVER).map(|_| directory))
        .map_err(|error| format!("no directory for the server: {error}"))?;
    let before = command.variable(SEARCH_PATH);
    let mut after = directory.path().as_os_str().to_owned();
    if let Some(before) = before.as_ref().filter(|before| !before.is_empty()) {
        after.push(if cfg!(windows) { ";" } else { ":" });
        after.push(before);
    }
    Ok(ServerCommand {
        command: command.clone().env(SEARCH_PATH, after),
        greeting: greeting(before.as_deref()),
        needs: Box::new(directory),
    })
}

fn greeting(search_path: Option<&OsStr>) -> Vec<u8> {
    let mut line = "pythonpath ".to_owned();
    match search_path {
        None => line.push('-'),
        Some(value) => {
            // An empty value differs from an unset variable.
            line.push('=');
            for byte in value.as_encoded_bytes() {
                // Writing to a string cannot fail.
                let _ = write!(line, "{byte:02x}");
            }
        }
    }
    line.push('\n');
    line.into_bytes()
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::*;

    #[test]
    fn the_server_sees_its_folder_first_and_the_evaluator_what_it_would_have_seen() {
        for (value, greeting, rest) in [
            (None, "pythonpath -\n", ""),
            (Some(""), "pythonpath =\n", ""),
            (Some("/a:b"), "pythonpath =2f613a62\n", ":/a:b"),
        ] {
            let value = value.map(OsString::from);
            let command = CommandSpec {
                env: vec![(SEARCH_PATH.into(), value)],
                ..CommandSpec::new("python")
            };
            let made = server(&command.arg("check.py")).unwrap();
            assert_eq!(String::from_utf8(made.greeting.clone()).unwrap(), greeting);
            let seen = made.command.variable(SEARCH_PATH).unwrap().into_string().unwrap();
            let directory = seen.strip_suffix(rest).unwrap().to_owned();
            assert_eq!(made.command.args, ["check.py"]);
            assert!(Path::new(&directory).join("sitecustomize.py").is_file());
            drop(made);
            assert!(!Path::new(&directory).exists());
        }
    }
}
