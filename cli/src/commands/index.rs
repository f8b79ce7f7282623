//! `evaluator index`.

use std::{fs, io, path::Path};

use evaluator_host::files::{WriteOptions, atomic_write};
use evaluator_publish::{
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
    let evaluators = manifest::home(&args.directory);
    let root = default_root(&args.directory, &evaluators);
    let file = args.output.clone().unwrap_or_else(|| match root == Path::new(".") {
        true => FILE_NAME.into(),
        false => root.join(FILE_NAME),
    });
    let to_stdout = file == Path::new(STDOUT);
    if to_stdout && args.check {
        return Err(unusable(
            "`--check` compares a file with the manifests; `--output -` is not a file",
        ));
    }
    let index = compile(&evaluators, root, (!to_stdout).then_some(&*file))
        .map_err(|error| refuse(&error))?;
    for directory in &index.passed_over {
        render::warning(&format!("ignored {}: it has no evaluator.yaml", directory.display()));
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
fn compile(evaluators: &Path, root: &Path, file: Option<&Path>) -> Result<Index, IndexError> {
    let wanted = file.map_or(root, parent);
    match Index::compile(evaluators, wanted) {
        Err(IndexError::Outside { .. }) => {
            let index = Index::compile(evaluators, root)?;
            let (wanted, root) = (wanted.display(), root.display());
            render::warning(&format!(
                "the evaluators are not below {wanted}; the paths in this index are relative to {root}, and it can be used only there"
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

/// Returns the default directory of an index. A repository has evaluators in the directory `evaluators` and the index at its
/// root; both directories name it. Any other directory of evaluators contains its index.
fn default_root<'a>(given: &'a Path, evaluators: &Path) -> &'a Path {
    let is_named_so = evaluators == given && given.ends_with(manifest::EVALUATORS);
    if is_named_so { parent(given) } else { given }
}

fn parent(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Returns the first difference between two texts.
fn difference(found: &str, made: &str) -> String {
    let equal = found.lines().zip(made.lines()).take_while(|(found, made)| found == made).count();
    let number = equal + 1;
    match (found.lines().nth(equal), made.lines().nth(equal)) {
        (Some(found), Some(made)) => {
            format!("line {number} is `{}`, not `{}`", found.trim(), made.trim())
        }
        (None, Some(made)) => format!("line {number} is missing, `{}`", made.trim()),
        (Some(found), None) => format!("line {number} is superfluous, `{}`", found.trim()),
        (None, None) => "the ends of its lines differ".to_owned(),
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
