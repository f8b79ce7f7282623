//! Lists of what sources have, of GitHub's kind and on this machine.

use super::*;

#[test]
fn lists_are_kept_for_a_day_unless_a_refresh_is_requested() {
    let place = Place::new(CONFIG);
    place.server.file("index.yaml", INDEX);
    let list = |more: &[&str]| place.evaluator(&[&["list"][..], more].concat());
    let ran = list(&["--source", "github"]).exits(0);
    assert!(
        ran.stdout.contains(
            "polite  github  python    Is it polite? Really?  evaluators/polite/polite.py"
        ),
        "{}",
        ran.stdout
    );
    assert!(!ran.stdout.contains("builtin"));
    let all = list(&[]).exits(0);
    assert!(
        all.stdout.contains("polite") && all.stdout.contains("tool_trajectory_avg_score"),
        "{}",
        all.stdout
    );
    assert_eq!(place.server.count(&raw("index.yaml")), 1);

    place.server.forget();
    list(&["--source", "github"]).exits(0);
    let ran = list(&["--source", "github", "--refresh"]).exits(3).reports_nothing();
    assert!(
        ran.stderr.contains("cannot list the source `github`: there is no file at"),
        "{}",
        ran.stderr
    );
    // Among all it is only a warning.
    let ran = place.evaluator(&["evaluator", "list", "--refresh"]).exits(0);
    assert!(ran.stdout.contains("tool_trajectory_avg_score") && ran.stderr.contains("`github`"));
    // An older list is better than none, if that is said.
    let index = place.directory.path().join("home/.cache/agentevals/index");
    let kept = fs::read_dir(index).unwrap().next().unwrap().unwrap().path();
    let old = std::time::SystemTime::now() - Duration::from_secs(25 * 3600);
    fs::File::options().write(true).open(kept).unwrap().set_modified(old).unwrap();
    let ran = list(&["--source", "github"]).exits(0);
    assert!(
        ran.stdout.contains("polite") && ran.stderr.contains("an older cached index is used"),
        "{}",
        ran.stderr
    );
}

#[test]
fn a_bad_index_is_refused_with_its_place() {
    let place = Place::new(CONFIG);
    place.server.file("index.yaml", "evaluators:\n  - name: [x]\n");
    let ran = place.evaluator(&["list", "--source", "github"]).exits(3);
    assert!(
        ran.stderr.contains("index.yaml:2:11: `name` must be text, not a list"),
        "{}",
        ran.stderr
    );
    place.directory.file("index.yaml", "evaluators: 7\n");
    let ran = place.evaluator(&["list", "--source", "file", "--index", "index.yaml"]).exits(3);
    assert!(ran.stderr.contains("index.yaml:1:13"), "{}", ran.stderr);
    for source in ["file", "local"] {
        let ran = place.evaluator(&["list", "--source", source]).exits(2);
        assert!(ran.stderr.contains("is not set up"), "{}", ran.stderr);
    }
}

#[test]
fn sources_on_this_machine_are_listed_configured_and_run() {
    if !has("python3") {
        return;
    }
    let place = Place::new(CONFIG);
    place.directory.file(
        "checks/kind/evaluator.yaml",
        "name: kind\ndescription: Is it kind?\nlanguage: python\nentrypoint: kind.py\n",
    );
    place.directory.file("checks/kind/kind.py", scores(1.0));
    place.directory.file("checks/kind/requirements.txt", "");
    place.directory.file(
        "lists/index.yaml",
        "evaluators:\n- {name: brief, language: python, path: brief/brief.py}\n",
    );
    place.directory.file("lists/brief/brief.py", scores(1.0));
    let places = ["--index", "lists", "--directory", "checks"];
    let ran = place.evaluator(&[&["list", "--source", "all"][..], &places].concat()).exits(0);
    assert!(
        ran.stdout.contains("kind/kind.py") && ran.stdout.contains("brief/brief.py"),
        "{}",
        ran.stdout
    );

    let entry =
        |name: &str| place.evaluator(&[&["config", name][..], &places].concat()).exits(0).stdout;
    let (kind, brief) = (entry("kind"), entry("brief"));
    let brief = brief.split_once("evaluators:\n").unwrap().1;
    place.directory.file(
        "deep/c.yaml",
        format!("sources: {{file: ../lists, local: ../checks}}\n{kind}{brief}"),
    );
    let ran = place.evaluator(&["check", "deep/c.yaml"]).exits(0);
    assert!(ran.stdout.contains("not pinned yet"), "{}", ran.stdout);
    let ran = place.evaluator(&["run", &trace(TRACE), "-c", "deep/c.yaml", "-o", "json"]).exits(0);
    assert_eq!(ran.evaluations(0), ["kind PASSED", "brief PASSED"]);
    assert!(place.slots("local")[0].join("kind/kind.py").is_file(), "{}", ran.stderr);
    assert!(place.directory.path().join("deep/evaluators.lock").is_file());

    // Another project may have an evaluator of the same name.
    place.directory.file("other/kind/kind.py", scores(0.0));
    place.directory.file("o/c.yaml", format!("sources: {{local: other}}\n{kind}"));
    let run = |config: &str| place.evaluator(&["run", &trace(TRACE), "-c", config, "-o", "json"]);
    assert_eq!(run("o/c.yaml").exits(1).evaluations(0), ["kind FAILED"]);
    assert_eq!(run("deep/c.yaml").exits(0).evaluations(0)[0], "kind PASSED");
    assert_eq!(run("o/c.yaml").exits(1).evaluations(0), ["kind FAILED"]);
}

#[test]
fn what_a_source_on_this_machine_does_not_have_is_found_out_by_a_check() {
    let place = Place::new(
        "sources: {local: checks}\nevaluators:\n- {name: a, type: remote, source: local, ref: kind/kin.py}\n\
         - {name: b, type: remote, source: local, ref: brisk/src/mian.rs}\n",
    );
    place.directory.file("checks/kind/kind.py", scores(1.0));
    place.directory.file("checks/brisk/Cargo.toml", "[package]\nname = \"brisk\"\n");
    place.directory.file("checks/brisk/src/main.rs", "fn main() {}");
    let ran = place.evaluator(&["check", "c.yaml"]).exits(2);
    let missing = ["checks/kind/kin.py", "there is no file at brisk/src/mian.rs in the source"];
    assert!(missing.iter().all(|missing| ran.stdout.contains(missing)), "{}", ran.stdout);
    assert_eq!(place.slots("local").len(), 0, "a check keeps nothing");
}

/// What a list shows as a `ref` can be written as one.
#[test]
fn paths_that_cannot_be_referred_to_are_reported() {
    let place = Place::new(CONFIG);
    let manifest = |name: &str, entrypoint: &str| {
        let text = format!("name: {name}\nlanguage: python\nentrypoint: {entrypoint}\n");
        place.directory.file(&format!("checks/{name}/evaluator.yaml"), text);
    };
    manifest("kind", "kind.py");
    manifest("outside", "../kind/kind.py");
    place.directory.file(
        "lists/index.yaml",
        "evaluators:\n- {name: brief, path: ./brief.py}\n- {name: long, path: long.py}\n",
    );
    let list = |source: &[&str]| place.evaluator(&[&["list", "-s"][..], source].concat()).exits(0);
    let ran = list(&["local", "--folder", "checks"])
        .says("outside/evaluator.yaml:3:13: the path of its file must be a relative path");
    assert!(ran.stdout.contains("kind/kind.py") && !ran.stdout.contains(".."), "{}", ran.stdout);
    let ran = list(&["file", "--index", "lists"]).says("`brief` cannot be fetched: `path` must be");
    assert!(ran.stdout.contains("long.py") && !ran.stdout.contains("brief.py"), "{}", ran.stdout);
}

#[test]
fn files_that_are_not_as_the_index_says_are_refused() {
    let place = Place::new(CONFIG);
    let hash = "0123456789abcdef".repeat(4);
    place.directory.file(
        "index.yaml",
        format!(
            "evaluators:\n- name: a\n  path: a/a.py\n  files: [{{path: a.py, sha256: {hash}}}]\n"
        ),
    );
    place.directory.file("a/a.py", scores(1.0));
    place.directory.file("c.yaml", "sources: {file: index.yaml}\nevaluators:\n- {name: a, type: remote, source: file, ref: a/a.py}\n");
    let ran = place.run(&[]).exits(3);
    assert!(
        ran.error_of("a").contains("is not the file its index describes"),
        "{}",
        ran.error_of("a")
    );
}
