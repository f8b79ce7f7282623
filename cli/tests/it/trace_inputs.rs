//! Where traces come from: files, directories, standard input, pipes, compressed files.

#![expect(clippy::unwrap_used, reason = "helpers of tests may panic")]

use std::{fs, io::Write as _, process::Stdio};

use flate2::{Compression, write::GzEncoder};

use crate::support::{self, Directory, Ran, trace};

fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

fn traces(ran: &Ran) -> usize {
    ran.json()["traces"].as_array().unwrap().len()
}

fn with_input(directory: &Directory, args: &[&str], input: &[u8]) -> Ran {
    let mut command = directory.command(args);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    support::finish(child)
}

#[test]
fn a_directory_stands_for_the_trace_files_below_it() {
    let directory = Directory::new();
    fs::create_dir_all(directory.path().join("runs/day")).unwrap();
    fs::create_dir_all(directory.path().join("empty")).unwrap();
    fs::copy(trace("k01_traj_exact"), directory.path().join("runs/day/b.json")).unwrap();
    fs::copy(trace("a01_otlp_basic_parts"), directory.path().join("runs/a.jsonl")).unwrap();
    directory.file("runs/notes.txt", "not a trace");
    directory.file("runs/.hidden.json", "not a trace");
    let both = directory.run(&["--no-config", "runs/a.jsonl", "runs/day/b.json", "-o", "json"]);
    let ran = directory.run(&["--no-config", "runs", "-o", "json"]);
    assert_eq!((ran.code, traces(&ran)), (both.code, 2));
    let ids = |ran: &Ran| [0, 1].map(|number| ran.json()["traces"][number]["trace_id"].clone());
    assert_eq!(ids(&ran), ids(&both));
    directory
        .run(&["--no-config", "runs", "empty", "-o", "json"])
        .exits(3)
        .says("Failed to load trace file 'empty': the directory has no trace files");
    // PowerShell and cmd pass patterns on.
    directory.run(&["runs/*.json"]).exits(2).says(
        "no file matches; shells leave such a pattern as it is, and PowerShell and cmd expand none: name the directory",
    );
    // What may be a trace file and is not read is named.
    directory.file("old/a.json", fs::read(trace("a01_otlp_basic_parts")).unwrap());
    for (name, is_named) in [("b.json.1", true), ("b.JSONL.xz", true), ("b.txt", false)] {
        directory.file(&format!("old/{name}"), "");
        let warning = format!("old/{name} not read: a directory stands for files with");
        for form in support::output_formats() {
            let ran = directory.run(&["--no-config", "old", "-o", form]);
            let warning = format!("warning: {warning}");
            assert_eq!(ran.stderr.contains(&warning), is_named, "{form}: {}", ran.stderr);
            assert_eq!(
                ran.stdout.contains("a directory stands for"),
                is_named,
                "{form}: {}",
                ran.stdout
            );
        }
        let inspected = directory.evaluator(&["inspect", "old"]).exits(0);
        assert_eq!(inspected.stderr.contains(&warning), is_named, "{}", inspected.stderr);
        fs::remove_file(directory.path().join("old").join(name)).unwrap();
    }
    // Nothing that looks like a trace file is passed over.
    directory.file("runs/other.json", "{}");
    directory
        .run(&["--no-config", "runs"])
        .exits(3)
        .says("Failed to load trace file 'runs/other.json': ");
}

#[test]
fn compressed_files_and_standard_input_are_read() {
    let directory = Directory::new();
    let content = fs::read(trace("a01_otlp_basic_parts")).unwrap();
    let plain = directory.run(&[&trace("a01_otlp_basic_parts"), "--no-config", "-o", "json"]);
    let read = with_input(&directory, &["run", "--no-config", "-", "-o", "json"], &content);
    assert_eq!((read.code, traces(&read)), (plain.code, 1), "{}", read.stderr);
    let zstd = zstd::encode_all(&*content, 0).unwrap();
    for (format, packed) in [("gzip", gzip(&content)), ("zstd", zstd)] {
        directory.file("packed", &packed);
        let ran = directory.run(&["--no-config", "packed", "-o", "json"]);
        assert_eq!((ran.code, traces(&ran)), (plain.code, 1), "{}", ran.stderr);
        let ran = with_input(&directory, &["run", "--no-config", "-", "-o", "json"], &packed);
        assert_eq!((ran.code, traces(&ran)), (plain.code, 1), "{}", ran.stderr);
        directory.file("cut", &packed[..packed.len() - 5]);
        directory.run(&["--no-config", "cut"]).exits(3).says(&format!(
            "Failed to load trace file 'cut': cannot decompress the {format} content: "
        ));
    }
}

#[test]
fn an_input_that_is_not_a_trace_is_named() {
    let directory = Directory::new();
    with_input(&directory, &["run", "--no-config", "-"], b"{}")
        .exits(3)
        .says("Failed to load trace file '-': Could not detect trace format for '-'.")
        .says("Use --format if the content is one of these.");
}

#[test]
fn the_report_says_how_traces_were_grouped() {
    let directory = Directory::new();
    let trace = trace("a01_otlp_basic_parts");
    let grouping = |args: &[&str]| {
        let ran = directory.run(&[&[&*trace, "--no-config", "-o", "json"], args].concat());
        (ran.json()["grouping"]["by"].as_str().unwrap().to_owned(), ran.stderr)
    };
    assert_eq!(grouping(&[]).0, "trace");
    let (by, stderr) = grouping(&["--group-by", "conversation"]);
    assert_eq!(by, "conversation");
    assert!(stderr.contains(
        "grouping: traces with the same session name, conversation id or session id are one conversation, as \
         --group-by says"
    ));
    directory.file(
        "set.json",
        r#"{"eval_set_id": "s", "eval_cases": [{"eval_id": "a", "conversation": [
            {"user_content": {"parts": [{"text": "a"}]}}, {"user_content": {"parts": [{"text": "b"}]}}]}]}"#,
    );
    let (by, stderr) = grouping(&["-e", "set.json"]);
    assert_eq!(by, "conversation");
    assert!(stderr.contains("because an eval case has several turns"), "{stderr}");
}
