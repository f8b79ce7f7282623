//! Files, pipes and devices that reports are written to, and several reports of one run.
#![cfg(unix)]

use std::{
    fs,
    os::unix::fs::{FileTypeExt as _, PermissionsExt as _, symlink},
    path::Path,
    process::{Command, Stdio},
    thread,
};

use crate::support::{Directory, Ran, eval_set, finish, trace};

fn directory() -> Directory {
    let directory = Directory::new();
    directory.script("good", r#"cat >/dev/null; echo '{"score": 1}'"#);
    directory.file("c.yaml", "evaluators:\n  - {name: good, type: code, path: good}\n");
    directory
}

fn run(directory: &Directory, args: &[&str]) -> Ran {
    let trace = trace("k01_traj_exact");
    directory.run(&[&[trace.as_str(), "-c", "c.yaml"], args].concat())
}

#[test]
fn a_link_stays_a_link_and_its_target_has_the_report() {
    let directory = directory();
    directory.file("shared/report", "old");
    symlink("shared/report", directory.path().join("link")).unwrap();
    symlink("shared/new", directory.path().join("dangling")).unwrap();
    for (link, target) in [("link", "shared/report"), ("dangling", "shared/new")] {
        run(&directory, &["-o", "junit", "--output-file", link]).exits(0).reports_nothing();
        assert!(directory.path().join(link).is_symlink());
        let text = fs::read_to_string(directory.path().join(target)).unwrap();
        assert!(text.starts_with("<?xml") && text.ends_with("</testsuites>\n"), "{text}");
    }
    assert_eq!(fs::read_dir(directory.path().join("shared")).unwrap().count(), 2);
}

#[test]
fn a_file_keeps_its_mode() {
    let directory = directory();
    let file = directory.file("report", "old");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    run(&directory, &["-o", "json", "--output-file", "report"]).exits(0);
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(fs::read_to_string(&file).unwrap().starts_with("{\n"));
}

#[test]
fn a_pipe_is_written_to_and_stays() {
    let directory = directory();
    let pipe = directory.pipe("pipe");
    let reader = thread::spawn({
        let pipe = pipe.clone();
        move || fs::read_to_string(pipe).unwrap()
    });
    run(&directory, &["-o", "json", "--output-file", "pipe"]).exits(0);
    assert!(reader.join().unwrap().ends_with("}\n"));
    assert!(fs::symlink_metadata(&pipe).unwrap().file_type().is_fifo());
}

#[test]
fn an_index_is_written_to_a_pipe() {
    let directory = Directory::new();
    let manifest = "name: good\ndescription: Good.\nlanguage: python\nentrypoint: good.py\n";
    directory.file("good/evaluator.yaml", manifest);
    directory.file("good/good.py", "print('{\"score\": 1}')\n");
    let pipe = directory.pipe("pipe");
    let reader = thread::spawn({
        let pipe = pipe.clone();
        move || fs::read_to_string(pipe).unwrap()
    });
    directory.evaluator(&["index", ".", "-o", "pipe"]).exits(0);
    assert!(reader.join().unwrap().contains("good"));
    assert!(fs::symlink_metadata(&pipe).unwrap().file_type().is_fifo());
    let ran = directory.evaluator(&["index", ".", "-o", "/dev/stdout"]).exits(0);
    assert!(ran.stdout.contains("good"), "{}", ran.stdout);
}

#[test]
#[cfg(target_os = "linux")]
fn a_descriptor_by_its_path_is_written_to() {
    let directory = directory();
    symlink("/proc/self/fd/1", directory.path().join("stdout")).unwrap();
    let ran = run(&directory, &["-o", "json", "--output-file", "stdout"]).exits(0);
    assert_eq!(ran.json()["summary"]["passed"], 1);
    assert!(directory.path().join("stdout").is_symlink());
    // What others have written to the same file stays.
    let line = format!(
        "(echo before; '{}' run '{}' -c c.yaml -o json=/dev/stdout; echo after) >all",
        env!("CARGO_BIN_EXE_evaluator"),
        trace("k01_traj_exact")
    );
    directory.script("go", &line);
    #[expect(clippy::disallowed_methods, reason = "a shell redirects")]
    let shell = Command::new("./go")
        .current_dir(directory.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    finish(shell).exits(0);
    let all = fs::read_to_string(directory.path().join("all")).unwrap();
    assert!(all.starts_with("before\n{\n") && all.ends_with("\n}\nafter\n"), "{all}");
}

#[test]
fn an_index_is_written_through_a_link() {
    let directory = Directory::new();
    directory.file("shared/index.yaml", "old: true\n");
    directory.file(
        "evaluators/good/evaluator.yaml",
        "name: good\ndescription: Good.\nlanguage: python\nentrypoint: good.py\n",
    );
    directory.file("evaluators/good/good.py", "print('{\"score\": 1}')\n");
    symlink("shared/index.yaml", directory.path().join("index.yaml")).unwrap();
    directory.evaluator(&["index", "."]).exits(0);
    assert!(directory.path().join("index.yaml").is_symlink());
    let index = fs::read_to_string(directory.path().join("shared/index.yaml")).unwrap();
    assert!(index.contains("good"), "{index}");
}

#[test]
fn what_cannot_be_written_is_refused_before_anything_runs() {
    let directory = directory();
    fs::create_dir(directory.path().join("directory")).unwrap();
    symlink("no/such", directory.path().join("nowhere")).unwrap();
    for (args, message) in [
        (["--output-file", "directory"], "directory is a directory"),
        (["--output-file", "nowhere"], "no does not exist"),
        (["-o", "json=directory"], "directory is a directory"),
        (["-o", "json=no/such"], "no does not exist"),
        (["-o", "xml"], "there is no form `xml`; the forms are table, overview, json, "),
    ] {
        run(&directory, &args).exits(2).says(message).reports_nothing();
    }
}

#[test]
fn a_run_without_a_report_leaves_none_of_an_earlier_run() {
    let directory = directory();
    let reports = ["-o", "junit=j.xml", "-o", "json=r.json"];
    run(&directory, &reports).exits(0);
    directory.file("c.yaml", "evaluators: []\n");
    run(&directory, &reports).exits(2);
    let text = directory.read("j.xml");
    assert!(text.contains("tests=\"1\" failures=\"0\" errors=\"1\""), "{text}");
    assert!(text.contains("<error message=\"there is no report: "), "{text}");
    let json: serde_json::Value = serde_json::from_str(&directory.read("r.json")).unwrap();
    assert!(json["errors"][0].as_str().unwrap().starts_with("there is no report: "), "{json}");
    // So does a saved run that cannot be read, and an eval file.
    for args in [&["report", "c.yaml"][..], &["run", "e.eval.yaml"]] {
        directory.file("e.eval.yaml", "tests: 5\n");
        directory.file("j.xml", "old");
        directory.evaluator(&[args, &["-o", "junit=j.xml"]].concat()).exits(2);
        assert!(directory.read("j.xml").contains("there is no report: "), "{args:?}");
    }
}

#[test]
fn one_run_has_several_reports() {
    let directory = directory();
    let args = ["-o", "github", "-o", "junit=j.xml", "--output=json=r.json", "-o", "table=t.txt"];
    let ran = run(&directory, &args).exits(0);
    assert_eq!(ran.stdout, "");
    let read = |name: &str| fs::read_to_string(directory.path().join(name)).unwrap();
    assert!(read("j.xml").contains("<testcase "));
    assert!(read("r.json").contains("\"passed\": 1"));
    assert!(read("t.txt").contains("[PASS]  good"));
    // Nothing is on stdout where every form has a file.
    run(&directory, &["-o", "junit=j.xml"]).exits(0).reports_nothing();
    run(&directory, &["-o", "json", "-o", "junit"]).exits(2).says("would go to stdout");
    run(&directory, &["-o", "json=r", "-o", "junit=r"]).exits(2).says("would go to r;");
    fs::create_dir(directory.path().join("d")).unwrap();
    symlink("j.xml", directory.path().join("link.xml")).unwrap();
    for (one, other) in [("new", "./new"), ("new", "d/../new"), ("j.xml", "link.xml")] {
        let args = ["-o", &format!("json={one}"), "-o", &format!("junit={other}")];
        run(&directory, &args).exits(2).says("two forms of the report would go to ");
    }
    run(&directory, &["-o", "json", "-o", "junit=j", "--output-file", "r"])
        .exits(2)
        .says("write `-o FORM=FILE` for each");
}

#[test]
fn a_report_never_replaces_what_the_command_reads() {
    let directory = directory();
    let text = fs::read_to_string(trace("k01_traj_exact")).unwrap();
    directory.file("t.json", text.as_str());
    directory.file("new.json", "");
    for file in ["t.json", "./c.yaml"] {
        let report = format!("json={file}");
        let args = ["t.json", "-c", "c.yaml", "-o", "junit=j.xml", "-o", &report];
        let ran = directory.run(&args).exits(2).reports_nothing();
        ran.says(&format!("{file} is an input of this command; write the report to another file"));
        assert!(!directory.path().join("j.xml").exists());
    }
    assert_eq!(directory.read("t.json"), text);
    directory.run(&["t.json", "-c", "c.yaml", "-o", "json=new.json"]).exits(0);
}

#[test]
fn a_report_never_replaces_what_else_the_command_writes() {
    let directory = directory();
    let trace = trace("k01_traj_exact");
    let run = |args: &[&str]| directory.run(&[&[trace.as_str(), "-c", "c.yaml"], args].concat());
    run(&["--save-run", "r.evalrun"]).exits(0);
    directory.file("cas.jsonl", "recorded");
    let saved = directory.read("r.evalrun");
    for (option, file, report) in [
        ("--save-run", "r.evalrun", "./r.evalrun"),
        ("--judge-cassette", "cas.jsonl", "cas.jsonl"),
        // They do not exist yet.
        ("--save-run", "new.evalrun", "./new.evalrun"),
        ("--judge-cassette", "./new.jsonl", "new.jsonl"),
    ] {
        for more in [&[][..], &["--resume"]] {
            let report = format!("json={report}");
            let args = [&[option, file, "-o", "junit=j.xml", "-o", &report], more].concat();
            let ran = run(&args).exits(2).reports_nothing();
            ran.says(&format!("is the file of {option} of this command; write the report to"));
        }
    }
    assert_eq!(
        (directory.read("r.evalrun"), directory.read("cas.jsonl")),
        (saved, "recorded".to_owned())
    );
    let new = ["j.xml", "new.evalrun", "new.jsonl"].map(|it| directory.path().join(it));
    assert!(new.iter().all(|file| !file.exists()));
    // A run that was saved is still resumed.
    run(&["--save-run", "r.evalrun", "--resume", "-o", "json=r.json"]).exits(0);
}

#[test]
fn a_report_never_replaces_a_file_that_only_the_configuration_names() {
    let directory = directory();
    let trace = trace("k01_traj_exact");
    let judge =
        "{name: judged, type: llm_judge, prompt: Is it good?, judge: {cassette: own.jsonl}}";
    let config = format!(
        "eval_set: set.json\njudge: {{cassette: cas.jsonl}}\nevaluators:\n  - {{name: good, type: code, path: good}}\n  - {judge}\n"
    );
    directory.file("eval_config.yaml", &config);
    let files = ["eval_config.yaml", "good", "set.json", "cas.jsonl", "own.jsonl"];
    directory.file("set.json", fs::read_to_string(eval_set("library")).unwrap());
    directory.file("cas.jsonl", "");
    directory.file("own.jsonl", "");
    let before = files.map(|file| directory.read(file));
    for file in files {
        let report = format!("json=./{file}");
        let args = [trace.as_str(), "-o", "junit=j.xml", "-o", &report];
        let ran = directory.run(&args).exits(2).reports_nothing();
        ran.says(if file.ends_with(".jsonl") {
            " is the file of the key `cassette` of this command; write the report to another file"
        } else {
            " is an input of this command; write the report to another file"
        });
    }
    // Nor one with an error.
    directory.file("eval_config.yaml", "evaluators: 5\n");
    let args = [trace.as_str(), "-o", "json=eval_config.yaml"];
    directory.run(&args).exits(2).says("eval_config.yaml is an input of this command");
    assert_eq!(directory.read("eval_config.yaml"), "evaluators: 5\n");
    directory.file("eval_config.yaml", &config);
    assert_eq!(files.map(|file| directory.read(file)), before);
    assert!(!directory.path().join("j.xml").exists());
}

#[test]
fn a_report_never_replaces_the_file_of_a_resumed_run() {
    let directory = directory();
    run(&directory, &["--resume"]).exits(0);
    let state = directory.path().join(".evaluator");
    let is_run = |name: &String| name.ends_with(".evalrun");
    let names = fs::read_dir(&state).unwrap();
    let mut names = names.map(|it| it.unwrap().file_name().into_string().unwrap());
    let file = format!(".evaluator/{}", names.find(is_run).unwrap());
    let saved = directory.read(&file);
    let report = format!("json={file}");
    run(&directory, &["--resume", "-o", &report])
        .exits(2)
        .reports_nothing()
        .says("is the file of --resume of this command; write the report to another file");
    assert_eq!(directory.read(&file), saved);
    // Without the option, it is none of the command.
    run(&directory, &["-o", &report]).exits(0);
}

#[test]
fn a_job_summary_is_appended_where_the_environment_names_its_file() {
    let directory = directory();
    let summary = directory.file("summary.md", "# Before\n");
    let trace = trace("k01_traj_exact");
    let run = |args: &[&str], summary: &Path| {
        let all = [&["run", trace.as_str(), "-c", "c.yaml"], args].concat();
        let mut command = directory.command(&all);
        command.env("GITHUB_STEP_SUMMARY", summary);
        finish(command.spawn().unwrap()).exits(0)
    };
    run(&["-o", "github"], &summary);
    let text = fs::read_to_string(&summary).unwrap();
    assert!(text.starts_with("# Before\n### PASSED: 1 passed"), "{text}");
    // No other form does that.
    run(&["-o", "junit"], &summary);
    assert_eq!(fs::read_to_string(&summary).unwrap(), text);
    // The annotations are out, so the run is what it is.
    run(&["-o", "github"], &directory.path().join("no/such"))
        .says("cannot append to the job summary");
}

#[test]
fn a_report_that_is_lost_is_not_called_passed() {
    if !cfg!(target_os = "linux") {
        return;
    }
    let directory = directory();
    let ran = run(&directory, &["-o", "json=/dev/full"]).exits(3);
    let last = ran.stderr.lines().last().unwrap();
    assert!(last.starts_with("ERROR: 1 passed"), "{last}");
    assert!(last.ends_with("not everything could be written"), "{last}");
}
