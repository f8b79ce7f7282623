//! `evaluator view`: saved runs in the browser.

use std::{
    env,
    ffi::OsString,
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
};

use evaluator_host::{
    config::OutputFormat,
    files::{WriteOptions, atomic_write},
    report::run_file::{self, Digester},
    runtime::Environment,
};

use super::{broken, print, unusable};
use crate::{args::ViewArgs, exit, render};

/// Directory of the pages, in the cache.
const DIRECTORY: &str = "reports";

/// Maximum number of bytes that the name of a page has from its run.
const STEM: usize = 100;

/// Writes the page of a run, prints its path, and opens it where there is a display.
pub(super) fn view(args: &ViewArgs) -> Result<u8, u8> {
    let options = args.parts.options(&[]).map_err(unusable)?;
    let report = run_file::read_parts(&args.runs, &options).map_err(unusable)?;
    report.remarks.iter().for_each(|remark| render::note(remark));
    let failed = |file: &Path, error: &dyn std::fmt::Display| {
        broken(format!("cannot write the page to {}: {error}", file.display()))
    };
    let file = page(&args.runs)
        .map_err(|error| broken(format!("there is no place for the page: {error}")))?;
    let write = |out: &mut dyn Write| render::report(&report, OutputFormat::Html, None, out);
    let options = WriteOptions { private: true, ..WriteOptions::default() };
    atomic_write(&file, options, write).map_err(|error| failed(&file, &error))?;
    let code = print(&format!("{}\n", file.display()), exit::OK);
    if has_display()
        && let Err(error) = open::that_detached(&file)
    {
        render::warning(&format!("cannot open the browser: {error}"));
    }
    Ok(code)
}

/// Returns the file of the page of these runs. The same files have the same page.
fn page(runs: &[PathBuf]) -> io::Result<PathBuf> {
    let cache = Environment::inherited().cache_directory("evaluator").ok_or_else(|| {
        io::Error::other("there is no home directory; set HOME or EVALUATOR_CACHE_DIR")
    })?;
    let directory = cache.join(DIRECTORY);
    fs::create_dir_all(&directory)?;
    let mut digester = Digester::new("page");
    for run in runs {
        let run = run.canonicalize()?;
        digester = digester.bytes("run", run.as_os_str().as_encoded_bytes());
    }
    let hash = &digester.finish().to_string()[..16];
    let stem = runs.first().and_then(|run| run.file_stem()).unwrap_or_default();
    // The hash follows, in a name that a file system permits.
    let stem = stem.to_string_lossy();
    let stem = stem.char_indices().take_while(|(at, character)| at + character.len_utf8() <= STEM);
    let stem: String = stem.map(|(_, character)| character).collect();
    Ok(directory.join(format!("{stem}-{hash}.html")))
}

/// Returns true if a browser can be seen: there is a display of X11 or Wayland, or this is WSL.
fn has_display() -> bool {
    let is_set = |value: Option<OsString>| value.is_some_and(|value| !value.is_empty());
    cfg!(any(windows, target_os = "macos"))
        || is_set(env::var_os("DISPLAY"))
        || is_set(env::var_os("WAYLAND_DISPLAY"))
        || is_set(env::var_os("WSL_DISTRO_NAME"))
}
