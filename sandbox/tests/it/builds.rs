//! A build in a sandbox: the compiler runs code of the package.

use std::{env, fs, net::TcpListener, path::Path, process::Command};

use evaluator_sandbox::{Level, Limits, Policy, wrap};
use serde_json::Value;

use crate::world::{has, text};

#[test]
fn a_macro_reaches_nothing_while_its_package_is_built() {
    if !has(Level::Full) {
        return;
    }
    let directory = tempfile::tempdir_in("/var/tmp").unwrap();
    let package = directory.path().join("package");
    let probe = "tests/fixtures/probes/attack/rust_proc_macro";
    let probe = Path::new(env!("CARGO_MANIFEST_DIR")).join(probe);
    let copied = Command::new("cp").arg("-r").arg(probe).arg(&package).status().unwrap();
    assert!(copied.success());
    // Its queue accepts the connection of an attack that gets out.
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = server.local_addr().unwrap().port();
    fs::write(package.join("snoop/port"), port.to_string()).unwrap();
    let home = directory.path().join("home");
    fs::create_dir_all(home.join(".ssh")).unwrap();
    fs::write(home.join(".ssh/id_decoy"), "DECOY").unwrap();
    let target = directory.path().join("target");
    fs::create_dir(&target).unwrap();
    // Not the command of rustup, which would look for its toolchains below HOME.
    let rustc = env::var_os("RUSTC").unwrap_or("rustc".into());
    let sysroot = Command::new(rustc).args(["--print", "sysroot"]).output().unwrap();
    let toolchain = Path::new(&text(&sysroot.stdout)).join("bin");
    let cargo = toolchain.join("cargo");
    if !cargo.exists() {
        let _ = crate::world::skip("builds: the toolchain has no cargo");
        return;
    }
    let policy = Policy {
        read: vec![toolchain.parent().unwrap().to_owned(), package.clone()],
        write: vec![target.clone()],
        tmp: 256 << 20,
        processes: 1000,
        limits: Limits {
            memory: Some(4 << 30),
            open_files: Some(4096),
            file_size: Some(1 << 30),
            ..Limits::default()
        },
        ..Policy::default()
    };
    let args = ["build", "--offline", "--quiet", "--target-dir"].map(Into::into);
    let args: Vec<_> = args.into_iter().chain([target.clone().into()]).collect();
    // The lock file is made beside the package, which cannot be written to inside.
    let mut locked = Command::new(&cargo);
    locked.args(["generate-lockfile", "--offline"]).current_dir(&package);
    assert!(locked.env("CARGO_HOME", directory.path().join("cargo")).status().unwrap().success());
    let wrapped = wrap(&policy, &cargo, &args, Some(&package)).unwrap();
    let mut build = Command::new(wrapped.program);
    build.args(wrapped.args).env_clear().env("HOME", &home).env("CARGO_HOME", "/tmp/cargo");
    build.env("PATH", format!("{}:/usr/bin:/bin", toolchain.display()));
    let output = build.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let built = Command::new(target.join("debug/rust_proc_macro")).output().unwrap();
    let answer: Value = serde_json::from_slice(&built.stdout).unwrap();
    assert_eq!(answer["details"]["escaped"], false, "{answer}");
    assert!(!home.join(".evaluator-probe-planted").exists());
}
