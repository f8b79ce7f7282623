//! What is pinned stays what it was, until an update is asked for.

use super::*;

#[test]
fn a_tampered_cache_is_refused_and_update_repairs_it() {
    if !has("python3") {
        return;
    }
    let place = Place::new(CONFIG);
    place.server.file(POLITE, scores(0.25));
    place.run(&[]).exits(1);
    fs::write(place.cached("github").join(POLITE), scores(1.0)).unwrap();
    let ran = place.evaluator(&["check", "c.yaml"]).exits(2);
    assert!(ran.stdout.contains("was changed since it was fetched"), "{}", ran.stdout);
    let ran = place.run(&[]).exits(3);
    assert_eq!(ran.evaluations(0)[0], "polite ERROR prepare_failed");
    let error = ran.error_of("polite");
    assert!(
        error.contains("was changed since it was fetched") && error.contains("evaluator update"),
        "{error}"
    );

    let ran = place.evaluator(&["update", "c.yaml"]).exits(0);
    assert!(ran.stdout.contains("(unchanged)"), "{}", ran.stdout);
    assert_eq!(place.run(&[]).exits(1).evaluations(0)[0], "polite FAILED");
}

#[test]
fn what_changed_at_the_source_is_refused_until_it_is_accepted() {
    if !has("python3") {
        return;
    }
    let place = Place::new(CONFIG);
    place.server.file(POLITE, scores(0.25));
    place.run(&[]).exits(1);
    let lock = place.lock();
    place.server.file(POLITE, scores(1.0));
    // Delete to refresh.
    fs::remove_file(place.cached("github").join(POLITE)).unwrap();
    let ran = place.run(&[]).exits(3);
    let error = ran.error_of("polite");
    assert!(
        error.contains("is pinned to sha256:") && error.contains("`evaluator update`"),
        "{error}"
    );
    assert!(!place.cached("github").join(POLITE).exists(), "what is refused is not kept");
    assert_eq!(place.lock(), lock);

    let ran = place.evaluator(&["update", "c.yaml", "polite"]).exits(0);
    assert!(ran.stdout.contains(" -> sha256:"), "{}", ran.stdout);
    assert_ne!(place.lock(), lock);
    assert_eq!(place.run(&["--locked"]).exits(0).evaluations(0)[0], "polite PASSED");

    // An older cache of another user follows the lock file, if the source still has what is pinned.
    place.server.file(POLITE, scores(0.25));
    place.evaluator(&["update", "c.yaml"]).exits(0);
    fs::write(place.directory.path().join("evaluators.lock"), &lock).unwrap();
    assert_eq!(place.run(&[]).exits(1).evaluations(0)[0], "polite FAILED");
}

#[test]
fn a_lock_that_moved_on_takes_an_older_cache_with_it() {
    if !has("python3") {
        return;
    }
    let place = Place::new(CONFIG);
    place.server.file(POLITE, scores(0.25));
    place.run(&[]).exits(1);
    place.server.file(POLITE, scores(1.0));
    let other = Place::new(CONFIG);
    other.server.file(POLITE, scores(1.0));
    other.run(&[]).exits(0);
    fs::write(place.directory.path().join("evaluators.lock"), other.lock()).unwrap();
    let ran = place.evaluator(&["check", "c.yaml"]).exits(0);
    assert!(ran.stdout.contains("to be fetched from"), "{}", ran.stdout);
    assert_eq!(place.run(&["--locked"]).exits(0).evaluations(0)[0], "polite PASSED");
}

#[test]
fn an_edit_of_a_source_on_this_machine_is_noticed_whatever_the_cache_has() {
    if !has("python3") {
        return;
    }
    const INDEX: &str = "evaluators:\n- {name: polite, language: python, path: polite.py}\n";
    let place = Place::new(CONFIG);
    let run = |project: &str, more: &[&str]| {
        let (config, trace) = (format!("{project}/c.yaml"), trace(TRACE));
        place.evaluator(&[&["run", &trace, "-c", &config, "-o", "json"][..], more].concat())
    };
    for (source, sources) in [("file", "file: index.yaml"), ("local", "local: .")] {
        let projects = [format!("{source}-one"), format!("{source}-two")];
        for (project, score) in projects.iter().zip([1.0, 0.25]) {
            let write =
                |name: &str, text: String| place.directory.file(&format!("{project}/{name}"), text);
            write("index.yaml", INDEX.to_owned());
            write("polite.py", scores(score));
            let entry = format!("{{name: polite, type: remote, source: {source}, ref: polite.py}}");
            write("c.yaml", format!("sources: {{{sources}}}\nevaluators: [{entry}]\n"));
        }
        let [one, two] = &projects;
        // Projects with evaluators of the same name have nothing to do with each other.
        assert_eq!(run(one, &[]).exits(0).evaluations(0), ["polite PASSED"]);
        assert_eq!(run(two, &[]).exits(1).evaluations(0), ["polite FAILED"]);
        assert_eq!(run(one, &["--locked"]).exits(0).evaluations(0), ["polite PASSED"]);

        place.directory.file(&format!("{one}/polite.py"), scores(0.0));
        for more in [&[][..], &["--locked"]] {
            let error = run(one, more).exits(3).error_of("polite");
            assert!(error.contains("is pinned to sha256:"), "{error}");
            assert!(error.contains("and the source now is sha256:"), "{error}");
        }
        let config = format!("{one}/c.yaml");
        let checked = place.evaluator(&["check", &config]).exits(2);
        assert!(checked.stdout.contains("the source now is sha256:"), "{}", checked.stdout);
        place.evaluator(&["update", &config]).exits(0);
        assert_eq!(run(one, &["--locked"]).exits(1).evaluations(0), ["polite FAILED"]);
        let checked = place.evaluator(&["check", &config]).exits(0);
        assert!(checked.stdout.contains("polite.py, pinned)"), "{}", checked.stdout);
        assert_eq!(run(two, &["--locked"]).exits(1).evaluations(0), ["polite FAILED"]);
    }
}

#[test]
fn the_cache_is_where_the_environment_says() {
    if !has("python3") {
        return;
    }
    let place = Place::new(CONFIG);
    place.server.file(POLITE, scores(1.0));
    let cache = place.directory.path().join("elsewhere");
    let mut command = place.command(&["run", &trace(TRACE), "-c", "c.yaml"]);
    finish(command.env("XDG_CACHE_HOME", &cache).spawn().unwrap()).exits(0);
    assert!(cache.join("agentevals/evaluators/github").join(POLITE).is_file());
    assert!(!place.cached("").exists());
}

#[test]
fn locked_runs_pin_nothing() {
    let place = Place::new(CONFIG);
    place.server.file(POLITE, scores(1.0));
    let ran = place.run(&["--locked"]).exits(3);
    assert!(ran.error_of("polite").contains("is not pinned in evaluators.lock"));
    assert_eq!(place.lock(), "");
    assert!(place.server.requests().is_empty());
    let ran = place.evaluator(&["check", "c.yaml", "--locked"]).exits(2);
    assert!(ran.stdout.contains("is not pinned"), "{}", ran.stdout);
}

#[test]
fn a_lock_that_cannot_be_read_is_an_error_and_stays_as_it_is() {
    let place = Place::new(CONFIG);
    place.server.file(POLITE, scores(1.0));
    for (text, complaint) in [
        ("version = 7\n", "unknown version 7"),
        ("version = 1\n[[evaluator]]\nref = 5\n", "evaluators.lock:3:7: `ref` must be text"),
        ("<<<<<<< HEAD\n", "evaluators.lock:1:"),
    ] {
        place.directory.file("evaluators.lock", text);
        let ran = place.run(&[]).exits(3);
        assert!(ran.error_of("polite").contains(complaint), "{}", ran.error_of("polite"));
        assert_eq!(ran.evaluations(0)[1], "tool_trajectory_avg_score NOT_EVALUATED");
        assert!(place.evaluator(&["update", "c.yaml"]).exits(3).stderr.contains(complaint));
        assert_eq!(place.lock(), text);
    }
    assert!(place.server.requests().is_empty());
}

#[test]
fn several_are_pinned_together_and_one_that_fails_does_not_keep_the_others() {
    if !has("python3") {
        return;
    }
    let place = Place::new(CONFIG);
    let mut config = "evaluators:\n".to_owned();
    for number in 0..12 {
        config += &format!("  - {{name: e{number}, type: remote, ref: e/e{number}/e.py}}\n");
        if number != 5 {
            place.server.file(&format!("e/e{number}/e.py"), scores(1.0));
        }
    }
    config += "  - {name: again, type: remote, ref: e/e0/e.py}\n  - {name: lost, type: remote, source: githb, ref: e/e0/e.py}\n";
    place.directory.file("c.yaml", config);
    let ran = place.run(&[]).exits(3);
    let results = ran.evaluations(0);
    assert_eq!(
        results.iter().filter(|result| result.ends_with("PASSED")).count(),
        12,
        "{results:?}"
    );
    assert_eq!(results[5], "e5 ERROR prepare_failed");
    assert_eq!(
        ran.error_of("lost"),
        "Unknown evaluator source 'githb'. Available: ['builtin', 'file', 'github', 'local']"
    );
    assert_eq!(place.lock().matches("[[evaluator]]").count(), 11);
    assert_eq!(place.server.count(&raw("e/e0/e.py")), 1);
    assert_eq!(place.server.count(&raw("index.yaml")), 1);
}

#[test]
fn a_cache_that_agentevals_filled_is_used_and_pinned() {
    if !has("python3") {
        return;
    }
    let place = Place::new(CONFIG);
    let path = place.cached("github").join(POLITE);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, scores(1.0)).unwrap();
    assert_eq!(place.run(&[]).exits(0).evaluations(0)[0], "polite PASSED");
    assert!(place.server.requests().is_empty());
    assert!(place.lock().contains(POLITE) && !place.lock().contains("from = "), "{}", place.lock());
    // From now on a change is noticed.
    fs::write(&path, scores(0.5)).unwrap();
    place.run(&[]).exits(3);
}

/// An update that is interrupted at one evaluator keeps the others, each with its pin.
#[test]
fn an_update_that_is_cut_short_leaves_what_it_did_usable() {
    if !has("python3") {
        return;
    }
    const SLOW: &str = "evaluators/slow/slow.py";
    let place = Place::new(CONFIG);
    place.server.file(POLITE, scores(0.25));
    place.run(&[]).exits(1);
    let lock = place.lock();
    place
        .directory
        .file("both.yaml", format!("{CONFIG}  - {{name: slow, type: remote, ref: {SLOW}}}\n"));
    place.server.file(POLITE, scores(1.0));
    place.server.answer(SLOW, Answer::Silence(Duration::from_secs(600)));
    let mut update = place.command(&["update", "both.yaml"]).spawn().unwrap();
    let long = Instant::now() + Duration::from_secs(25);
    while place.lock() == lock && Instant::now() < long {
        thread::sleep(Duration::from_millis(20));
    }
    update.kill().unwrap();
    update.wait().unwrap();
    assert_eq!(place.run(&["--locked"]).exits(0).evaluations(0)[0], "polite PASSED");
}

#[test]
fn update_says_what_cannot_be_updated() {
    let place = Place::new(CONFIG);
    place
        .evaluator(&["update", "c.yaml", "polit"])
        .exits(2)
        .says("no evaluator is named `polit` (remote evaluators: polite)");
    place
        .evaluator(&["update", "c.yaml", "tool_trajectory_avg_score"])
        .exits(2)
        .says("not of `type: remote`");
    place.evaluator(&["update"]).exits(2).says("evaluators.lock does not exist in this directory");
    let ran = place.evaluator(&["update", "c.yaml"]).exits(3);
    assert!(ran.stdout.contains("not updated"), "{}", ran.stdout);
    assert_eq!(place.lock(), "");
    // It need not be known what the evaluators are called.
    place.server.file(POLITE, scores(1.0));
    place.evaluator(&["update", "c.yaml"]).exits(0);
    place.server.file(POLITE, scores(0.5));
    let ran = place.evaluator(&["evaluator", "update"]).exits(0);
    assert!(ran.stdout.contains(" -> sha256:"), "{}", ran.stdout);
}
