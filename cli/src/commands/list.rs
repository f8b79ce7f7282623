//! `evaluator list`.

use evaluator_host::{
    hosts::library::LIBRARIES,
    run::Runner,
    source::{Entry, Freshness, SourceError},
};

use super::{
    clean_line, show_table,
    types::{EntryType, TYPES},
    unusable, watched,
};
use crate::{
    args::{ListArgs, SourcePlaces},
    exit, render,
    render::Columns,
    signals,
};

/// Name that stands for every source.
const ALL: &str = "all";

/// Name of the source of metrics.
const BUILTIN: &str = "builtin";

/// Lists the evaluators that a configuration can name.
pub(super) fn list(args: &ListArgs, verbose: u8, runner: &Runner) -> Result<u8, u8> {
    if let Some(name) = &args.library {
        return list_library(name, verbose, runner);
    }
    let asked = (args.source != ALL).then_some(&*args.source);
    if let Some(name) = asked {
        runner.registries.sources.get(name).map_err(unusable)?;
    }
    let freshness = if args.refresh { Freshness::Fresh } else { Freshness::Cached };
    let mut table = Columns::new(["Name", "Source", "Language", "Description", "Ref"]);
    let mut code = exit::OK;
    for (source, listed) in entries(asked, &args.places, freshness, runner) {
        match listed {
            Ok(mut entries) => {
                if source == BUILTIN {
                    entries.extend(TYPES.iter().map(typed));
                }
                entries.sort_by(|a, b| a.name.cmp(&b.name));
                for Entry { name, language, description, reference, .. } in &entries {
                    let reference = reference.as_deref().unwrap_or_default();
                    table.row([name, &*source, language, description, reference].map(clean_line));
                }
            }
            // The user did not ask for this source.
            Err(SourceError::NotSetUp { .. }) if asked.is_none() => {}
            Err(error) => {
                let text = format!("cannot list the source `{source}`: {error}");
                if asked.is_none() {
                    render::warning(&text);
                } else {
                    render::message(&text);
                    let unusable =
                        matches!(error, SourceError::NotSetUp { .. } | SourceError::Setting { .. });
                    code = if unusable { exit::USAGE } else { exit::ERRORED };
                }
            }
        }
    }
    Ok(if code == exit::OK { show_table(table, 3, code) } else { code })
}

/// Lists the metrics of another library.
fn list_library(name: &str, verbose: u8, runner: &Runner) -> Result<u8, u8> {
    let Some(library) = LIBRARIES.iter().find(|it| it.name == name || it.package == name) else {
        let known: Vec<&str> = LIBRARIES.iter().map(|library| library.name).collect();
        return Err(unusable(format!(
            "no metrics of a library `{}` are known; libraries: {}",
            render::one_line(name),
            known.join(", ")
        )));
    };
    signals::watch(runner.cancellation.clone());
    let listed = watched(verbose, async |on_event| runner.list_library(library, on_event).await)?;
    let entries = listed.map_err(|reason| {
        render::message(&format!("cannot list the library `{}`: {reason}", library.name));
        exit::ERRORED
    })?;
    let mut table = Columns::new(["Metric", "Model", "Arguments"]);
    for entry in &entries {
        let model = if entry.asks_model { "asks" } else { "" };
        table.row([&*entry.metric, model, &*entry.args.join(", ")].map(clean_line));
    }
    Ok(show_table(table, 2, exit::OK))
}

/// Returns a type of entries as `evaluator list` shows it.
fn typed(described: &EntryType) -> Entry {
    let EntryType { name, description, .. } = described;
    let mut entry = Entry::default();
    entry.name = (*name).to_owned();
    entry.description = format!("{description} (`evaluator config {name}` prints an entry)");
    entry
}

/// Returns the entries of the named source, or of all sources. Warns about single evaluators that cannot be listed.
pub(super) fn entries(
    name: Option<&str>,
    places: &SourcePlaces,
    freshness: Freshness,
    runner: &Runner,
) -> Vec<(String, Result<Vec<Entry>, SourceError>)> {
    let sources = runner.sources_at(places.index.as_deref(), places.directory.as_deref());
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
