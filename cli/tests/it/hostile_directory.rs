//! The working directory is an untrusted checkout: no command runs anything of it, and no tool starts in it.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "helpers of tests may panic")]

use std::{fs, path::PathBuf, process::Command};

use crate::support::{Directory, Ran, finish, has, serving::Serving, trace};

/// Tools that are called for versions and metadata, and to build.
const TOOLS: [&str; 10] =
    ["cargo", "rustc", "python3", "python", "node", "git", "npm", "npx", "uv", "docker"];

/// Modules of the standard library that interpreters or this program import, and those that start with an interpreter.
const MODULES: [&str; 17] = [
    "ast",
    "json",
    "stat",
    "os",
    "re",
    "email",
    "zipfile",
    "importlib",
    "traceback",
    "venv",
    "pip",
    "packaging",
    "unittest",
    "pytest",
    "statistics",
    "sitecustomize",
    "usercustomize",
];

const MANIFEST: &str = "name: NAME\ndescription: Answers.\nlanguage: python\nentrypoint: NAME.py\n";

/// Returns the path of a tool of this machine.
fn found(tool: &str) -> Option<PathBuf> {
    let path = std::env::var("PATH").unwrap();
    std::env::split_paths(&path).map(|it| it.join(tool)).find(|it| it.is_file())
}

/// A checkout with evaluators and files that leave a mark if they run, and tools that note where they start.
struct World {
    directory: Directory,
    path: String,
}

impl World {
    fn new() -> Self {
        let world = Self { directory: Directory::new(), path: String::new() };
        let directory = &world.directory;
        for place in ["here", "here/rust", "here/evaluators/check", "here/js"] {
            world.hostile(place);
        }
        let python = "import sys\nprint('{\"score\": 1}')\n";
        directory.file("here/check.py", python);
        directory.file("here/test_check.py", "");
        directory.file("here/evaluators/check/check.py", python);
        directory.file("here/evaluators/check/evaluator.yaml", MANIFEST.replace("NAME", "check"));
        directory.file("here/js/check.js", "console.log('{\"score\": 1}')");
        directory.file("here/js/check.ts", "console.log('{\"score\": 1}')");
        let package =
            "[package]\nname = \"rust\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[workspace]\n";
        directory.file("here/rust/Cargo.toml", package);
        directory
            .file("here/rust/src/main.rs", "fn main() { println!(\"{{\\\"score\\\": 1}}\"); }");
        let mark = directory.join("marks/build.rs");
        fs::create_dir_all(directory.join("marks")).unwrap();
        directory.file(
            "here/rust/build.rs",
            format!("fn main() {{ let _ = std::fs::write({mark:?}, \"\"); }}"),
        );
        let path = world.tools();
        Self { path, ..world }
    }

    /// Writes everything that tools may take from a directory.
    fn hostile(&self, place: &str) {
        let directory = &self.directory;
        let mark =
            |what: &str| directory.join("marks").join(format!("{place}-{what}").replace('/', "-"));
        for module in MODULES {
            let mark = mark(module);
            directory
                .file(&format!("{place}/{module}.py"), format!("open({mark:?}, 'w').close()\n"));
        }
        for tool in TOOLS {
            let script = format!("touch {:?}\nexit 1", mark(tool));
            for name in
                [tool.to_owned(), format!("tc/bin/{tool}"), format!("node_modules/.bin/{tool}")]
            {
                directory.script(&format!("{place}/{name}"), &script);
            }
        }
        for wrapper in ["wrapper", "node_modules/.bin/tsx"] {
            directory.script(
                &format!("{place}/{wrapper}"),
                &format!("touch {:?}\nexit 1", mark("wrapper")),
            );
        }
        let required = mark("required");
        directory.file(
            &format!("{place}/evil.js"),
            format!("require('fs').writeFileSync({required:?}, '')"),
        );
        let here = directory.join(place);
        let toolchain = format!("[toolchain]\npath = {:?}\n", here.join("tc"));
        directory.file(&format!("{place}/rust-toolchain.toml"), toolchain);
        directory.file(
            &format!("{place}/.cargo/config.toml"),
            format!("[build]\nrustc = {0:?}\nrustc-wrapper = {0:?}\n", here.join("wrapper")),
        );
        directory.file(&format!("{place}/.npmrc"), "node-options=--require ./evil.js\n");
        directory.file(&format!("{place}/.node-version"), "../tc\n");
        directory.file(&format!("{place}/.python-version"), "../tc\n");
        directory.file(&format!("{place}/.tool-versions"), "python path:./tc\nnodejs path:./tc\n");
        directory.file(
            &format!("{place}/package.json"),
            "{\"scripts\": {\"preinstall\": \"./wrapper\"}}",
        );
        directory.file(&format!("{place}/pyvenv.cfg"), "home = ./tc/bin\n");
        directory.file(&format!("{place}/uv.toml"), "python-preference = \"only-system\"\n");
    }

    /// Makes tools that write down where they start. Returns the search path.
    fn tools(&self) -> String {
        let path = std::env::var("PATH").unwrap();
        for tool in TOOLS {
            if let Some(found) = found(tool) {
                let log = self.directory.join("starts");
                let script = format!("echo \"{tool} in $PWD\" >>{log:?}\nexec {found:?} \"$@\"");
                self.directory.script(&format!("tools/{tool}"), &script);
            }
        }
        format!("{}:{path}", self.directory.join("tools").display())
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = self.directory.command(args);
        command
            .current_dir(self.directory.join("here"))
            .env("PATH", &self.path)
            .env("EVALUATOR_CACHE_DIR", self.directory.join("here/.cache"));
        command
    }

    fn evaluator(&self, args: &[&str]) -> Ran {
        finish(self.command(args).spawn().unwrap())
    }

    /// Checks that nothing of the directory has run, and that no tool has started in it.
    #[track_caller]
    fn held(&self, what: &str) {
        let marks: Vec<PathBuf> = fs::read_dir(self.directory.join("marks"))
            .unwrap()
            .map(|it| it.unwrap().path())
            .collect();
        assert!(marks.is_empty(), "{what}: {marks:?}");
        let starts = fs::read_to_string(self.directory.join("starts")).unwrap_or_default();
        let here = self.directory.join("here").display().to_string();
        let cache = self.directory.join("here/.cache").display().to_string();
        // Installers work in an environment that is being made.
        let in_it = |line: &&str| line.contains(&here) && !line.contains(&cache);
        let inside: Vec<&str> = starts.lines().filter(in_it).collect();
        assert!(inside.is_empty(), "{what}: {inside:?}");
    }

    /// Writes the configurations `contained.yaml` and `local.yaml`. Returns false if this machine has no sandbox.
    fn configure(&self) -> bool {
        let mut paths = vec!["/bin/true"];
        let there = [
            ("python3", "check.py"),
            ("node", "js/check.js"),
            ("node", "js/check.ts"),
            ("cargo", "rust"),
        ];
        paths.extend(there.into_iter().filter(|(tool, _)| has(tool)).map(|(_, path)| path));
        let entries = |more: &str| -> String {
            let entry =
                |path: &&str| format!("- {{name: {path}, type: code, path: {path}{more}}}\n");
            paths.iter().map(entry).collect()
        };
        let local = format!("evaluators:\n{}", entries(""));
        self.directory.file("here/local.yaml", local);
        let contained = format!("evaluators:\n{}", entries(", executor: sandbox"));
        self.directory.file("here/contained.yaml", contained);
        let first = "evaluators:\n- {name: a, type: code, path: /bin/true, executor: sandbox}\n";
        self.directory.file("here/first.yaml", first);
        let ran = self.evaluator(&["check", "first.yaml"]);
        let required = std::env::var_os("CONTAINMENT_TESTS").is_some_and(|it| it == "required");
        assert!(!required || ran.code == Some(0), "{}{}", ran.stdout, ran.stderr);
        ran.code == Some(0)
    }
}

#[test]
fn no_command_runs_anything_of_the_working_directory() {
    let world = World::new();
    let has_sandbox = world.configure();
    let traces = trace("i11_five_traces_plain");
    let mut commands: Vec<Vec<&str>> = vec![
        vec!["list"],
        vec!["list", "-s", "builtin"],
        vec!["schema"],
        vec!["completions", "bash"],
        vec!["runtimes"],
        vec!["check", "local.yaml"],
        vec!["check", "contained.yaml"],
        vec!["check", "contained.yaml", "--contain"],
        vec!["config", "check.py"],
        vec!["config", "js/check.js"],
        vec!["init", "made-python", "--runtime", "python"],
        vec!["init", "made-rust", "--runtime", "rust"],
        vec!["export", "check.py", "--for", "promptfoo", "-o", "exported"],
        vec!["inspect", &traces],
        vec!["index", "evaluators", "-o", "-"],
        vec!["run", &traces, "--no-config", "-m", "response_match"],
    ];
    if has_sandbox {
        commands.extend([
            vec!["check", "contained.yaml", "--contain", "--build"],
            vec!["check", "contained.yaml", "--contain"],
            vec!["config", "--contain", "rust"],
            vec!["config", "--contain", "check.py"],
            vec!["export", "--contain", "rust", "--for", "promptfoo", "-o", "exported"],
            vec!["run", &traces, "-c", "contained.yaml", "--contain"],
            vec!["validate", "--contain", "evaluators/check"],
            vec!["test", "--contain", "check.py"],
            vec!["test", "--contain", "rust"],
            vec!["conform", "--contain", "check.py"],
        ]);
    } else {
        eprintln!("SKIPPED: no sandbox on this machine");
    }
    for args in &commands {
        let ran = world.evaluator(args);
        assert!(matches!(ran.code, Some(0..=3)), "{args:?}: {}{}", ran.stdout, ran.stderr);
        assert!(!ran.stderr.contains("error: unexpected argument"), "{args:?}: {}", ran.stderr);
        assert!(!ran.stderr.contains("error: unrecognized"), "{args:?}: {}", ran.stderr);
        world.held(&args.join(" "));
    }
    if has_sandbox {
        let place = world.directory.join("here").display().to_string();
        let config = format!("{place}/contained.yaml");
        let cache = format!("{place}/.cache");
        let variables = [("PATH", world.path.as_str()), ("EVALUATOR_CACHE_DIR", cache.as_str())];
        let here = Directory::new();
        let serving = Serving::start_with(&here, &["--contain", "-c", &config], &variables);
        drop(serving);
        world.held("serve");
    }
    let starts = world.directory.read("starts");
    for tool in ["cargo", "python3", "node"].iter().filter(|tool| has(tool)) {
        assert!(starts.contains(&format!("{tool} in /\n")), "{tool} was never asked: {starts}");
    }
}

#[test]
fn what_runs_contained_works_in_such_a_directory() {
    let world = World::new();
    if !world.configure() {
        return;
    }
    let traces = trace("i11_five_traces_plain");
    for (tool, path) in [("cargo", "rust"), ("node", "js/check.js")] {
        if let Some(found) = found(tool) {
            // The script in front of the tool starts it, which the sandbox cannot know.
            let text = format!(
                "evaluators:\n- {{name: a, type: code, path: {path}, executor: sandbox, sandbox: {{read: [{found:?}]}}}}\n"
            );
            world.directory.file("here/one.yaml", text);
            world.evaluator(&["run", &traces, "-c", "one.yaml", "--contain"]).exits(0);
        }
    }
    world.held("run");
}
