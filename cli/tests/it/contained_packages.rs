//! Contained Rust packages: what cargo does for them outside of the sandbox, and which crates their builds see.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "helpers of tests may panic")]

use std::{fs, io::ErrorKind, net::TcpListener, os::unix::fs::symlink};

use crate::{
    containment::is_available,
    support::{Directory, Ran, finish, has, trace},
};

/// A program that answers with what its build script has found.
const MAIN: &str = "fn main() { println!(\"{{\\\"score\\\": 1, \\\"details\\\": {{\\\"found\\\": {:?}}}}}\", \
     option_env!(\"FOUND\").unwrap_or(\"\")); }\n";

const PACKAGE: &str = "[package]\nname = \"NAME\"\nversion = \"0.1.0\"\nedition = \"2024\"\n";

struct World(Directory);

impl World {
    /// `None`, with a message, if this machine cannot contain programs.
    fn new() -> Option<Self> {
        if !has("cargo") || !is_available() {
            return None;
        }
        let world = Self(Directory::new());
        world.package("src/own", "[workspace]\n");
        Some(world)
    }

    /// Writes a package whose manifest ends with `more`.
    fn package(&self, directory: &str, more: &str) {
        let name = directory.rsplit('/').next().unwrap();
        let text = PACKAGE.replace("NAME", name) + more;
        self.0.file(&format!("{directory}/Cargo.toml"), text);
        self.0.file(&format!("{directory}/src/main.rs"), MAIN);
        self.0.file(&format!("{directory}/src/lib.rs"), "pub fn one() -> i32 { 1 }\n");
    }

    /// Runs the package `src/NAME` in a sandbox with these settings.
    fn run(&self, settings: &str, name: &str) -> Ran {
        let entry = format!(
            "- {{name: it, type: code, path: src/{name}, executor: sandbox, sandbox: {{{settings}}}}}\n"
        );
        self.0.file("c.yaml", format!("evaluators:\n{entry}"));
        let traces = trace("i11_five_traces_plain");
        let args = ["run", &traces, "-c", "c.yaml", "--contain", "-o", "json"];
        let mut command = self.0.command(&args);
        command.env("EVALUATOR_CACHE_DIR", self.0.join("cache"));
        finish(command.spawn().unwrap())
    }

    /// The error about the package `src/NAME`.
    #[track_caller]
    fn refuses(&self, settings: &str, name: &str) -> String {
        self.run(settings, name).exits(3).error_of("it")
    }

    /// Names and contents of all files below a directory.
    fn snapshot(&self, directory: &str) -> String {
        self.0
            .sh(&format!(
                "find {directory} -type f | sort | xargs sha256sum; find {directory} | sort"
            ))
            .stdout
    }
}

#[test]
fn nothing_outside_writes_into_a_package() {
    let Some(world) = World::new() else { return };
    let before = world.snapshot("src/own");
    world.run("", "own").exits(0);
    assert_eq!(world.snapshot("src/own"), before);

    // An own lock file is used, and stays as it is.
    let lock = "version = 4\n\n[[package]]\nname = \"own\"\nversion = \"0.1.0\"\n\n[[package]]\nname = \"gone\"\nversion = \"0.1.0\"\n";
    world.0.file("src/own/Cargo.lock", lock);
    world.run("", "own").exits(0);
    assert_eq!(world.0.read("src/own/Cargo.lock"), lock);
}

#[test]
fn links_in_place_of_the_files_of_cargo_are_refused() {
    let Some(world) = World::new() else { return };
    let file = world.0.file("home/file", "precious\n");
    let absent = world.0.join("home/absent");
    for target in [&file, &absent] {
        let lock = world.0.join("src/own/Cargo.lock");
        symlink(target, &lock).unwrap();
        let error = world.refuses("", "own");
        assert!(error.contains("Cargo.lock: it is a link"), "{error}");
        fs::remove_file(lock).unwrap();
    }
    assert_eq!(world.0.read("home/file"), "precious\n");
    assert!(!absent.exists());

    // A dependency that a link leads out of the package.
    world.package("home/private", "");
    symlink(world.0.join("home/private"), world.0.join("src/own/inner")).unwrap();
    world.package("src/own", "[workspace]\n[dependencies]\nprivate = { path = \"inner\" }\n");
    let error = world.refuses("", "own");
    assert!(error.contains("home/private") && error.contains("sources"), "{error}");

    let manifest = world.0.join("src/own/Cargo.toml");
    fs::rename(&manifest, world.0.join("home/manifest")).unwrap();
    symlink(world.0.join("home/manifest"), &manifest).unwrap();
    let error = world.refuses("", "own");
    assert!(error.contains("Cargo.toml: it is a link"), "{error}");
}

#[test]
fn directories_outside_of_the_package_are_refused_unless_they_are_named() {
    let Some(world) = World::new() else { return };
    world.package("home/private", "");
    world.0.file("home/private/.env", "KEY=1\n");
    let private = world.0.join("home/private");
    for path in ["../../home/private".to_owned(), private.display().to_string()] {
        for table in ["dependencies", "dev-dependencies", "target.'cfg(unix)'.build-dependencies"] {
            let more = format!("[workspace]\n[{table}]\nprivate = {{ path = {path:?} }}\n");
            world.package("src/own", &more);
            let error = world.refuses("", "own");
            let expected = format!("takes `private` from the directory {}", private.display());
            assert!(error.contains(&expected) && error.contains("sources: [..]"), "{error}");
        }
    }
    let more = "[workspace]\n[dependencies]\nprivate = { path = \"../../home/private\" }\n";
    world.package("src/own", more);
    world.0.file("src/own/src/main.rs", format!("{MAIN}\nconst _: fn() -> i32 = private::one;\n"));
    world.run("sources: [home/private]", "own").exits(0);
    assert!(!world.0.join("home/private/Cargo.lock").exists());

    // What a named directory needs in turn has to be named, too.
    world.package("home/private", "[dependencies]\nsecond = { path = \"../second\" }\n");
    world.package("home/second", "");
    let error = world.refuses("sources: [home/private]", "own");
    assert!(error.contains("takes `second` from the directory"), "{error}");
    world.run("sources: [home]", "own").exits(0);
}

#[test]
fn a_workspace_shows_the_packages_that_a_member_needs() {
    let Some(world) = World::new() else { return };
    world.0.file(
        "src/Cargo.toml",
        "[workspace]\nmembers = [\"member\", \"other-*\"]\nresolver = \"3\"\n[workspace.dependencies]\n\
         needed = { path = \"needed\" }\nunused = { path = \"../absent\" }\n",
    );
    fs::remove_dir_all(world.0.join("src/own")).unwrap();
    world.package("src/needed", "");
    world.package("src/other-one", "");
    world.0.file("src/other-one/.env", "KEY=1\n");
    world.package("src/member", "[dependencies]\nneeded.workspace = true\n");
    let script = "fn main() { let found: Vec<_> = [\"../needed/Cargo.toml\", \"../other-one/.env\", \"../Cargo.toml\"].iter()\
                  .filter(|it| std::fs::read(format!(\"SRC/member/{it}\")).is_ok()).collect();\
                  println!(\"cargo::rustc-env=FOUND={found:?}\") }\n";
    let script = script.replace("SRC", &world.0.join("src").display().to_string());
    world.0.file("src/member/build.rs", script);
    let report = world.run("", "member").exits(0).json();
    let details = &report["traces"][0]["metrics"][0]["details"];
    assert_eq!(details["found"], "[\"../needed/Cargo.toml\"]", "{details}");
}

#[test]
fn no_server_of_a_package_is_asked() {
    let Some(world) = World::new() else { return };
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    server.set_nonblocking(true).unwrap();
    let url = format!("http://{}/latest/meta-data/", server.local_addr().unwrap());
    for more in [
        format!("[dependencies]\nx = {{ git = {url:?} }}\n"),
        format!("[build_dependencies]\nx = {{ git = {url:?}, rev = \"1\" }}\n"),
        format!("[dependencies]\nx = {{ version = \"1\", registry-index = \"sparse+{url}\" }}\n"),
        format!("[patch.crates-io]\nserde = {{ git = {url:?} }}\n"),
    ] {
        world.package("src/own", &format!("[workspace]\n{more}"));
        let error = world.refuses("", "own");
        assert!(error.contains(&url) && error.contains("sources: [..]"), "{more}: {error}");
    }
    world.package(
        "src/own",
        "[workspace]\n[dependencies]\nx = { version = \"1\", registry = \"mine\" }\n",
    );
    let error = world.refuses("", "own");
    assert!(error.contains("takes `x` from the registry `mine`"), "{error}");
    assert_eq!(server.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
}

#[test]
fn repositories_that_are_named_are_used() {
    let Some(world) = World::new() else { return };
    if !has("git") {
        return;
    }
    world.package("repository", "");
    let git = "git -c user.name=a -c user.email=a@example.org -c init.defaultBranch=main";
    world.0.sh(&format!("cd repository && {git} init -q && {git} add . && {git} commit -qm one"));
    let url = format!("file://{}", world.0.join("repository").display());
    world.package(
        "src/own",
        &format!("[workspace]\n[dependencies]\nrepository = {{ git = {url:?} }}\n"),
    );
    world
        .0
        .file("src/own/src/main.rs", format!("{MAIN}\nconst _: fn() -> i32 = repository::one;\n"));
    let error = world.refuses("", "own");
    assert!(error.contains(&url), "{error}");
    // The cache of cargo, which has other repositories and crates, is not shown as a whole.
    let mut cargo_home = world.0.join("cargo-home");
    fs::create_dir_all(cargo_home.join("git/checkouts/private-0123/4567")).unwrap();
    cargo_home = cargo_home.canonicalize().unwrap();
    let script = format!(
        "fn main() {{ let found: Vec<_> = std::fs::read_dir(\"{}/git/checkouts\").unwrap()\
         .map(|it| it.unwrap().file_name().into_string().unwrap().starts_with(\"repository\")).collect();\
         println!(\"cargo::rustc-env=FOUND={{found:?}}\") }}\n",
        cargo_home.display()
    );
    world.0.file("src/own/build.rs", script);
    let entry = format!(
        "- {{name: it, type: code, path: src/own, executor: sandbox, sandbox: {{sources: [{url:?}]}}}}\n"
    );
    world.0.file("c.yaml", format!("evaluators:\n{entry}"));
    let traces = trace("i11_five_traces_plain");
    let mut command = world.0.command(&["run", &traces, "-c", "c.yaml", "-o", "json"]);
    command
        .env("EVALUATOR_CACHE_DIR", world.0.join("cache"))
        .env("CARGO_HOME", &cargo_home)
        .env_remove("CARGO_NET_OFFLINE");
    let report = finish(command.spawn().unwrap()).exits(0).json();
    assert_eq!(report["traces"][0]["metrics"][0]["details"]["found"], "[true]");
}

#[test]
fn a_build_sees_the_crates_of_its_lock_file_only() {
    let Some(world) = World::new() else { return };
    world.package("src/own", "[workspace]\n[dependencies]\nitoa = \"1\"\n");
    let script = "fn main() { let home = std::env::var(\"CARGO_HOME\").unwrap();\
        let mut found = Vec::new();\
        for index in std::fs::read_dir(format!(\"{home}/registry/src\")).unwrap() {\
            for one in std::fs::read_dir(index.unwrap().path()).unwrap() {\
                found.push(one.unwrap().file_name().into_string().unwrap().split('-').next().unwrap().to_owned()); } }\
        println!(\"cargo::rustc-env=FOUND={found:?}\") }\n";
    world.0.file("src/own/build.rs", script);
    let ran = world.run("", "own");
    let report = ran.exits(0).json();
    assert_eq!(report["traces"][0]["metrics"][0]["details"]["found"], "[\"itoa\"]");
}
