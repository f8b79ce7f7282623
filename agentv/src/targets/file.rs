//! `targets.yaml`.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
};

use evaluator_document::{ConfigError, Field};
use evaluator_models::Providers;

use super::{
    model::{Setting, Target, TargetKind, Targets, of_file},
    providers,
};
use crate::files::{Findings, Opened, Places, all};

/// Names of files with targets, in the order of the search.
const NAMES: [&str; 4] =
    ["targets.yaml", "targets.yml", ".agentv/targets.yaml", ".agentv/targets.yml"];

/// Looks for the targets of an eval file, in its directory, its parents up to the repository, and the working directory.
pub fn find(directory: &Path, working_directory: &Path) -> Option<PathBuf> {
    let places = Places::new(directory, working_directory);
    places.find_any(&NAMES)
}

/// Reads targets from a file, or from the file in a directory. Targets may be models of these providers.
///
/// # Errors
///
/// The file cannot be used.
pub fn read(path: &Path, providers: &Providers) -> Result<Targets, Vec<ConfigError>> {
    let file = if path.is_dir() {
        let found = NAMES.iter().map(|name| path.join(name)).find(|file| file.is_file());
        found.ok_or_else(|| of_file(path, "the directory has no targets.yaml".to_owned()))?
    } else {
        path.to_owned()
    };
    let findings = Findings::default();
    let targets = findings.read(&file, "file of targets", |root, opened| {
        let root = root.or_else(|| opened.problems.add_to_file("there are no targets").none())?;
        let field = root.field("the file", opened.problems);
        let mut fields = field.fields("this file")?;
        fields.take("$schema");
        let list = fields.require("targets");
        fields.finish();
        let items = list?.items()?;
        let targets = all(items.iter().map(|item| target(item, opened, providers)))?;
        let mut names = HashSet::new();
        for (item, target) in items.iter().zip(&targets).filter(|(_, it)| !names.insert(&it.name)) {
            item.add(format!("the target `{}` is given twice", target.name));
        }
        Some(targets)
    });
    let warnings = findings.finish()?;
    Ok(Targets { file: Some(file), targets: targets.unwrap_or_default(), warnings })
}

fn target(item: &Field<'_>, opened: Opened<'_>, known: &Providers) -> Option<Target> {
    let mut fields = item.fields("this target")?;
    fields.null_is_absent();
    let name = fields.require("name").and_then(|name| name.sentence());
    let keys = ["grader_target", "judge_target", "graderTarget", "judgeTarget"];
    let judge = Setting::take(&mut fields, &keys, opened);
    let workers = fields.take("workers").and_then(|field| field.whole(1..=1000));
    let provider = match Setting::take(&mut fields, &["use_target", "useTarget"], opened) {
        Some(alias) => {
            fields.take("provider");
            fields.finish();
            TargetKind::Alias(alias)
        }
        None => {
            let provider = fields.require("provider").and_then(|field| field.sentence());
            providers::read(fields, &provider?, opened, known)?
        }
    };
    Some(Target { name: name?, position: opened.position(item.node), provider, judge, workers })
}
