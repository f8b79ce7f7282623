//! Whether a program that cargo built is still the one that its sources make.
//!
//! Only cargo knows for sure, and it answers by building. This is for looking at programs without building them: a program
//! is taken for stale if any of the files that cargo lists for it is newer.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// The files that a program was made of, from the list that cargo writes next to it; `None` if there is none.
pub(super) fn parts(program: &Path) -> Option<Vec<PathBuf>> {
    let list = fs::read_to_string(program.with_extension("d")).ok()?;
    // `PROGRAM: FILE FILE ..`, as make reads it. What stands before the colon is the program again.
    let mut files = words(list.lines().next()?).into_iter().skip(1).map(PathBuf::from);
    let first = files.next()?;
    Some(std::iter::once(first).chain(files).collect())
}

/// Returns true if the program exists and none of `parts` is missing or was changed after it.
pub(super) fn is_newest(program: &Path, parts: &[PathBuf]) -> bool {
    let changed = |path: &Path| path.metadata().and_then(|found| found.modified()).ok();
    let Some(built) = changed(program) else { return false };
    parts.iter().all(|part| changed(part).is_some_and(|changed| changed <= built))
}

/// Words with blanks between them, where `\\ ` is a blank of a word.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut characters = line.chars().peekable();
    while let Some(character) = characters.next() {
        let current = words.last_mut().filter(|_| character != ' ');
        match (character, current) {
            ('\\', Some(word)) if characters.peek() == Some(&' ') => {
                characters.next();
                word.push(' ');
            }
            (_, Some(word)) => word.push(character),
            (_, None) => words.push(String::new()),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::*;
    use crate::runtime::testing::Folder;

    #[test]
    fn a_program_is_stale_when_a_part_of_it_is_newer_or_gone() {
        let folder = Folder::new("cargo-freshness");
        let source = folder.file("a b.rs", "");
        let program = folder.file("check", "");
        assert_eq!(parts(&program), None);
        let escaped = source.display().to_string().replace(' ', "\\ ");
        folder.file("check.d", &format!("{}: {escaped}\n", program.display()));
        assert_eq!(parts(&program), Some(vec![source.clone()]));
        let built = SystemTime::now();
        let set = |path: &Path, time| {
            fs::File::options().append(true).open(path).unwrap().set_modified(time).unwrap()
        };
        set(&program, built);
        set(&source, built - Duration::from_secs(1));
        assert!(is_newest(&program, std::slice::from_ref(&source)));
        set(&source, built + Duration::from_secs(1));
        assert!(!is_newest(&program, std::slice::from_ref(&source)));
        fs::remove_file(&source).unwrap();
        assert!(!is_newest(&program, &[source]));
        assert!(!is_newest(&folder.path("gone"), &[]));
    }
}
