//! A contained program behaves as if it were started directly: streams, exit, signals, limits.

use std::{
    fs,
    io::Read as _,
    os::unix::{fs::PermissionsExt, process::ExitStatusExt},
    process::{Child, Command},
};

use evaluator_sandbox::{HELPER_ERROR, HELPER_FAILED, Level, Limits, Policy, wrap};
use rustix::process::{Pid, Signal, kill_process_group};

use crate::world::{
    answer, contained, has, is_root, levels, marker, policy, processes_with, read_line, run, shell,
    text, wait_for,
};

#[test]
fn exit_codes_are_those_of_the_program() {
    for level in levels() {
        for code in [0, 7, HELPER_FAILED, 126, 127] {
            let output = run(&mut shell(&policy(level), &format!("echo said >&2; exit {code}")));
            assert_eq!(output.status.code(), Some(code), "{output:?}");
            assert_eq!(text(&output.stderr), "said");
        }
    }
}

#[test]
fn programs_that_cannot_be_started_are_reported_in_one_line() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("text");
    fs::write(&file, "no program").unwrap();
    for level in levels() {
        for (program, code) in [
            ("there-is-no-such-program", 127),
            ("/no/such\nprogram", 127),
            (file.to_str().unwrap(), 126),
        ] {
            let output = run(&mut contained(&policy(level), program, &[]));
            let said = text(&output.stderr);
            assert_eq!(output.status.code(), Some(code), "{said}");
            assert!(said.starts_with(&format!("{HELPER_ERROR}cannot start ")), "{said}");
            assert_eq!(said.lines().count(), 1, "{said}");
        }
    }
}

#[test]
fn failures_of_the_helper_are_told_from_those_of_the_program() {
    for level in levels() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("gone");
        fs::create_dir(&path).unwrap();
        let cwd = Some(path.as_path());
        let policy = Policy { read: vec![path.clone()], ..policy(level) };
        let wrapped = wrap(&policy, "true".as_ref(), &[], cwd).unwrap();
        fs::remove_dir(&path).unwrap();
        let output = run(Command::new(wrapped.program).args(wrapped.args));
        assert_eq!(output.status.code(), Some(HELPER_FAILED));
        let said = text(&output.stderr);
        assert!(said.starts_with(HELPER_ERROR) && said.contains("gone"), "{said}");
    }
}

#[test]
fn a_program_dies_of_its_signal() {
    for level in levels() {
        for signal in [
            Signal::KILL,
            Signal::SEGV,
            Signal::ABORT,
            Signal::TERM,
            Signal::INT,
            Signal::XCPU,
            Signal::SYS,
        ] {
            let output = run(&mut shell(&policy(level), &format!("kill -{} $$", signal.as_raw())));
            assert_eq!(output.status.signal(), Some(signal.as_raw()), "{level:?} {output:?}");
            assert_eq!(text(&output.stderr), "");
        }
    }
}

/// A host that was started in the background, or by `nohup`, ignores signals.
#[test]
fn what_the_host_ignores_is_not_inherited() {
    for level in levels() {
        for signal in [
            Signal::HUP,
            Signal::INT,
            Signal::QUIT,
            Signal::TERM,
            Signal::PIPE,
            Signal::USR1,
            Signal::XCPU,
        ] {
            let policy = serde_json::to_string(&policy(level)).unwrap();
            let kill = format!("kill -{} $$", signal.as_raw());
            let script = "trap '' HUP INT QUIT TERM PIPE USR1 XCPU; exec \"$@\"";
            let mut host = Command::new("sh");
            host.args(["-c", script, "sh"]).arg(std::env::current_exe().unwrap());
            host.args(["contain", &policy, "--", "sh", "-c", &kill]);
            std::os::unix::process::CommandExt::process_group(&mut host, 0);
            let output = run(&mut host);
            assert_eq!(output.status.signal(), Some(signal.as_raw()), "{level:?} {output:?}");
        }
    }
}

fn signal(child: &Child, signal: Signal) {
    kill_process_group(Pid::from_child(child), signal).unwrap();
}

#[test]
fn the_program_decides_what_to_do_when_asked_to_end() {
    for level in levels() {
        // Builtins only, so that there is no other process to signal.
        let script = "trap 'exit 3' TERM; echo ready; while read line; do :; done";
        let mut command = shell(&policy(level), script);
        let mut child = command.stdin(std::process::Stdio::piped()).spawn().unwrap();
        assert_eq!(read_line(child.stdout.as_mut().unwrap()), "ready");
        signal(&child, Signal::TERM);
        let open = child.stdin.take();
        assert_eq!(child.wait().unwrap().code(), Some(3), "{level:?}");
        drop(open);
    }
}

#[test]
fn killing_the_group_ends_everything() {
    for level in levels() {
        let marker = marker("group");
        let script = format!(
            "trap '' TERM INT; (trap '' TERM; sleep 300; : {marker}) & echo ready; wait; sleep 300"
        );
        let mut child = shell(&policy(level), &script).spawn().unwrap();
        assert_eq!(read_line(child.stdout.as_mut().unwrap()), "ready");
        signal(&child, Signal::TERM);
        signal(&child, Signal::INT);
        assert_eq!(child.try_wait().unwrap(), None);
        signal(&child, Signal::KILL);
        assert_eq!(child.wait().unwrap().signal(), Some(Signal::KILL.as_raw()));
        wait_for("processes are left", || processes_with(&marker).is_empty());
    }
}

#[test]
fn the_end_of_output_comes_when_the_program_closes_it() {
    for level in levels() {
        let script = "echo said; exec >&- 2>&-; read line; exit 4";
        let mut command = shell(&policy(level), script);
        let mut child = command.stdin(std::process::Stdio::piped()).spawn().unwrap();
        let mut said = String::new();
        child.stdout.take().unwrap().read_to_string(&mut said).unwrap();
        child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert_eq!(said, "said\n");
        assert_eq!(child.try_wait().unwrap(), None);
        drop(child.stdin.take());
        assert_eq!(child.wait().unwrap().code(), Some(4));
    }
}

#[test]
fn descendants_end_before_the_command() {
    if !has(Level::Full) {
        return;
    }
    let marker = marker("left");
    // One keeps the output open, the other one is a daemon.
    let script = format!(
        "sh -c 'sleep 300; : {marker}' & setsid sh -c 'sleep 300; : {marker}' >/dev/null 2>&1 & exit 5"
    );
    let mut child = shell(&policy(Level::Full), &script).spawn().unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(5));
    // The helper has the script in its command line, too.
    let is_shell =
        |id: &i32| fs::read_to_string(format!("/proc/{id}/comm")).is_ok_and(|it| it == "sh\n");
    let mut left = processes_with(&marker);
    left.retain(is_shell);
    assert_eq!(left, [] as [i32; 0]);
    let mut output = child.stdout.take().unwrap();
    rustix::io::ioctl_fionbio(&output, true).unwrap();
    assert_eq!(output.read(&mut [0]).unwrap(), 0, "the output has not ended");
}

#[test]
fn the_machine_is_not_described() {
    if !has(Level::Full) {
        return;
    }
    let script = "uname -n; cat /proc/sys/kernel/domainname; for name in cmdline interrupts diskstats zoneinfo \
                  kpagecount kpageflags slabinfo vmallocinfo timer_list keys key-users config.gz; do \
                  head -c 16 /proc/$name 2>/dev/null | wc -c; done | sort -u";
    assert_ne!(fs::read("/proc/cmdline").unwrap(), b"");
    assert_eq!(answer(&mut shell(&policy(Level::Full), script)), "localhost\n(none)\n0");
}

#[test]
fn environment_and_user_are_inherited() {
    for level in levels() {
        let script = "echo $GIVEN; id -u; id -g; umask";
        let said = answer(shell(&policy(level), script).env("GIVEN", "a b"));
        let (user, group) = (rustix::process::geteuid(), rustix::process::getegid());
        let expected = format!("a b\n{}\n{}\n0077", user.as_raw(), group.as_raw());
        assert_eq!(said, expected);
    }
}

#[test]
fn the_temporary_directory_is_there_and_goes() {
    for level in levels() {
        let script = "t=${TMPDIR:-/tmp}; pwd; echo x > file && echo y > $t/other && ls $t";
        let said = answer(&mut shell(&policy(level), script));
        let (directory, files) = said.split_once('\n').unwrap();
        assert_eq!(files, "file\nother");
        if level == Level::Full {
            assert_eq!(directory, "/tmp");
        } else {
            wait_for("the directory is left", || !fs::exists(directory).unwrap());
        }
    }
}

#[test]
fn limits_are_those_of_the_policy() {
    let limits = Limits {
        memory: Some(512 << 20),
        cpu: Some(100),
        open_files: Some(100),
        file_size: Some(1 << 20),
    };
    for level in levels() {
        let policy = Policy { limits, ..policy(level) };
        let script = "ulimit -d; ulimit -t; ulimit -n; ulimit -f; ulimit -c";
        // Kilobytes, seconds, files, blocks of 512 bytes.
        assert_eq!(answer(&mut shell(&policy, script)), "524288\n100\n100\n2048\n0");
        let script = "t=${TMPDIR:-/tmp}; head -c 2000000 /dev/zero > $t/x 2>/dev/null; echo $?; wc -c < $t/x";
        let said = answer(&mut shell(&policy, script));
        // Killed by SIGXFSZ.
        assert_eq!(said, "153\n1048576");
    }
}

#[test]
fn small_limits_are_the_problem_of_the_program() {
    for level in levels() {
        for limits in [
            Limits { memory: Some(4096), ..Limits::default() },
            Limits { open_files: Some(3), ..Limits::default() },
            Limits { file_size: Some(0), ..Limits::default() },
        ] {
            let policy = Policy { limits, ..policy(level) };
            let output = run(&mut contained(&policy, "true", &[]));
            assert_ne!(output.status.code(), Some(HELPER_FAILED), "{output:?}");
            assert!(!text(&output.stderr).starts_with(HELPER_ERROR), "{output:?}");
        }
    }
}

#[test]
fn processor_time_is_limited() {
    for level in levels() {
        let limits = Limits { cpu: Some(1), ..Limits::default() };
        let policy = Policy { limits, ..policy(level) };
        let output = run(&mut shell(&policy, "while :; do :; done"));
        assert_eq!(output.status.signal(), Some(Signal::XCPU.as_raw()), "{output:?}");
    }
}

#[test]
fn the_number_of_processes_is_exact_and_ids_do_not_run_out() {
    if !has(Level::Full) {
        return;
    }
    let policy = Policy { processes: 10, ..policy(Level::Full) };
    // More processes after each other than there are reserved ids.
    let script = "i=0; while [ $i -lt 700 ]; do (:) | (:) || exit 9; i=$((i+1)); done; echo $i";
    assert_eq!(answer(&mut shell(&policy, script)), "700");
    if is_root() && !has_own_ids() {
        return;
    }
    // The shell itself and nine more.
    let script = "i=0; while [ $i -lt 9 ]; do sleep 300 & i=$((i+1)); done; echo $i; sleep 300 & echo too many";
    let output = run(&mut shell(&policy, script));
    assert_eq!(text(&output.stdout), "9", "{output:?}");
    assert!(!output.status.success());
}

/// Root is limited through `pid_max`, which a PID namespace has since Linux 6.14.
fn has_own_ids() -> bool {
    let system = rustix::system::uname();
    let release = system.release().to_str().unwrap().to_owned();
    let mut numbers = release.split(['.', '-']).map_while(|part| part.parse::<u32>().ok());
    (numbers.next(), numbers.next()) >= (Some(6), Some(14))
}

#[test]
fn written_files_stay_and_belong_to_the_user() {
    for level in levels() {
        let directory = tempfile::tempdir_in("/var/tmp").unwrap();
        let policy = Policy { write: vec![directory.path().to_owned()], ..policy(level) };
        let script = format!(
            "cd '{}' && mkdir d && echo kept > d/file && mv d/file moved",
            directory.path().display()
        );
        answer(&mut shell(&policy, &script));
        let file = directory.path().join("moved");
        assert_eq!(fs::read_to_string(&file).unwrap(), "kept\n");
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    }
}
