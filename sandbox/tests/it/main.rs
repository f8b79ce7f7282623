//! Contained programs: attacks and honest ones, at both levels.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::ffi::OsString;

use evaluator_sandbox::{Level, Policy, run_if_helper, support, wrap};

/// Makes this executable its own helper, before the test harness reads the arguments.
#[expect(unsafe_code, reason = "runs before `main`, which belongs to the test harness")]
#[used]
#[unsafe(link_section = ".init_array")]
static HELPER: extern "C" fn() = {
    extern "C" fn helper() {
        run_if_helper();
    }
    helper
};

#[test]
fn smoke() {
    println!("{:?}", support(Level::Full));
    println!("{:?}", support(Level::Partial));
    for level in [Level::Full, Level::Partial] {
        let policy = Policy { level, ..Policy::default() };
        let args: Vec<OsString> = ["-c", "id; ls -la / /tmp; cat /proc/self/status | grep -E 'Cap|NoNew|Pid|Secc'; ls /proc; echo $$; env | grep TMP; exit 7"].map(Into::into).to_vec();
        let w = wrap(&policy, "sh".as_ref(), &args, None).unwrap();
        #[expect(clippy::disallowed_methods, reason = "test")]
        let out = std::process::Command::new(w.program).args(w.args).output().unwrap();
        println!(
            "{:?}\n{}\n{}",
            out.status,
            String::from_utf8_lossy(&out.stdout),
            String::from_utf8_lossy(&out.stderr)
        );
    }
}
