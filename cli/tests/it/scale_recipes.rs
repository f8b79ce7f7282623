//! Commands of the guide for many machines, as the guide has them.

use std::fs;

use evaluator_host::document::read_yaml;
use serde_json::Value;

use crate::{
    shards::line,
    support::{Directory, has},
};

#[test]
fn the_jobs_of_the_guide_are_red_without_one_of_the_shards() {
    let guide = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/guides/beyond-one-machine.md");
    let guide = fs::read_to_string(guide).unwrap();
    let block =
        guide.split("```yaml\n# .github/workflows/agent.yml\non: pull_request\n").nth(1).unwrap();
    let block = block.split("```").next().unwrap();
    let workflow = Value::from(&read_yaml(block).unwrap().unwrap().to_json().unwrap());
    let step = |job: &str| {
        let steps = workflow["jobs"][job]["steps"].as_array().unwrap().iter();
        let run = steps.filter_map(|step| step["run"].as_str()).next().unwrap().to_owned();
        run.replacen("evaluator ", &format!("{} ", env!("CARGO_BIN_EXE_evaluator")), 1)
    };
    let directory = Directory::new();
    directory.script("check", "cat >/dev/null; echo '{\"score\": 1}'");
    directory.file("eval_config.yaml", "evaluators: [{name: check, type: code, path: ./check}]\n");
    for number in 0..9 {
        directory
            .file(&format!("traces/{number}.jsonl"), line(&format!("t{number}"), "x", &[], None));
    }
    directory.file("parts/.keep", "");
    let shards = workflow["jobs"]["evaluate"]["strategy"]["matrix"]["i"].as_array().unwrap();
    for shard in shards {
        directory.sh(&step("evaluate").replace("${{ matrix.i }}", &shard.to_string())).exits(0);
    }
    directory.sh("mv part-*.evalrun parts");
    directory.sh(&step("report")).exits(0).says("9 passed");
    fs::remove_file(directory.join("parts/part-2.evalrun")).unwrap();
    let ran = directory.sh(&step("report")).exits(3);
    assert!(ran.stdout.contains("shard 2/4 is missing"), "{}", ran.stdout);
}

#[test]
fn the_commands_for_gnu_parallel_of_the_guide_make_one_report() {
    // It skips itself where the program is missing (Debian: `parallel`).
    if !has("parallel") {
        return;
    }
    let guide = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/guides/beyond-one-machine.md");
    let guide = fs::read_to_string(guide).unwrap();
    let block = guide.split("```text\nparallel ").nth(1).unwrap().split("```").next().unwrap();
    let block = format!("parallel {block}");
    let [divide, report] = &block.lines().collect::<Vec<_>>()[..] else { panic!("{block}") };
    let program = format!("{} ", env!("CARGO_BIN_EXE_evaluator"));
    let command = |line: &str| line.replace("evaluator ", &program).replace("50M", "2k");
    let directory = Directory::new();
    directory.script("check", "cat >/dev/null; echo '{\"score\": 1}'");
    directory.file("eval_config.yaml", "evaluators: [{name: check, type: code, path: ./check}]\n");
    let lines = (0..20).map(|number| line(&format!("t{number}"), "x", &[], None));
    directory.file("all.jsonl", lines.collect::<String>());
    directory.sh(&command(divide)).exits(0);
    assert!(directory.join("part-3.evalrun").exists(), "the input was divided");
    directory.sh(&command(report)).exits(0).says("20 passed");
    fs::remove_file(directory.join("part-2.evalrun")).unwrap();
    let ran = directory.sh(&command(report)).exits(3);
    assert!(ran.stdout.contains("and 20 were sent"), "{}", ran.stdout);
}
