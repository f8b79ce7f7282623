//! `evaluator list`.

use evaluator_host::{
    run::Runner,
    source::{Entry, Freshness, SourceError},
};

use super::show_table;
use crate::{
    args::{ListArgs, SourcePlaces},
    exit, render,
    render::Columns,
};

/// Stands for every source.
const ALL: &str = "all";

/// Lists what a configuration can name.
pub(super) fn list(args: &ListArgs, runner: &Runner) -> u8 {
    let asked = (args.source != ALL).then_some(&*args.source);
    if let Some(name) = asked
        && let Err(error) = runner.sources.get(name)
    {
        render::message(&error.to_string());
        return exit::USAGE;
    }
    let freshness = if args.refresh { Freshness::Fresh } else { Freshness::Cached };
    let mut table = Columns::new(["Name", "Source", "Language", "Description", "Ref"]);
    let mut code = exit::OK;
    for (source, listed) in entries(asked, &args.places, freshness, runner) {
        match listed {
            Ok(mut entries) => {
                entries.sort_by(|a, b| a.name.cmp(&b.name));
                for entry in entries {
                    table.row(
                        [
                            &*entry.name,
                            &*source,
                            &*entry.language,
                            &*entry.description,
                            entry.reference.as_deref().unwrap_or_default(),
                        ]
                        .map(one_line),
                    );
                }
            }
            // Nobody asked for this one.
            Err(SourceError::NotSetUp { .. }) if asked.is_none() => {}
            Err(error) => {
                let said = format!("cannot list the source `{source}`: {error}");
                if asked.is_none() {
                    render::warning(&said);
                } else {
                    render::message(&said);
                    let unusable =
                        matches!(error, SourceError::NotSetUp { .. } | SourceError::Setting { .. });
                    code = if unusable { exit::USAGE } else { exit::ERRORED };
                }
            }
        }
    }
    if code == exit::OK { show_table(table, code) } else { code }
}

/// What the sources list: the one of that name, or all. What is wrong with single evaluators is told.
pub(super) fn entries(
    name: Option<&str>,
    places: &SourcePlaces,
    freshness: Freshness,
    runner: &Runner,
) -> Vec<(String, Result<Vec<Entry>, SourceError>)> {
    let sources = runner.sources_at(places.index.as_deref(), places.folder.as_deref());
    sources
        .iter()
        .filter(|source| name.is_none_or(|name| name == source.name()))
        .map(|source| {
            let listed = source.list(freshness).map(|listing| {
                for warning in listing.warnings {
                    render::warning(&format!("{}: {warning}", source.name()));
                }
                listing.entries
            });
            (source.name().to_owned(), listed)
        })
        .collect()
}

/// Text of others on one line, without what a terminal would act upon.
fn one_line(text: &str) -> String {
    let printable: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    printable.split_whitespace().collect::<Vec<_>>().join(" ")
}
