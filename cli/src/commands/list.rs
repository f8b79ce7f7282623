//! `evaluator list`.

use evaluator_host::source::{Entry, Freshness, SourceError, Sources};

use super::show_table;
use crate::{
    args::{ListArgs, SourcePlaces},
    exit, render,
    render::Columns,
};

pub(super) fn list(args: &ListArgs) -> u8 {
    let freshness = if args.refresh { Freshness::Fresh } else { Freshness::Cached };
    let mut table = Columns::new(["Name", "Source", "Language", "Description", "Ref"]);
    let mut code = exit::OK;
    for (source, listed) in entries(args.source.name(), &args.places, freshness) {
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
            Err(SourceError::NotSetUp { .. }) if args.source.name().is_none() => {}
            Err(error) => {
                render::message(&format!("cannot list the source `{source}`: {error}"));
                if args.source.name().is_some() {
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
) -> Vec<(String, Result<Vec<Entry>, SourceError>)> {
    let sources = Sources::default().located(places.index.as_deref(), places.folder.as_deref());
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

/// Descriptions may be texts of several lines, and would tear the table apart.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
