//! The image of the command: `packaging/Dockerfile` with the tarball in `target/packages`.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use evaluator_test_support::{TestDirectory, has, recording::recording};
use serde_json::json;

use super::engine::{Engine, IMAGE, docker};

/// Name of the image of the command.
const PACKAGE: &str = "evaluator-package:1";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// The tarball of the command.
fn tarball() -> PathBuf {
    let packages = root().join("target/packages");
    let entries = fs::read_dir(&packages).into_iter().flatten().map(|it| it.unwrap().path());
    let mut tarballs = entries.filter(|it| it.extension().is_some_and(|it| it == "gz"));
    tarballs.next().expect("a tarball of `packaging/build tarball` is needed")
}

/// Builds the image on that of the other tests, without network.
fn build(engine: &Engine) {
    // A client without BuildKit would send the whole repository.
    let context = TestDirectory::new();
    let tarball = tarball();
    let copy = format!("target/packages/{}", tarball.file_name().unwrap().display());
    context.file(&copy, fs::read(&tarball).unwrap());
    let (base, file) = (format!("BASE={IMAGE}"), root().join("packaging/Dockerfile"));
    let (file, context) = (file.to_str().unwrap(), context.path().to_str().unwrap());
    let options = ["--network=none", "--build-arg", &base, "--file", file, "--tag", PACKAGE];
    engine.docker([&["build"], &options[..], &[context]].concat()).exits(0);
}

#[test]
#[ignore = "needs an engine, and a tarball of `packaging/build`"]
fn the_image_of_the_command_runs_evaluators() {
    let Some(engine) = docker() else { return };
    build(engine);
    let directory = TestDirectory::new();
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
    directory.file("trace.json", recording([("What is up?", "The sky.")]));
    directory.file("a.py", "import json\nprint(json.dumps({'score': 0.75}))\n");
    directory.file("b.js", "console.log(JSON.stringify({score: 0.25}));\n");
    let languages = if has("node") { &["a.py", "b.js"][..] } else { &["a.py"] };
    let entries = languages.iter().map(|it| json!({"name": &it[..1], "type": "code", "path": it}));
    let config = json!({"evaluators": entries.collect::<Vec<_>>()});
    directory.file("eval_config.yaml", config.to_string());

    // Not at `/work`: the interpreters of the image are where this machine has them, which may be below that.
    let volume = format!("{}:/recordings:ro", directory.path().display());
    let options = ["--rm", "--network=none", "--volume", &volume, "--workdir=/recordings", PACKAGE];
    let command = ["run", "trace.json", "-o", "json"];
    let ran = engine.docker([&["run"], &options[..], &command].concat());

    let json = ran.json();
    let results = json["traces"][0]["metrics"].as_array().unwrap();
    let scores: Vec<f64> = results.iter().filter_map(|it| it["score"].as_f64()).collect();
    assert_eq!(scores, [0.75, 0.25][..languages.len()], "{}", ran.stderr);
    // The exit code is that of the command: one score is below the threshold.
    ran.exits(if languages.len() == 2 { 1 } else { 0 });
}
