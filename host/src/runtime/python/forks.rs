//! From the command that runs a Python file to that of a server which forks processes that run it.
//!
//! The server is the same interpreter, told to run the same file with the same arguments. What makes it a server is a
//! module called `sitecustomize`, which an interpreter imports at the end of its own start, and which it finds first because
//! `PYTHONPATH` begins with its folder. See `fork_server.py`, which is that module, for everything else.

use std::{
    env,
    ffi::{OsStr, OsString},
    fmt::Write as _,
    fs, io,
    path::{Path, PathBuf},
    process,
    sync::atomic::{AtomicU32, Ordering},
};

use crate::{
    process::{CommandSpec, forks::ServerCommand},
    runtime::environment::is_script,
};

const SERVER: &str = include_str!("fork_server.py");

const SEARCH_PATH: &str = "PYTHONPATH";

/// The command of a server that forks what `command` would start.
pub(super) fn server(command: &CommandSpec) -> Result<ServerCommand, String> {
    if is_script(Path::new(&command.program)) {
        // It may start the interpreter in a way in which it does not find the server, and runs the file instead.
        return Err(format!("{} is a script", command.program.display()));
    }
    if !command.resources.is_unlimited() && !cfg!(target_os = "linux") {
        // Elsewhere they can only be given to a process by itself.
        return Err("its entry limits what it may use".to_owned());
    }
    let folder = Folder::new().map_err(|error| format!("no folder for the server: {error}"))?;
    let before = search_path(command);
    let mut after = folder.0.clone().into_os_string();
    if let Some(before) = before.as_ref().filter(|before| !before.is_empty()) {
        after.push(if cfg!(windows) { ";" } else { ":" });
        after.push(before);
    }
    Ok(ServerCommand {
        command: command.clone().env(SEARCH_PATH, after),
        greeting: greeting(before.as_deref()),
        needs: Box::new(folder),
    })
}

/// The variable as the evaluator is to see it.
fn search_path(command: &CommandSpec) -> Option<OsString> {
    let set = command.env.iter().rev().find(|(name, _)| name == SEARCH_PATH);
    match set {
        Some((_, value)) => value.clone(),
        None if command.clear_env => None,
        None => env::var_os(SEARCH_PATH),
    }
}

fn greeting(search_path: Option<&OsStr>) -> Vec<u8> {
    let mut line = "pythonpath ".to_owned();
    match search_path {
        None => line.push('-'),
        Some(value) => {
            // An empty value is marked, too: it is not the same as none.
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

/// A folder with the module in it. The server deletes it as soon as it runs, and this if it does not.
#[derive(Debug)]
struct Folder(PathBuf);

impl Folder {
    fn new() -> io::Result<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        loop {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let name = format!("evaluator-forks-{}-{number}", process::id());
            let path = env::temp_dir().join(name);
            match create_private(&path) {
                // Left behind by a process of the same number.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                created => created?,
            }
            let folder = Self(path);
            fs::write(folder.0.join("sitecustomize.py"), SERVER)?;
            return Ok(folder);
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What cannot be removed is for whoever cleans the folder of temporary files.
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(unix)]
fn create_private(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new().mode(0o700).create(folder)
}

#[cfg(not(unix))]
fn create_private(folder: &Path) -> io::Result<()> {
    fs::create_dir(folder)
}

#[cfg(test)]
mod tests {
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
            let seen = search_path(&made.command).unwrap().into_string().unwrap();
            let folder = seen.strip_suffix(rest).unwrap().to_owned();
            assert_eq!(made.command.args, ["check.py"]);
            assert!(Path::new(&folder).join("sitecustomize.py").is_file());
            drop(made);
            assert!(!Path::new(&folder).exists());
        }
    }

    #[test]
    fn nothing_is_inherited_by_a_command_that_starts_from_nothing() {
        let command = CommandSpec { clear_env: true, ..CommandSpec::new("python") };
        assert_eq!(search_path(&command), None);
        assert_eq!(search_path(&command.env(SEARCH_PATH, "/x")), Some("/x".into()));
    }
}
