//! What is visible in a sandbox, and under which names.

use std::{
    ffi::{OsStr, OsString},
    fs,
    os::unix::{ffi::OsStrExt, fs::symlink},
    path::{Path, PathBuf},
    process::Command,
};

use evaluator_sandbox::{Level, Policy, RefusalKind, wrap};
use tempfile::TempDir;

use crate::world::{answer, has, levels, policy, run, shell, text};

fn directory() -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir_in("/var/tmp").unwrap();
    let path = directory.path().canonicalize().unwrap();
    (directory, path)
}

#[test]
fn only_what_the_policy_names_can_be_read() {
    for level in levels() {
        let (_directory, path) = directory();
        fs::create_dir(path.join("shown")).unwrap();
        fs::write(path.join("shown/file"), "shown").unwrap();
        fs::write(path.join("hidden"), "hidden").unwrap();
        let policy = Policy { read: vec![path.join("shown")], ..policy(level) };
        let script =
            format!("cd '{}'; cat shown/file; cat hidden; echo x > shown/file", path.display());
        let output = run(&mut shell(&policy, &script));
        assert_eq!(text(&output.stdout), "shown", "{output:?}");
        assert!(!output.status.success());
        assert_eq!(fs::read_to_string(path.join("shown/file")).unwrap(), "shown");
    }
}

#[test]
fn names_are_any_bytes() {
    for level in levels() {
        let (_directory, path) = directory();
        for name in
            [&b"with blank"[..], b"line\nbreak", b"not\xff\xfeutf8", b"{\"'$(x)", b"-- ,:=\\040"]
        {
            let shown = path.join(OsStr::from_bytes(name));
            fs::create_dir(&shown).unwrap();
            fs::write(shown.join("file"), name).unwrap();
            let policy = Policy { read: vec![shown.clone()], ..policy(level) };
            let args = [OsString::from("file")];
            let wrapped = wrap(&policy, "cat".as_ref(), &args, Some(&shown)).unwrap();
            let output = run(Command::new(wrapped.program).args(wrapped.args));
            assert_eq!(output.stdout, name, "{output:?}");
        }
    }
}

#[test]
fn links_lead_to_the_same_places() {
    for level in levels() {
        let (_directory, path) = directory();
        fs::create_dir_all(path.join("real/data")).unwrap();
        fs::write(path.join("real/data/file"), "found").unwrap();
        symlink("real", path.join("relative")).unwrap();
        symlink(path.join("relative/data"), path.join("absolute")).unwrap();
        for name in ["absolute", "relative/data", "absolute/../data", "./real//data/."] {
            let shown = path.join(name);
            let policy = Policy { read: vec![shown.clone()], ..policy(level) };
            let file = shown.join("file");
            let said = answer(&mut shell(&policy, &format!("cat '{}'", file.display())));
            assert_eq!(said, "found", "{name}");
        }
    }
}

#[test]
fn a_link_that_changes_later_opens_nothing() {
    for level in levels() {
        let (_directory, path) = directory();
        fs::create_dir(path.join("shown")).unwrap();
        fs::create_dir(path.join("secret")).unwrap();
        fs::write(path.join("secret/file"), "secret").unwrap();
        let shown = path.join("shown");
        let policy = Policy { read: vec![shown.clone()], ..policy(level) };
        let args = [OsString::from(shown.join("file"))];
        let wrapped = wrap(&policy, "cat".as_ref(), &args, None).unwrap();
        fs::rename(&shown, path.join("moved")).unwrap();
        symlink("secret", &shown).unwrap();
        let output = run(Command::new(wrapped.program).args(wrapped.args));
        assert_eq!(output.status.code(), Some(evaluator_sandbox::HELPER_FAILED), "{output:?}");
        assert_eq!(text(&output.stdout), "");
    }
}

#[test]
fn directories_to_write_and_to_read_can_be_nested() {
    for level in levels() {
        let (_directory, path) = directory();
        fs::create_dir_all(path.join("source/out")).unwrap();
        let source = path.join("source");
        let policy =
            Policy { read: vec![source.clone()], write: vec![source.join("out")], ..policy(level) };
        let script = format!(
            "cd '{}'; echo x > new 2>/dev/null || echo refused; echo y > out/new",
            source.display()
        );
        assert_eq!(answer(&mut shell(&policy, &script)), "refused");
        assert_eq!(fs::read_to_string(source.join("out/new")).unwrap(), "y\n");
        assert!(!source.join("new").exists());
    }
}

#[test]
fn sources_below_the_temporary_directory_are_visible() {
    for level in levels() {
        let directory = tempfile::tempdir_in("/tmp").unwrap();
        fs::write(directory.path().join("file"), "found").unwrap();
        let policy = Policy { read: vec![directory.path().to_owned()], ..policy(level) };
        let file = directory.path().join("file");
        assert_eq!(answer(&mut shell(&policy, &format!("cat '{}'", file.display()))), "found");
    }
}

#[test]
fn the_whole_root_directory_can_be_shown_and_not_changed() {
    if !has(Level::Full) {
        return;
    }
    let (_directory, path) = directory();
    fs::write(path.join("file"), "found").unwrap();
    let policy = Policy { read: vec!["/".into()], ..policy(Level::Full) };
    let file = path.join("file").display().to_string();
    let script = format!(
        "cat '{file}'; echo x > '{file}' || echo refused; echo y > /tmp/x && ls /tmp; ls /proc/1 2>&1 | wc -l"
    );
    let said = answer(&mut shell(&policy, &script));
    assert!(said.starts_with("foundrefused\nx\n"), "{said}");
}

#[test]
fn paths_that_would_show_too_much_are_refused() {
    let refused = |policy: Policy| {
        let refusal = wrap(&policy, Path::new("true"), &[], None).unwrap_err();
        assert_eq!(refusal.kind(), RefusalKind::Policy);
        refusal.to_string()
    };
    let (_directory, path) = directory();
    fs::write(path.join("file"), "").unwrap();
    symlink("/", path.join("everything")).unwrap();
    let read = |path: &Path| refused(Policy { read: vec![path.to_owned()], ..Policy::default() });
    let write = |path: &Path| refused(Policy { write: vec![path.to_owned()], ..Policy::default() });
    assert!(read(&path.join("everything")).contains("would show"));
    assert!(read(Path::new("/usr/..")).contains("would show"));
    assert!(read(&path.join("missing")).contains("No such file"));
    for own in ["/tmp", "/dev", "/proc/self", "/dev/null"] {
        assert!(read(Path::new(own)).contains("sandbox's own") || own == "/dev/null", "{own}");
        assert!(write(Path::new(own)).contains("`write`"), "{own}");
    }
    assert!(write(Path::new("/")).contains("would be changed"));
    assert!(write(Path::new("/usr")).contains("can only be read"));
    assert!(write(&path.join("file")).contains("not a directory"));
    let code = Policy { read: vec![path.clone()], write: vec![path.clone()], ..Policy::default() };
    assert!(refused(code).contains("can only be read"));
}

#[test]
fn long_paths_are_shown_and_too_many_are_refused() {
    for level in levels() {
        let (_directory, path) = directory();
        // Near the longest path that a system call takes.
        let long = (0..15).fold(path, |path, _| path.join("x".repeat(250)));
        let shown: Vec<PathBuf> = (0..40).map(|number| long.join(number.to_string())).collect();
        shown.iter().for_each(|path| fs::create_dir_all(path).unwrap());
        fs::write(shown[0].join("file"), "found").unwrap();
        let args = [OsString::from("file")];
        let policy = Policy { read: vec![shown[0].clone()], ..policy(level) };
        let wrapped = wrap(&policy, "cat".as_ref(), &args, Some(&shown[0])).unwrap();
        let output = run(Command::new(wrapped.program).args(wrapped.args));
        assert_eq!(text(&output.stdout), "found", "{output:?}");
        let refusal =
            wrap(&Policy { read: shown, ..policy }, "cat".as_ref(), &[], None).unwrap_err();
        assert!(refusal.to_string().contains("name directories instead"), "{refusal}");
    }
}
