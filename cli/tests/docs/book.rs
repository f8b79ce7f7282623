//! Links of all pages, and the summary of the book.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use crate::{markdown, root};

/// What links of other pages need to know of a page, and its own links.
#[derive(Default)]
struct Page {
    anchors: BTreeSet<String>,
    links: Vec<String>,
}

/// Returns the anchor that GitHub and mdBook give to a heading.
fn anchor(heading: &str) -> String {
    let kept = |c: &char| c.is_alphanumeric() || matches!(c, '-' | '_' | ' ');
    heading.trim().to_lowercase().chars().filter(kept).collect::<String>().replace(' ', "-")
}

fn read(path: &Path) -> Page {
    let text = fs::read_to_string(root().join(path)).unwrap();
    let mut page = Page::default();
    let mut heading = None;
    for event in Parser::new_ext(&text, Options::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
            Event::End(TagEnd::Heading(_)) => {
                let name = anchor(&heading.take().unwrap_or_default());
                let other = (1..).map(|number| format!("{name}-{number}"));
                let is_new = |name: &String| !page.anchors.contains(name);
                let name = std::iter::once(name.clone()).chain(other).find(is_new);
                page.anchors.extend(name);
            }
            Event::Text(part) | Event::Code(part) => {
                if let Some(heading) = &mut heading {
                    heading.push_str(&part);
                }
            }
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                page.links.push(dest_url.into_string());
            }
            _ => {}
        }
    }
    page
}

/// Returns a path without `..` in it.
fn resolved(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut path, part| {
        match part {
            std::path::Component::ParentDir => _ = path.pop(),
            part => path.push(part),
        }
        path
    })
}

fn pages() -> BTreeMap<PathBuf, Page> {
    let mut paths: Vec<PathBuf> =
        ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"]
            .map(PathBuf::from)
            .into();
    for directory in ["docs", "examples", "protocol/docs", "tests/producers"] {
        paths.extend(markdown(directory));
    }
    paths.into_iter().map(|path| (path.clone(), read(&path))).collect()
}

/// Files of the repository, as pages of the book name them: the built book has only those of `docs`.
const REPOSITORY: &str = concat!(env!("CARGO_PKG_REPOSITORY"), "/blob/main/");

/// Returns the file that a link of a page leads to, and the anchor in it; `None` for other servers and links of rustdoc.
fn target<'l>(page: &Path, link: &'l str) -> Option<(PathBuf, &'l str)> {
    let (link, fragment) = link.split_once('#').unwrap_or((link, ""));
    let file = match link.strip_prefix(REPOSITORY) {
        Some(file) => PathBuf::from(file),
        None if link.contains(':') => return None,
        None if link.is_empty() => page.to_owned(),
        None => resolved(&page.with_file_name("").join(link)),
    };
    Some((file, fragment))
}

#[test]
fn links_lead_somewhere() {
    let pages = pages();
    let mut broken = Vec::new();
    let mut checked = 0;
    for (path, page) in &pages {
        for link in &page.links {
            let Some((file, fragment)) = target(path, link) else { continue };
            checked += 1;
            let has_anchor = fragment.is_empty()
                || pages.get(&file).is_some_and(|page| page.anchors.contains(fragment));
            let is_in_book = file.starts_with("docs") || link.starts_with(REPOSITORY);
            if !root().join(&file).exists() || !has_anchor {
                broken.push(format!("{}: {link} leads nowhere", path.display()));
            } else if path.starts_with("docs") && !is_in_book {
                let file = file.display();
                broken.push(format!(
                    "{}: {link} is not in the book; write {REPOSITORY}{file}",
                    path.display()
                ));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
    assert!(checked > 100, "only {checked} links were found");
}

#[test]
fn every_page_is_in_the_summary() {
    let summary = Path::new("docs/SUMMARY.md");
    let listed = read(summary).links;
    let named: BTreeSet<PathBuf> = listed.iter().map(|link| Path::new("docs").join(link)).collect();
    assert_eq!(named.len(), listed.len(), "a page is in the summary twice");
    let there: BTreeSet<PathBuf> =
        markdown("docs").into_iter().filter(|path| path != summary).collect();
    let missing: Vec<_> = there.difference(&named).collect();
    assert!(missing.is_empty(), "docs/SUMMARY.md does not list {missing:?}");
    let unknown: Vec<_> = named.difference(&there).collect();
    assert!(unknown.is_empty(), "docs/SUMMARY.md lists {unknown:?}, which does not exist");
}

#[test]
fn every_page_with_rust_is_compiled() {
    let compiled = fs::read_to_string(root().join("tests/src/lib.rs")).unwrap();
    let mut pages = markdown("docs");
    pages.push("README.md".into());
    let missing: Vec<_> = pages
        .iter()
        .filter(|page| {
            let text = fs::read_to_string(root().join(page)).unwrap();
            let mut fences = text.lines().filter_map(|line| line.strip_prefix("```rust"));
            fences.any(|rest| rest != ",ignore")
                && !compiled.contains(&format!("\"{}\"", page.display()))
        })
        .collect();
    assert!(missing.is_empty(), "tests/src/lib.rs does not list {missing:?}");
}
