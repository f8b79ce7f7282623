//! What evaluators inherit of signals when the program that started the command blocks or ignores them.
#![cfg(unix)]
#![expect(clippy::disallowed_methods, reason = "this is what is tested")]

use std::process::Command;

use crate::support::{Directory, finish, has, trace};

/// Scores 1 if no signal is blocked or ignored, and if exit codes of its own processes are known.
const CHECK: &str = r#"
import json, signal, subprocess, sys
sys.stdin.read()
blocked = sorted(signal.pthread_sigmask(signal.SIG_BLOCK, []))
# Python itself ignores these two.
others = signal.valid_signals() - {signal.SIGPIPE, signal.SIGXFSZ}
ignored = sorted(s for s in others if signal.getsignal(s) == signal.SIG_IGN)
code = subprocess.run(["sh", "-c", "exit 3"]).returncode
print(json.dumps({"score": float(not blocked and not ignored and code == 3),
                  "details": {"blocked": blocked, "ignored": ignored, "code": code}}))
"#;

/// The same for a shell, which dies of each signal.
const SHELL: &str = r#"cat >/dev/null; sh -c 'exit 3'; [ $? = 3 ] || exit 1
for name in HUP INT QUIT PIPE TERM USR1 XFSZ; do sh -c "kill -$name \$\$; exit 0" && exit 2; done
echo '{"score": 1}'"#;

/// Blocks or ignores all signals, then becomes the program that it is given. Those that stop programs or report errors of
/// the processor are left alone.
const WRAPPER: &str = r#"
import os, signal, sys
if sys.argv[1] == "block":
    signal.pthread_sigmask(signal.SIG_BLOCK, range(1, signal.NSIG))
elif sys.argv[1] == "ignore":
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP, signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL}:
        signal.signal(number, signal.SIG_IGN)
os.execv(sys.argv[2], sys.argv[2:])
"#;

#[test]
fn evaluators_do_not_inherit_blocked_or_ignored_signals() {
    if !has("python3") {
        return;
    }
    let directory = Directory::new();
    directory.file("check.py", CHECK);
    directory.script("shell", SHELL);
    let wrapper = directory.file("wrapper.py", WRAPPER);
    let entry =
        |name: &str, more: &str| format!("- {{name: {name}, type: code, timeout: 100, {more}}}\n");
    let config = [
        "evaluators:\n".to_owned(),
        entry("forked", "path: check.py"),
        entry("started", "path: check.py, isolation: process"),
        entry("limited", "path: check.py, limits: {open_files: 64}"),
        entry("shell", "path: ./shell"),
    ];
    directory.file("c.yaml", config.concat());
    for how in ["nothing", "block", "ignore"] {
        let mut command = Command::new("python3");
        let evaluator = directory.command(&["run", "-o", "json", "-c", "c.yaml"]);
        command.arg(&wrapper).arg(how).arg(evaluator.get_program()).args(evaluator.get_args());
        // Enough conversations for forks.
        command.arg(trace("i11_five_traces_plain")).current_dir(directory.path());
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
        let ran = finish(command.spawn().unwrap()).exits(0);
        for conversation in 0..5 {
            let expected = ["forked PASSED", "started PASSED", "limited PASSED", "shell PASSED"];
            assert_eq!(ran.evaluations(conversation), expected, "{how}: {}", ran.stdout);
        }
    }
}
