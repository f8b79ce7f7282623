//! What a sandbox shows: whatever the links of a directory, a plan shows what the policy names and nothing that is guarded.

#![no_main]

use std::{
    ffi::OsStr,
    fs,
    os::unix::ffi::OsStrExt,
    os::unix::fs::symlink,
    path::{Component, Path, PathBuf},
};

use evaluator_sandbox::{
    Policy,
    plan::{Guarded, MountKind, Plan},
};
use libfuzzer_sys::fuzz_target;

/// Entries of a directory (kind, name, target of a link), paths to read and to write, and whether there is a network.
type Input<'a> = (Vec<(u8, &'a [u8], &'a [u8])>, Vec<&'a [u8]>, Vec<&'a [u8]>, bool);

fuzz_target!(|input: Input<'_>| {
    let (entries, read, write, network) = input;
    let marker = evaluator_fuzz::scratch("sandbox", b"");
    let root = marker.with_extension("directory");
    fs::create_dir_all(root.join("home")).expect("a directory can be made");
    let root = fs::canonicalize(root).expect("it exists");
    let home = root.join("home");
    make(&root, &entries);
    let given = |paths: &[&[u8]]| paths.iter().map(|path| root.join(bytes(path))).collect();
    let policy = Policy { read: given(&read), write: given(&write), network, ..Policy::default() };
    let text = serde_json::to_string(&policy).expect("a policy can be written");
    assert_eq!(serde_json::from_str::<Policy>(&text).expect("and read"), policy);
    let program = root.join("program");
    let guarded = Guarded::new([home.clone()]);
    if let Ok(plan) = Plan::new(&policy, &program, Some(&root), &guarded) {
        check(&plan, &policy, &home);
    }
    fs::remove_dir_all(&root).expect("the directory can be removed");
});

fn bytes(path: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(path))
}

/// Makes entries of one directory: never through a link, so nothing outside is touched.
fn make(root: &Path, entries: &[(u8, &[u8], &[u8])]) {
    for (kind, name, target) in entries {
        let name = bytes(name);
        let is_plain =
            matches!(name.components().next(), Some(Component::Normal(only)) if only == name);
        if !is_plain || name.as_os_str().as_bytes().contains(&0) {
            continue;
        }
        // Names that exist, are too long or hold what a system call cannot take fail, and are left out.
        let path = root.join(name);
        let _ = match kind % 3 {
            0 => fs::create_dir(path),
            1 => fs::File::create_new(path).map(drop),
            _ => symlink(bytes(target), path),
        };
    }
}

fn check(plan: &Plan, policy: &Policy, home: &Path) {
    let text = serde_json::to_string(plan).expect("a plan can be written");
    assert_eq!(&serde_json::from_str::<Plan>(&text).expect("and read"), plan);
    let mut depth = 0;
    let mut seen = Vec::new();
    for mount in &plan.mounts {
        let parts: Vec<_> = mount.path.components().collect();
        assert!(parts.iter().skip(1).all(|part| matches!(part, Component::Normal(_))), "{mount:?}");
        assert!(parts.len() >= depth && !seen.contains(&&mount.path), "{mount:?}");
        depth = parts.len();
        seen.push(&mount.path);
        let parent = mount.path.parent().map(fs::canonicalize);
        assert!(parent.is_none_or(|real| real.ok().as_deref() == mount.path.parent()), "{mount:?}");
        if let MountKind::Read | MountKind::Write = mount.kind {
            let is_named = policy.read.iter().any(|path| path == home || path == Path::new("/"));
            assert!(!home.starts_with(&mount.path) || is_named, "{mount:?}");
            assert_eq!(fs::canonicalize(&mount.path).ok().as_ref(), Some(&mount.path));
        }
    }
    let shows = |path: &PathBuf, kinds: &[MountKind]| {
        let real = fs::canonicalize(path).expect("it was followed");
        let mut mounts = plan.mounts.iter().filter(|mount| real.starts_with(&mount.path));
        mounts.any(|mount| kinds.contains(&mount.kind))
    };
    assert!(policy.read.iter().all(|path| shows(path, &[MountKind::Read, MountKind::Write])));
    assert!(policy.write.iter().all(|path| shows(path, &[MountKind::Write])));
}
