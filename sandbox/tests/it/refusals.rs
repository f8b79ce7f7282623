//! Each reason to refuse, forced.

use std::{
    env,
    process::{Command, Stdio},
};

use evaluator_sandbox::Level;

use crate::world::{has, skip, text};

/// Asks for support in a process in which a system call fails with an error.
fn without(call: libc::c_long, errno: i32, level: Level) -> String {
    let args = ["support", level.name(), &call.to_string(), &errno.to_string()].map(str::to_owned);
    ask(Command::new(env::current_exe().unwrap()).args(args))
}

/// Asks for support after a preparation, as root of a new user namespace.
fn after(preparation: &str, level: Level) -> Option<String> {
    let script = format!("{preparation} && exec \"$0\" support {}", level.name());
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c", &script]);
    if Command::new("unshare").arg("--version").output().is_err() {
        let _ = skip("refusals: there is no unshare (util-linux)");
        return None;
    }
    Some(ask(command.arg(env::current_exe().unwrap())))
}

fn ask(command: &mut Command) -> String {
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    text(&output.stdout)
}

#[track_caller]
fn assert_refused(said: &str, kind: &str, parts: &[&str]) {
    assert!(said.starts_with(&format!("{kind}: ")), "{said}");
    for part in parts {
        assert!(said.contains(part), "{said}");
    }
}

#[test]
fn nothing_is_refused_without_a_reason() {
    for level in crate::world::levels() {
        let said = ask(Command::new(env::current_exe().unwrap()).args(["support", level.name()]));
        assert!(said.starts_with("supported"), "{said}");
    }
}

#[test]
fn user_namespaces_that_are_switched_off_are_named() {
    if !has(Level::Full) {
        return;
    }
    let off = "echo 0 > /proc/sys/user/max_user_namespaces";
    if let Some(said) = after(off, Level::Full) {
        assert_refused(
            &said,
            "UserNamespaces",
            &["user.max_user_namespaces=0", "sysctl -w", "level: partial"],
        );
    }
    if has(Level::Partial)
        && let Some(said) = after(off, Level::Partial)
    {
        assert!(said.starts_with("supported"), "{said}");
    }
}

#[test]
fn refused_namespaces_are_never_replaced_by_the_partial_level() {
    for errno in [libc::EPERM, libc::ENOSPC] {
        let said = without(libc::SYS_unshare, errno, Level::Full);
        assert_refused(&said, "UserNamespaces", &["level: partial", "executor: docker"]);
    }
}

#[test]
fn namespaces_that_permit_nothing_are_refused() {
    // As AppArmor does on Ubuntu: the namespace is made, and mounts in it fail.
    if has(Level::Full) {
        let said = without(libc::SYS_mount, libc::EACCES, Level::Full);
        assert_refused(&said, "UserNamespaces", &["level: partial"]);
    }
}

#[test]
fn a_proc_with_hidden_parts_is_refused() {
    if !has(Level::Full) {
        return;
    }
    if let Some(said) = after("mount -t tmpfs none /proc/sys", Level::Full) {
        assert_refused(&said, "Proc", &["a new /proc cannot be mounted", "executor: docker"]);
    }
}

#[test]
fn old_kernels_are_refused() {
    if has(Level::Full) {
        let said = without(libc::SYS_mount_setattr, libc::ENOSYS, Level::Full);
        assert_refused(&said, "Kernel", &["Linux 5.12"]);
    }
}

#[test]
fn calls_that_the_helper_needs_are_named() {
    for (call, errno, name) in [
        (libc::SYS_close_range, libc::ENOSYS, "close_range"),
        (libc::SYS_signalfd4, libc::EPERM, "signalfd"),
        (libc::SYS_pidfd_open, libc::ENOSYS, "pidfd_open"),
        (libc::SYS_pidfd_open, libc::EPERM, "pidfd_open"),
    ] {
        for level in crate::world::levels() {
            let said = without(call, errno, level);
            assert_refused(&said, "Kernel", &["lacks a system call", name, "executor: docker"]);
        }
    }
}

#[test]
fn landlock_is_needed_at_the_partial_level_only() {
    let call = libc::SYS_landlock_create_ruleset;
    let missing = without(call, libc::ENOSYS, Level::Partial);
    assert_refused(&missing, "Landlock", &["needs Landlock", "built without"]);
    let off = without(call, libc::EOPNOTSUPP, Level::Partial);
    assert_refused(&off, "Landlock", &["switched off", "lsm="]);
    // The call succeeds with version 0: as good as any that is too old.
    let old = without(call, 0, Level::Partial);
    assert_refused(&old, "Landlock", &["signalling your other processes", "Landlock ABI 6"]);
    if has(Level::Full) {
        assert_eq!(without(call, libc::ENOSYS, Level::Full), "supported without Landlock");
    }
}

#[test]
fn filters_are_needed_at_both_levels() {
    for level in crate::world::levels() {
        let said = without(libc::SYS_seccomp, libc::EINVAL, level);
        assert_refused(&said, "Filter", &["CONFIG_SECCOMP_FILTER"]);
    }
}
