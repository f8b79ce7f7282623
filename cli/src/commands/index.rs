//! `evaluator index`.

use std::{
    ffi::OsStr,
    fs, io,
    path::{Path, PathBuf},
};

use evaluator_host::{
    files::{WriteOptions, atomic_write},
    index::{Index, IndexError},
    manifest,
};

use super::{broken, print, unusable};
use crate::{
    args::IndexArgs,
    exit,
    render::{self, counted},
};

const FILE_NAME: &str = "index.yaml";

/// Output that stands for stdout.
const STDOUT: &str = "-";

/// Writes an index of the evaluators in a directory, or checks the existing one.
pub(super) fn index(args: &IndexArgs) -> Result<u8, u8> {
    let place = Place::new(&args.directory);
    let file = args.output.clone().unwrap_or_else(|| place.file());
    let to_stdout = file == Path::new(STDOUT);
    if to_stdout && args.check {
        return Err(unusable(
            "`--check` compares a file with the manifests; `--output -` is not a file",
        ));
    }
    let index = compile(&place, &file, to_stdout).map_err(|error| refuse(&error))?;
    for folder in &index.passed_over {
        render::warning(&format!("ignored {}: it has no evaluator.yaml", folder.display()));
    }
    let text = index.to_string();
    if to_stdout {
        return Ok(print(&text, exit::OK));
    }
    let shown = file.display();
    let found =
        read(&file, args.check).map_err(|error| broken(format!("cannot read {shown}: {error}")))?;
    let count = counted(index.entries.len() as u64, "evaluator");
    match found {
        Some(found) if found == text.as_bytes() => {
            render::note(&format!("{shown} is up to date ({count})"));
        }
        found if args.check => {
            let difference = found.map_or_else(
                || "it does not exist".to_owned(),
                |found| difference(&String::from_utf8_lossy(&found), &text),
            );
            let hint = "run the command without --check to write it";
            render::message(&format!("{shown} is not up to date: {difference}; {hint}"));
            return Err(exit::FAILED);
        }
        _ => {
            atomic_write(&file, WriteOptions::default(), |out| out.write_all(text.as_bytes()))
                .map_err(|error| broken(format!("cannot write {shown}: {error}")))?;
            render::note(&format!("wrote {shown} ({count})"));
        }
    }
    Ok(exit::OK)
}

/// Returns the existing index. A pipe or a device is read only by `--check`, because reading may block.
fn read(file: &Path, check: bool) -> io::Result<Option<Vec<u8>>> {
    match fs::metadata(file) {
        Ok(found) if !check && !found.is_file() => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        _ => fs::read(file).map(Some),
    }
}

/// Returns the index, with paths from the directory of `file` if possible, else from the default directory.
fn compile(place: &Place, file: &Path, to_stdout: bool) -> Result<Index, IndexError> {
    let parent = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    let root = if to_stdout { &place.root } else { parent.unwrap_or(Path::new(".")) };
    match Index::compile(&place.evaluators, root) {
        Err(IndexError::Outside { .. }) => {
            let index = Index::compile(&place.evaluators, &place.root)?;
            render::warning(&format!(
                "the evaluators are not below {}; the paths in this index are relative to {}, and it can be used only there",
                root.display(),
                place.root.display()
            ));
            Ok(index)
        }
        compiled => compiled,
    }
}

fn refuse(error: &IndexError) -> u8 {
    let IndexError::Evaluators(errors) = error else {
        return unusable(error);
    };
    errors.iter().for_each(render::config_error);
    unusable("nothing was written")
}

/// Directory of evaluators, and default directory of their index.
struct Place {
    evaluators: PathBuf,
    root: PathBuf,
}

impl Place {
    /// A repository has evaluators in the directory `evaluators` and the index at its root; both directories name it. Any other
    /// directory of evaluators contains its index.
    fn new(folder: &Path) -> Self {
        let home = manifest::home(folder);
        if home != folder {
            return Self { evaluators: home, root: folder.to_owned() };
        }
        let root = if folder.file_name() == Some(OsStr::new(manifest::EVALUATORS)) {
            folder
                .parent()
                .filter(|parent| !parent.as_os_str().is_empty())
                .unwrap_or(Path::new("."))
        } else {
            folder
        };
        Self { evaluators: home, root: root.to_owned() }
    }

    fn file(&self) -> PathBuf {
        if self.root == Path::new(".") { FILE_NAME.into() } else { self.root.join(FILE_NAME) }
    }
}

/// Returns the first difference between two texts.
fn difference(found: &str, made: &str) -> String {
    let (mut left, mut right) = (found.lines(), made.lines());
    let mut number = 0_usize;
    loop {
        number += 1;
        match (left.next(), right.next()) {
            (Some(left), Some(right)) if left == right => {}
            (None, None) => return "the ends of its lines differ".to_owned(),
            (Some(left), Some(right)) => {
                return format!("line {number} is `{}`, not `{}`", left.trim(), right.trim());
            }
            (None, Some(right)) => return format!("line {number} is missing, `{}`", right.trim()),
            (Some(left), None) => {
                return format!("line {number} is superfluous, `{}`", left.trim());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::difference;

    #[test]
    fn the_first_difference_is_shown() {
        for (found, made, expected) in [
            ("a\n  b\n", "a\n  c\n", "line 2 is `b`, not `c`"),
            ("a\n", "a\nb\n", "line 2 is missing, `b`"),
            ("a\nb\n", "a\n", "line 2 is superfluous, `b`"),
            ("a\r\n", "a\n", "the ends of its lines differ"),
        ] {
            assert_eq!(difference(found, made), expected);
        }
    }
}
