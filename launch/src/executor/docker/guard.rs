//! Which files of this machine a container sees, and which must never be shown.

use std::{
    collections::BTreeMap,
    env,
    ffi::OsString,
    path::{Path, PathBuf},
};

use crate::executor::{Containment, Visible};
use crate::process::CommandSpec;

/// Sockets on which engines listen by default.
const SOCKETS: [&str; 3] = ["/var/run/docker.sock", "/run/docker.sock", "/run/podman/podman.sock"];

/// A file or directory of this machine, at the same path in the container.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Mount {
    pub(super) path: PathBuf,
    writable: bool,
}

impl Mount {
    /// The argument of the engine, a line of comma-separated values.
    pub(super) fn argument(&self) -> OsString {
        let mut argument = OsString::from("--mount=type=bind,");
        for (key, separator) in [("src=", ","), ("dst=", "")] {
            let mut field = OsString::from(key);
            field.push(&self.path);
            argument.push(quoted(field));
            argument.push(separator);
        }
        if !self.writable {
            argument.push(",readonly");
        }
        argument
    }
}

/// Quotes a value that contains a separator.
fn quoted(field: OsString) -> OsString {
    let needs_quotes = field.as_encoded_bytes().iter().any(|byte| b",\"\r\n".contains(byte));
    match field.to_str().filter(|_| needs_quotes) {
        Some(text) => format!("\"{}\"", text.replace('"', "\"\"")).into(),
        None => field,
    }
}

/// Returns what the container of a command sees: what its runtime needs, its working directory, and what its entry names.
///
/// # Errors
///
/// A path that must not be shown, or that does not exist.
pub(super) fn mounts(
    command: &CommandSpec,
    containment: &Containment,
    visible: &Visible,
) -> Result<Vec<Mount>, String> {
    let program = Some(PathBuf::from(&command.program)).filter(|program| program.is_absolute());
    let needed = visible.paths.iter().chain(&program).filter(|path| path.exists());
    let mut mounts = BTreeMap::new();
    for path in needed.chain(&command.cwd) {
        check(path, false)?;
        mounts.insert(path.clone(), false);
    }
    for path in &containment.read {
        check(path, true)?;
        mounts.entry(path.clone()).or_insert(false);
    }
    for path in &containment.write {
        check(path, true)?;
        if !path.is_dir() {
            return Err(format!("`write` is for directories, and {} is not one", path.display()));
        }
        mounts.insert(path.clone(), true);
    }
    Ok(mounts.into_iter().map(|(path, writable)| Mount { path, writable }).collect())
}

/// Refuses paths that would give a program more than anybody intends. `is_named`: the entry names exactly this path.
fn check(path: &Path, is_named: bool) -> Result<(), String> {
    let shown = path.display();
    let real =
        path.canonicalize().map_err(|error| format!("it cannot be shown {shown}: {error}"))?;
    let home = env::home_dir().and_then(|home| home.canonicalize().ok());
    if real.parent().is_none() {
        return Err(format!("it must not be shown {shown}, which is the whole machine"));
    }
    if home.is_some_and(|home| home.starts_with(&real) && !(is_named && home == real)) {
        return Err(format!(
            "it must not be shown {shown}, which contains your home directory; move the evaluator to a directory of its own, \
             or name smaller ones under `read`"
        ));
    }
    let sockets = sockets().into_iter().filter_map(|socket| socket.canonicalize().ok());
    match sockets.into_iter().find(|socket| socket.starts_with(&real)) {
        Some(socket) => Err(format!(
            "it must not be shown {shown}: whoever reaches {} has all rights of the container engine",
            socket.display()
        )),
        None => Ok(()),
    }
}

/// Sockets of engines that may exist.
fn sockets() -> Vec<PathBuf> {
    let named = ["DOCKER_HOST", "CONTAINER_HOST"]
        .into_iter()
        .filter_map(|name| Some(PathBuf::from(env::var(name).ok()?.strip_prefix("unix://")?)));
    let own = env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).into_iter().flat_map(|runtime| {
        ["docker.sock", "podman/podman.sock"].map(|socket| runtime.join(socket))
    });
    named.chain(own).chain(SOCKETS.map(PathBuf::from)).collect()
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn paths_become_values_between_commas() {
        let mount = |path: &str, writable| Mount { path: path.into(), writable }.argument();
        assert_eq!(mount("/a b", false), "--mount=type=bind,src=/a b,dst=/a b,readonly");
        assert_eq!(mount("/a", true), "--mount=type=bind,src=/a,dst=/a");
        assert_eq!(
            mount("/a,\"b", false),
            "--mount=type=bind,\"src=/a,\"\"b\",\"dst=/a,\"\"b\",readonly"
        );
    }

    #[test]
    fn what_the_entry_names_is_added_and_only_directories_can_be_written() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let (source, manifest) = (here.join("src"), here.join("Cargo.toml"));
        let visible = Visible { paths: [source.clone(), "/no/such/library".into()].into() };
        let containment = Containment {
            read: vec![manifest.clone()],
            write: vec![source.clone()],
            ..Containment::default()
        };
        let found = mounts(&CommandSpec::new("python3"), &containment, &visible).unwrap();
        let expected = [(manifest, false), (source, true)];
        assert_eq!(found, expected.map(|(path, writable)| Mount { path, writable }));
        let file = Containment { write: vec![here.join("Cargo.toml")], ..Containment::default() };
        let error = mounts(&CommandSpec::new("python3"), &file, &visible).unwrap_err();
        assert!(error.starts_with("`write` is for directories, and "), "{error}");
    }

    #[test]
    fn the_whole_machine_and_what_is_above_the_home_directory_are_refused() {
        let refused = |path: &Path, is_named| check(path, is_named).unwrap_err();
        assert!(refused(Path::new("/"), true).contains("the whole machine"));
        assert!(refused(Path::new("/no/such/path"), true).contains("cannot be shown"));
        let home = env::home_dir().unwrap();
        if home.parent().is_some() && home.exists() {
            assert!(refused(&home, false).contains("your home directory"));
            assert_eq!(check(&home, true), Ok(()));
        }
    }
}
