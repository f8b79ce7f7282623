//! File system that a contained program sees: [`Plan`].
//!
//! A path has the same name inside as outside. Links are followed once, when the plan is made, and made again inside; the
//! helper opens the paths found here without following any link, so a link that changes later opens nothing else.

use std::{
    collections::{BTreeMap, VecDeque},
    env,
    ffi::OsString,
    fs, io,
    path::{Component, Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use crate::{path_text, policy::Policy, refusal::Refusal};

/// Paths of the system that every program can read, if they exist.
const SYSTEM: &[&str] = &[
    "/usr",
    "/bin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/nix/store",
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/etc/timezone",
    "/etc/alternatives",
    "/etc/nsswitch.conf",
    "/etc/passwd",
    "/etc/group",
    "/etc/mime.types",
    // Node.js exits at once if it exists and cannot be read.
    "/etc/ssl/openssl.cnf",
    "/etc/pki/tls/openssl.cnf",
    "/etc/crypto-policies",
];

/// Paths of the system that a program with network can read, if they exist.
const NETWORK: &[&str] = &[
    "/etc/resolv.conf",
    "/etc/hosts",
    "/etc/ssl/certs",
    "/etc/pki/tls/certs",
    "/etc/pki/ca-trust/extracted",
];

/// Directories that the sandbox provides itself.
const OWN: &[&str] = &["/tmp", "/dev", "/proc"];

/// Links that may be followed for one path, as many as the kernel follows.
const MOST_LINKS: usize = 40;

/// The paths that a contained program sees, besides `/tmp`, `/dev` and `/proc`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// Visible paths: parents before children, no path twice.
    pub mounts: Vec<Mount>,
    /// The working directory of the program.
    #[serde(with = "path_text")]
    pub cwd: PathBuf,
}

/// A path that is visible inside.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mount {
    /// The path, the same inside and outside: absolute, without `.`, `..` and links.
    #[serde(with = "path_text")]
    pub path: PathBuf,
    /// Kind of the file.
    pub kind: MountKind,
}

/// Kind of the file at a visible path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MountKind {
    /// An empty directory.
    Directory,
    /// A link with this target.
    Link(#[serde(with = "path_text")] PathBuf),
    /// The file or directory from outside, which can be read and executed.
    Read,
    /// The directory from outside, which can be read and changed.
    Write,
}

/// Directories that are shown only if a policy names exactly them.
#[derive(Clone, Debug, Default)]
pub struct Guarded(Vec<PathBuf>);

impl Guarded {
    /// The root directory and these. Those that do not exist or are not absolute are left out.
    pub fn new(paths: impl IntoIterator<Item = PathBuf>) -> Self {
        let mut guarded = vec![PathBuf::from("/")];
        for path in paths.into_iter().filter(|path| path.is_absolute()) {
            if let Ok(real) = fs::canonicalize(&path) {
                guarded.extend([path, real]);
            }
        }
        Self(guarded)
    }

    /// The root directory, and the home and cache directories that the variables of this process name.
    pub fn from_env() -> Self {
        let variable = |name| env::var_os(name).map(PathBuf::from);
        let caches = variable("HOME").map(|home| home.join(".cache"));
        let named =
            ["HOME", "XDG_CACHE_HOME", "EVALUATOR_CACHE_DIR"].into_iter().filter_map(variable);
        Self::new(named.chain(caches))
    }

    /// Returns a guarded directory that is `path` or lies below it.
    fn below(&self, path: &Path) -> Option<&Path> {
        self.0.iter().map(PathBuf::as_path).find(|guarded| guarded.starts_with(path))
    }
}

impl Plan {
    /// Follows the paths of the policy and of the program on this machine.
    ///
    /// A program without `/` in its name is looked up on `PATH` inside; one that does not exist is left out, and fails to
    /// start. A working directory that is not visible otherwise is empty inside. Default: `/tmp`.
    ///
    /// # Errors
    ///
    /// The policy is invalid, names what does not exist or cannot be shown, or would show a guarded directory.
    pub fn new(
        policy: &Policy,
        program: &Path,
        cwd: Option<&Path>,
        guarded: &Guarded,
    ) -> Result<Self, Refusal> {
        policy.validate()?;
        let mut found = Found::default();
        let network = if policy.network { NETWORK } else { &[] };
        for path in SYSTEM.iter().chain(network).map(Path::new) {
            if let Ok(real) = found.follow(path) {
                found.add(real, MountKind::Read);
            }
        }
        for path in &policy.read {
            let real = found.existing("read", path)?;
            check_read(path, &real, guarded)?;
            found.add(real, MountKind::Read);
        }
        for path in &policy.write {
            let real = found.existing("write", path)?;
            found.check_write(path, &real, guarded)?;
            found.add(real, MountKind::Write);
        }
        found.check_links()?;
        // The program may be below a directory that it changes, as the interpreter of an environment into which it installs
        // packages. A link in its place names another program, and shows nothing to this one.
        if is_path(program)
            && let Ok(real) = found.follow(program)
            && real.is_file()
        {
            found.add(real, MountKind::Read);
        }
        if let Some(cwd) = cwd {
            let real = found.follow(cwd);
            let real =
                real.map_err(|error| refused("the working directory", cwd, &error.to_string()))?;
            found.add(real, MountKind::Directory);
        }
        let cwd = cwd.unwrap_or(Path::new("/tmp"));
        Ok(Self { mounts: found.into_mounts(), cwd: cwd.to_owned() })
    }
}

/// Returns the file or directory that a path leads to, and the locations of the links that are followed on the way.
///
/// # Errors
///
/// The path does not exist, or has too many links.
pub fn follow(path: &Path) -> io::Result<(PathBuf, Vec<PathBuf>)> {
    let mut found = Found::default();
    let real = found.follow(path)?;
    Ok((real, found.links().cloned().collect()))
}

/// Returns true if the program is not only a name to look up on `PATH`.
pub(crate) fn is_path(program: &Path) -> bool {
    program.as_os_str().as_encoded_bytes().contains(&b'/')
}

fn refused(key: &str, path: &Path, reason: &str) -> Refusal {
    Refusal::policy(format!("{key} {}: {reason}", path.display()))
}

fn check_read(path: &Path, real: &Path, guarded: &Guarded) -> Result<(), Refusal> {
    let is_named = guarded.0.iter().any(|guarded| guarded == path);
    if let Some(below) = guarded.below(real).filter(|_| !is_named) {
        let reason = format!(
            "it would show {}; name what the evaluator needs below it, or write exactly that path to show all of it",
            below.display()
        );
        return Err(refused("`read`", path, &reason));
    }
    check_own("`read`", path, real)
}

/// Refuses paths that would cover a directory of the sandbox's own, or are in one that has nothing from outside.
fn check_own(key: &str, path: &Path, real: &Path) -> Result<(), Refusal> {
    let covers = |own: &Path| own.starts_with(real) && real != Path::new("/");
    let is_in = |own: &Path| own != Path::new("/tmp") && real.starts_with(own);
    match OWN.iter().map(Path::new).find(|own| covers(own) || is_in(own)) {
        Some(own) => {
            let reason =
                format!("{} is the sandbox's own; name a path outside of it", own.display());
            Err(refused(key, path, &reason))
        }
        None => Ok(()),
    }
}

/// The paths found so far, by their real names.
#[derive(Default)]
struct Found(BTreeMap<PathBuf, MountKind>);

impl Found {
    /// Returns the real path, and adds the links on the way and the directories that `..` leaves.
    fn follow(&mut self, path: &Path) -> io::Result<PathBuf> {
        let (mut real, mut links) = (PathBuf::from("/"), 0);
        let mut rest: VecDeque<OsString> = parts(path).collect();
        while let Some(part) = rest.pop_front() {
            match Path::new(&part).components().next() {
                Some(Component::RootDir) => real = PathBuf::from("/"),
                Some(Component::ParentDir) => {
                    if !fs::metadata(&real)?.is_dir() {
                        return Err(io::ErrorKind::NotADirectory.into());
                    }
                    self.add(real.clone(), MountKind::Directory);
                    real.pop();
                }
                Some(Component::Normal(name)) => {
                    let next = real.join(name);
                    if !fs::symlink_metadata(&next)?.is_symlink() {
                        real = next;
                        continue;
                    }
                    links += 1;
                    if links > MOST_LINKS {
                        return Err(io::Error::other("too many links, or links in a circle"));
                    }
                    let target = fs::read_link(&next)?;
                    parts(&target).rev().for_each(|part| rest.push_front(part));
                    self.0.insert(next, MountKind::Link(target));
                }
                _ => {}
            }
        }
        Ok(real)
    }

    /// Follows a path of the policy, which has to be a file or a directory.
    fn existing(&mut self, key: &str, path: &Path) -> Result<PathBuf, Refusal> {
        let key = format!("`{key}`");
        let followed = self.follow(path).and_then(|real| Ok((fs::metadata(&real)?, real)));
        let (info, real) = followed.map_err(|error| refused(&key, path, &error.to_string()))?;
        if info.is_dir() || (info.is_file() && key == "`read`") {
            return Ok(real);
        }
        let reason = if key == "`read`" { "not a file or directory" } else { "not a directory" };
        Err(refused(&key, path, reason))
    }

    fn check_write(&self, path: &Path, real: &Path, guarded: &Guarded) -> Result<(), Refusal> {
        let refused = |reason: String| Err(refused("`write`", path, &reason));
        if let Some(below) = guarded.below(real) {
            return refused(format!(
                "{} would be changed; name a directory below it",
                below.display()
            ));
        }
        // Renaming a parent of code would replace the code for later runs outside.
        let is_code = |(other, kind): &(&PathBuf, &MountKind)| {
            **kind == MountKind::Read && other.starts_with(real)
        };
        if let Some((code, _)) = self.0.iter().find(is_code) {
            return refused(format!("{} can only be read; name another directory", code.display()));
        }
        // A program can replace what is below a directory that it changes, by a link to anything.
        let is_nested =
            |other: &PathBuf| other != real && (other.starts_with(real) || real.starts_with(other));
        if let Some(other) = self.written().find(|other| is_nested(other)) {
            return refused(format!(
                "one of {} and this is below the other; name the outer one only",
                other.display()
            ));
        }
        check_own("`write`", path, real)
    }

    /// Refuses links that a program of the same policy could have made.
    fn check_links(&self) -> Result<(), Refusal> {
        let made = |link: &&PathBuf| self.written().any(|written| link.starts_with(written));
        match self.links().find(made) {
            Some(link) => {
                let reason = "it is a link below a directory under `write`, which a program may have made; name the \
                              path that is meant";
                Err(refused("the sandbox cannot follow", link, reason))
            }
            None => Ok(()),
        }
    }

    fn links(&self) -> impl Iterator<Item = &PathBuf> {
        self.0.iter().filter(|(_, kind)| matches!(kind, MountKind::Link(_))).map(|(path, _)| path)
    }

    fn written(&self) -> impl Iterator<Item = &PathBuf> {
        self.0.iter().filter(|(_, kind)| **kind == MountKind::Write).map(|(path, _)| path)
    }

    fn add(&mut self, path: PathBuf, kind: MountKind) {
        let is_stronger = |old: &MountKind| {
            matches!((old, &kind), (MountKind::Directory, _) | (MountKind::Read, MountKind::Write))
        };
        if self.0.get(&path).is_none_or(is_stronger) {
            self.0.insert(path, kind);
        }
    }

    /// Sorts by depth, and leaves out what an outer directory shows anyway.
    fn into_mounts(self) -> Vec<Mount> {
        // The root directory does not show what is in a directory of the sandbox's own.
        let is_own = |path: &Path| OWN.iter().any(|own| path == Path::new(own));
        let is_shown = |path: &Path, kind: &MountKind| {
            let outer = path.ancestors().skip(1).take_while(|outer| !is_own(outer));
            let mut outer = outer.filter_map(|outer| self.0.get(outer));
            match (outer.find(|outer| matches!(outer, MountKind::Read | MountKind::Write)), kind) {
                (None, _) => false,
                (Some(_), MountKind::Directory | MountKind::Link(_)) => true,
                (Some(outer), kind) => outer == kind,
            }
        };
        let visible = self.0.iter().filter(|(path, kind)| !is_shown(path, kind));
        let mut mounts: Vec<Mount> =
            visible.map(|(path, kind)| Mount { path: path.clone(), kind: kind.clone() }).collect();
        // Stable, so equal depths stay in the order of their names.
        mounts.sort_by_key(|mount| mount.path.components().count());
        mounts
    }
}

/// The components of a path. `.` is left out.
fn parts(path: &Path) -> impl DoubleEndedIterator<Item = OsString> {
    path.components().map(|part| part.as_os_str().to_owned())
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::symlink;

    use proptest::{collection::vec, prelude::*, sample::select};

    use super::*;

    /// Names, targets of links and paths: some that exist, many that lead elsewhere.
    const PATHS: &[&str] = &[
        "a",
        "b",
        "c",
        "home",
        "home/key",
        "a/b",
        "b/../a",
        "a/..",
        ".",
        "..",
        "../..",
        "/",
        "/usr",
        "/tmp",
        "/etc/passwd",
        "with blank",
        "with\nline",
        "c/c/c",
        "./a//b/",
    ];

    fn path() -> impl Strategy<Value = &'static str> {
        select(PATHS)
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn a_plan_shows_what_is_named_and_nothing_guarded(
            links in vec((select(&["a", "b", "c", "with blank", "with\nline"][..]), path()), 0..5),
            read in vec(path(), 0..3),
            write in vec(path(), 0..2),
            program in path(),
        ) {
            let directory = tempfile::tempdir().unwrap();
            let root = directory.path().canonicalize().unwrap();
            let home = root.join("home");
            fs::create_dir(&home).unwrap();
            fs::write(home.join("key"), "").unwrap();
            for (name, target) in links {
                // The second link of a name makes it a directory.
                if symlink(target, root.join(name)).is_err() && fs::remove_file(root.join(name)).is_ok() {
                    fs::create_dir(root.join(name)).unwrap();
                }
            }
            let given = |paths: &[&str]| paths.iter().map(|path| root.join(path)).collect();
            let policy = Policy { read: given(&read), write: given(&write), ..Policy::default() };
            let guarded = Guarded::new([home.clone()]);
            let Ok(plan) = Plan::new(&policy, &root.join(program), None, &guarded) else { return Ok(()) };
            let is_named = policy.read.iter().any(|path| *path == home || path == Path::new("/"));
            let mut seen: Vec<&Path> = Vec::new();
            for mount in &plan.mounts {
                let path = &*mount.path;
                prop_assert!(path.is_absolute() && !seen.contains(&path));
                prop_assert!(!seen.iter().any(|seen| seen.starts_with(path)), "{path:?} is after what is in it");
                seen.push(path);
                let parent = path.parent().map(|parent| fs::canonicalize(parent).unwrap());
                prop_assert_eq!(parent.as_deref(), path.parent());
                let shows = matches!(mount.kind, MountKind::Read | MountKind::Write);
                prop_assert!(!shows || is_named || !home.starts_with(path), "{path:?}");
                prop_assert!(!shows || fs::canonicalize(path).unwrap() == path);
            }
            for (paths, kinds) in
                [(&policy.read, &[MountKind::Read, MountKind::Write][..]), (&policy.write, &[MountKind::Write])]
            {
                for path in paths {
                    let real = fs::canonicalize(path).unwrap();
                    let mut outer = plan.mounts.iter().filter(|mount| real.starts_with(&mount.path));
                    prop_assert!(outer.any(|mount| kinds.contains(&mount.kind)), "{path:?}");
                }
            }
        }
    }

    #[test]
    fn links_in_a_circle_are_an_error() {
        let directory = tempfile::tempdir().unwrap();
        let link = directory.path().join("link");
        symlink("link", &link).unwrap();
        let policy = Policy { read: vec![link], ..Policy::default() };
        let refusal = Plan::new(&policy, Path::new("true"), None, &Guarded::default()).unwrap_err();
        assert!(refusal.to_string().contains("links in a circle"), "{refusal}");
    }

    #[test]
    fn a_guarded_directory_is_shown_if_it_is_named_exactly() {
        let directory = tempfile::tempdir().unwrap();
        let home = directory.path().canonicalize().unwrap().join("home");
        fs::create_dir(&home).unwrap();
        let guarded = Guarded::new([home.clone()]);
        let plan = |path: PathBuf| {
            let policy = Policy { read: vec![path], ..Policy::default() };
            Plan::new(&policy, Path::new("true"), None, &guarded)
        };
        assert!(plan(home.clone()).is_ok());
        assert!(plan(home.parent().unwrap().to_owned()).is_err());
        assert!(plan(home.join("../home")).is_err());
        let refusal = plan(home.join("..")).unwrap_err().to_string();
        assert!(refusal.contains(&*home.to_string_lossy()), "{refusal}");
    }
}
