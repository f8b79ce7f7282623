//! Evaluators that import an SDK, and conditions under which an interpreter is not forked.

use std::fs;

use super::*;

/// Stands for the package on PyPI, which is not needed here.
const SDK: &str = "import json, sys\n\
    def run(check):\n    print(json.dumps({'score': check(json.load(sys.stdin))}))\n";

const EVALUATOR: &str = "from agentevals_evaluator_sdk import run\n\
    import helper\n\
    run(lambda document: helper.score(document))\n";

struct Project {
    directory: TestDirectory,
    command: CommandSpec,
}

impl Project {
    fn new(python: &Path, sdk: &str, evaluator: &str) -> Self {
        let directory = TestDirectory::new();
        directory.file("packages/agentevals_evaluator_sdk/__init__.py", sdk);
        directory.file("here/helper.py", "def score(document): return document['n'] / 4\n");
        let command = CommandSpec::new(python)
            .arg(directory.file("here/check.py", evaluator))
            .env("PYTHONPATH", directory.path().join("packages"));
        Self { directory, command }
    }

    async fn refused(&self) -> String {
        match server(&self.command).await {
            Ok(_) => "not refused".to_owned(),
            Err(error) => error.to_string(),
        }
    }
}

#[tokio::test]
async fn an_evaluator_answers_each_document_from_the_imports_of_one() {
    for python in interpreters().await {
        // Each import of the SDK is counted in a file.
        let counting = format!("open(__file__ + '.count', 'a').write('x')\n{SDK}");
        let project = Project::new(&python, &counting, EVALUATOR);
        let server = server(&project.command).await.unwrap();
        for n in 0..4 {
            let document = format!("{{\"n\": {n}}}");
            let outcome = forked(&server, document.as_bytes(), &Limits::default()).await;
            let answer = format!("{{\"score\": {:?}}}\n", f64::from(n) / 4.0);
            assert_eq!(seen(&outcome), (Ending::Exited(0), true, answer, true, String::new()));
        }
        server.end(BOUNDED).await;
        let count =
            project.directory.path().join("packages/agentevals_evaluator_sdk/__init__.py.count");
        assert_eq!(fs::read_to_string(count).unwrap(), "x");
    }
}

#[tokio::test]
async fn a_file_that_changes_is_run_as_it_is() {
    for python in interpreters().await {
        let project = Project::new(&python, SDK, EVALUATOR);
        let server = server(&project.command).await.unwrap();
        let input = b"{\"n\": 1}";
        let first = forked(&server, input, &Limits::default()).await;
        assert_eq!(first.stdout.head(), b"{\"score\": 0.25}\n");
        project.directory.file("here/check.py", "import sys\nprint('new')\nsys.exit(2)\n");
        let second = forked(&server, input, &Limits::default()).await;
        assert_eq!((second.ending, second.stdout.head()), (Ending::Exited(2), &b"new\n"[..]));
        // A module that was imported ahead must not hide one that the evaluator would find.
        project.directory.file("here/json.py", "");
        let error =
            server.run(input, &[], &Limits::default(), &Cancellation::new()).await.unwrap_err();
        assert_eq!(error.to_string(), "json.py is next to the evaluator");
    }
}

#[tokio::test]
async fn what_a_fork_would_not_share_as_it_should_keeps_it_from_being_forked() {
    for python in interpreters().await {
        for (sdk, expected) in [
            ("print('hello')", "the imports printed: hello"),
            ("import sys\nsys.stderr.write('careful\\n')", "the imports printed: careful"),
            (
                "import threading, time\nthreading.Thread(target=time.sleep, args=(60,), daemon=True).start()",
                "the imports started threads",
            ),
            ("FILE = open(__file__)", "the imports opened files"),
            (
                "import not_there",
                "importing agentevals_evaluator_sdk failed: No module named 'not_there'",
            ),
            (
                "1 / 0",
                "importing agentevals_evaluator_sdk failed: ZeroDivisionError: division by zero",
            ),
            ("raise SystemExit(0)", "importing agentevals_evaluator_sdk failed: SystemExit: 0"),
            ("import os\nos._exit(0)", "the interpreter ended before it was ready"),
        ] {
            assert_eq!(Project::new(&python, sdk, EVALUATOR).refused().await, expected, "{sdk}");
        }

        let mut project = Project::new(&python, SDK, EVALUATOR);
        project.directory.file("here/json.py", "def loads(text): return {}\n");
        assert_eq!(project.refused().await, "json.py is next to the evaluator");
        fs::remove_file(project.directory.path().join("here/json.py")).unwrap();
        for name in ["PYTHONINSPECT", "PYTHONSTARTUP", "PYTHONDEVMODE", "PYTHONTRACEMALLOC"] {
            let plain = project.command.clone();
            project.command = plain.clone().env(name, "1");
            assert_eq!(project.refused().await, format!("{name} is set"));
            project.command = plain;
        }
        project.directory.file("packages/usercustomize.py", "");
        assert_eq!(project.refused().await, "there is a module usercustomize");
    }
}

#[tokio::test]
async fn a_module_that_customizes_the_site_does_so_before_the_imports() {
    for python in interpreters().await {
        let script = "import sys\nprint(sys.custom, 'sitecustomize' in sys.modules)\n\
                      import sitecustomize\nprint(sitecustomize.__file__)\n";
        let project = Project::new(&python, SDK, script);
        project
            .directory
            .file("packages/sitecustomize.py", "import sys\nsys.custom = list(sys.path)\n");
        let limits = Limits::default();
        let expected = seen(&started(&project.command, b"", &limits).await);
        assert_eq!(expected.0, Ending::Exited(0), "{expected:?}");
        let server = server(&project.command).await.unwrap();
        assert_eq!(seen(&forked(&server, b"", &limits).await), expected);
    }
}

#[tokio::test]
async fn a_finder_that_fails_keeps_only_its_modules_from_being_imported_ahead() {
    for python in interpreters().await {
        let script = "import os\nimport odd\n";
        let project = Project::new(&python, SDK, script);
        let finder = |name: &str| {
            let text = format!(
                "import sys\nclass Finder:\n    @staticmethod\n    def find_spec(name, path=None, target=None):\n        \
                 if name == '{name}': raise RuntimeError('not ' + name)\nsys.meta_path.insert(0, Finder)\n"
            );
            project.directory.file("packages/sitecustomize.py", text);
        };
        finder("odd");
        let limits = Limits::default();
        let expected = seen(&started(&project.command, b"", &limits).await);
        assert!(expected.4.contains("RuntimeError: not odd"), "{expected:?}");
        let server = server(&project.command).await.unwrap();
        assert_eq!(seen(&forked(&server, b"", &limits).await), expected);
        finder("usercustomize");
        let reason = "looking for usercustomize failed: RuntimeError: not usercustomize";
        assert_eq!(project.refused().await, reason);
    }
}

#[tokio::test]
async fn chance_is_not_shared() {
    for python in interpreters().await {
        let script = "import random, os, uuid, secrets, tempfile\n\
                      print(random.random(), os.getpid(), uuid.uuid4(), secrets.token_hex(), tempfile.mktemp())\n";
        let project = Project::new(&python, SDK, script);
        let server = server(&project.command).await.unwrap();
        let mut drawn: Vec<String> = Vec::new();
        for _ in 0..3 {
            let outcome = forked(&server, b"", &Limits::default()).await;
            let text = String::from_utf8_lossy(outcome.stdout.head()).into_owned();
            drawn.extend(text.split_whitespace().map(str::to_owned));
        }
        assert_eq!(drawn.len(), 15);
        drawn.sort();
        drawn.dedup();
        assert_eq!(drawn.len(), 15, "{drawn:?}");
    }
}

#[tokio::test]
async fn each_process_has_its_own_variables() {
    const PRINT: &str = "import os, sys\nsys.stdin.read()\n\
        print(os.environ.get('A'), os.popen('echo $A').read().strip(), os.environ['B'])\n";
    for python in interpreters().await {
        let mut project = Project::new(&python, SDK, PRINT);
        project.command = project.command.clone().env("B", "outer");
        let server = server(&project.command).await.unwrap();
        for (variables, expected) in [
            (vec![("A", "1=2"), ("B", "inner")], "1=2 1=2 inner\n"),
            (vec![("A", "two words")], "two words two words outer\n"),
            (vec![], "None  outer\n"),
        ] {
            let variables: Vec<_> = variables
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .collect();
            let (limits, never) = (Limits::default(), Cancellation::new());
            let outcome = server.run(b"{}", &variables, &limits, &never).await.unwrap();
            let printed = String::from_utf8_lossy(outcome.stdout.head()).into_owned();
            assert_eq!(printed, expected, "{}", outcome.stderr.text());
        }
        server.end(BOUNDED).await;
    }
}
