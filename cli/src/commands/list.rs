//! `evaluator list`.

use evaluator_host::{
    run::Runner,
    source::{Entry, Freshness, SourceError},
};

use super::{
    clean_line, show_table,
    types::{EntryType, TYPES},
    unusable,
};
use crate::{
    args::{ListArgs, SourcePlaces},
    exit, render,
    render::Columns,
};

/// Name that stands for every source.
const ALL: &str = "all";

/// Name of the source of metrics.
const BUILTIN: &str = "builtin";

/// Lists the evaluators that a configuration can name.
pub(super) fn list(args: &ListArgs, runner: &Runner) -> Result<u8, u8> {
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
