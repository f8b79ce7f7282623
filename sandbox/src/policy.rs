//! Rights of a contained program: [`Policy`].

use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::{path_text, refusal::Refusal};

/// Level of containment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Namespaces, a root directory with the visible paths only, Landlock, and a system call filter.
    #[default]
    Full,
    /// Landlock and a system call filter. Names, sizes and times of hidden files can be seen, the number of processes
    /// is not limited for root, and disk space is not limited. Only for systems without user namespaces.
    Partial,
}

impl Level {
    /// The name in a configuration: `full` or `partial`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Partial => "partial",
        }
    }
}

/// Rights of a contained program: visible files, writable directories, network and resources.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Policy {
    /// Level of containment. Default: full.
    pub level: Level,
    /// Allows IPv4 and IPv6, also to servers of this machine. Default: false.
    pub network: bool,
    /// A server of the host that the program reaches without network. Default: none.
    pub listener: Option<Listener>,
    /// Absolute paths of files and directories that can be read, in addition to the program and to those of the system.
    /// Links are followed when the command is wrapped. At the full level a program can connect to Unix sockets in them.
    /// Default: none.
    #[serde(with = "path_text::many")]
    pub read: Vec<PathBuf>,
    /// Absolute paths of directories that can be read and changed. What is written there stays. Default: none.
    #[serde(with = "path_text::many")]
    pub write: Vec<PathBuf>,
    /// Size in bytes of the temporary directory `/tmp`, and of `/dev/shm`. Default: 64 MiB. Not limited at the partial
    /// level.
    pub tmp: u64,
    /// Maximum number of processes and threads. Default: 64. Not limited at the partial level, and for root before Linux
    /// 6.14.
    pub processes: u32,
    /// Limits of each process.
    pub limits: Limits,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            level: Level::Full,
            network: false,
            listener: None,
            read: Vec::new(),
            write: Vec::new(),
            tmp: 64 << 20,
            processes: 64,
            limits: Limits::default(),
        }
    }
}

/// A server of the host that a program reaches without network: the only address in its network namespace.
///
/// The helper listens on the port inside and hands the listening socket over, so connections of the program arrive in the
/// host, which serves them.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Listener {
    /// The TCP port on 127.0.0.1 inside. From 1024 on: the helper has no privileges outside of its namespaces.
    pub port: u16,
    /// Name of an abstract Unix socket of the host. For each sandbox the helper connects to it and sends a byte with the
    /// listening socket. The program is started after the host has answered with a byte. The connection ends with the
    /// sandbox.
    pub socket: String,
}

/// Limits that hold for each process by itself. `None` inherits the limit of the host; a stricter inherited limit stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Bytes of private writable memory (`RLIMIT_DATA`), and of a stack. Default: 1 GiB.
    pub memory: Option<u64>,
    /// Seconds of processor time: after them a process gets `SIGXCPU`, a second later `SIGKILL`. Default: none.
    pub cpu: Option<u64>,
    /// Open files. Default: 1024.
    pub open_files: Option<u64>,
    /// Bytes of a written file. Default: 64 MiB.
    pub file_size: Option<u64>,
}

impl Default for Limits {
    fn default() -> Self {
        Self { memory: Some(1 << 30), cpu: None, open_files: Some(1024), file_size: Some(64 << 20) }
    }
}

/// The smallest temporary directory: one page. A size of 0 would mean "not limited" to the kernel.
const SMALLEST_TMP: u64 = 4096;

impl Policy {
    /// Checks what can be checked without looking at the file system. [`crate::wrap`] does so, too.
    ///
    /// # Errors
    ///
    /// A path is not absolute, or a number makes no sense.
    pub fn validate(&self) -> Result<(), Refusal> {
        for (key, paths) in [("read", &self.read), ("write", &self.write)] {
            if let Some(path) = paths.iter().find(|path| !is_plain(path)) {
                return Err(Refusal::policy(format!(
                    "`{key}: {}` is not an absolute path",
                    path.display()
                )));
            }
        }
        if self.listener.is_some() && (self.network || self.level == Level::Partial) {
            return Err(Refusal::policy(
                "`listener` needs a network namespace of the program's own, so the full level without `network`",
            ));
        }
        if self.tmp < SMALLEST_TMP {
            return Err(Refusal::policy(format!(
                "`tmp: {}` is too small; the smallest size is {SMALLEST_TMP} bytes",
                self.tmp
            )));
        }
        if self.processes == 0 {
            return Err(Refusal::policy("`processes: 0` leaves no process for the program"));
        }
        Ok(())
    }
}

/// Returns true for an absolute path that a system call can take.
fn is_plain(path: &Path) -> bool {
    path.components().next() == Some(Component::RootDir)
        && !path.as_os_str().as_encoded_bytes().contains(&0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nonsense_is_refused_by_name() {
        let base = Policy::default;
        let listener = Some(Listener { port: 8127, socket: "a".to_owned() });
        let served = || Policy { listener: listener.clone(), ..base() };
        assert_eq!(served().validate(), Ok(()));
        for (policy, part) in [
            (Policy { read: vec!["data".into()], ..base() }, "`read: data`"),
            (Policy { write: vec!["".into()], ..base() }, "`write: `"),
            (Policy { read: vec!["/a\0b".into()], ..base() }, "`read: "),
            (Policy { tmp: 0, ..base() }, "`tmp: 0`"),
            (Policy { network: true, ..served() }, "`listener` needs"),
            (Policy { level: Level::Partial, ..served() }, "`listener` needs"),
            (Policy { processes: 0, ..base() }, "`processes: 0`"),
        ] {
            let error = policy.validate().unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
        assert_eq!(base().validate(), Ok(()));
    }

    #[test]
    fn an_empty_object_is_the_default_and_unknown_keys_are_errors() {
        assert_eq!(serde_json::from_str::<Policy>("{}").unwrap(), Policy::default());
        let error = serde_json::from_str::<Policy>(r#"{"reed": []}"#).unwrap_err().to_string();
        assert!(error.contains("unknown field `reed`"), "{error}");
    }
}
