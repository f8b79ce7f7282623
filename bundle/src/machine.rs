//! What decides whether programs of another machine run on this one.

use std::{
    collections::BTreeSet,
    env::consts::{ARCH, OS},
    fs::{self, File},
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use memchr::memmem;

/// First bytes of programs and libraries on Linux.
const ELF: &[u8] = b"\x7fELF";

/// Start of the names of versions that programs need of glibc.
const SYMBOL: &[u8] = b"GLIBC_";

/// Maximum length of such a version.
const LONGEST: usize = 16;

/// Returns the kind of machine and C library that this program was compiled for, e.g. `x86_64-linux-gnu`.
pub(crate) fn target() -> String {
    let libraries = [("-gnu", cfg!(target_env = "gnu")), ("-musl", cfg!(target_env = "musl"))];
    let library = libraries.into_iter().find_map(|(name, is_it)| is_it.then_some(name));
    format!("{ARCH}-{OS}{}", library.unwrap_or_default())
}

/// A version as numbers, which is compared as such.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Version(Vec<u32>);

impl Version {
    /// Reads the numbers at the start of a text; `None` if there are none.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let numbers: Option<Vec<u32>> =
            text[..end].trim_end_matches('.').split('.').map(|it| it.parse().ok()).collect();
        numbers.map(Self)
    }

    /// The first two numbers as text, e.g. `3.11`.
    pub(crate) fn minor(&self) -> String {
        let parts: Vec<String> = self.0.iter().take(2).map(u32::to_string).collect();
        parts.join(".")
    }
}

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let parts: Vec<String> = self.0.iter().map(u32::to_string).collect();
        f.write_str(&parts.join("."))
    }
}

/// Returns the newest version of symbols that the glibc below a root directory has; `None` if there is none. It is where this process
/// has it from, unless that is linked with another C library, or at one of the usual places.
pub(crate) fn glibc(root: &Path) -> Option<Version> {
    let own = format!("lib/{ARCH}-{OS}-gnu");
    let places = ["lib64", "lib", &own].map(|place| root.join(place).join("libc.so.6"));
    let maps = fs::read_to_string(root.join("proc/self/maps")).unwrap_or_default();
    let loaded =
        maps.lines().filter_map(|line| Some(PathBuf::from(line.split_whitespace().last()?)));
    // Before 2.34, the file has the version in its name.
    let is_libc = |path: &PathBuf| {
        let name = path.file_name().map(|it| it.to_string_lossy()).unwrap_or_default();
        name == "libc.so.6" || (name.starts_with("libc-2.") && name.ends_with(".so"))
    };
    let files: BTreeSet<_> = places.into_iter().chain(loaded.filter(is_libc)).collect();
    files.iter().filter_map(|file| needed_glibc(file).ok()?).max()
}

/// Returns the newest version of glibc that a file needs; `None` if it is not a program or library, or needs none.
pub(crate) fn needed_glibc(path: &Path) -> io::Result<Option<Version>> {
    let (mut file, mut bytes) = (File::open(path)?, Vec::new());
    file.by_ref().take(ELF.len() as u64).read_to_end(&mut bytes)?;
    if bytes != ELF {
        return Ok(None);
    }
    file.read_to_end(&mut bytes)?;
    let versions = memmem::find_iter(&bytes, SYMBOL).filter_map(|at| {
        let rest = &bytes[at..][SYMBOL.len()..];
        Version::parse(&String::from_utf8_lossy(&rest[..rest.len().min(LONGEST)]))
    });
    Ok(versions.max())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_numbers() {
        let version = |text| Version::parse(text).unwrap();
        assert!(version("2.9") < version("2.34") && version("2.34") == version("2.34\0x"));
        assert!(version("2.2") < version("2.2.5"));
        assert_eq!(version("3.11.7").minor(), "3.11");
        assert_eq!(Version::parse("PRIVATE"), None);
    }

    #[test]
    fn glibc_is_found_at_its_places_and_where_the_process_has_it_from() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(glibc(root.path()), None);
        let own = format!("lib/{ARCH}-{OS}-gnu/libc.so.6");
        for (file, version) in
            [("lib64/libc.so.6", "2.17"), (&own, "2.36"), ("nix/libc-2.40.so", "2.40")]
        {
            let path = root.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            let text = [ELF, b"GLIBC_2.2.5\0GLIBC_", version.as_bytes(), b"\0GLIBC_PRIVATE\0"];
            fs::write(&path, text.concat()).unwrap();
            fs::create_dir_all(root.path().join("proc/self")).unwrap();
            let maps = format!(
                "7f00-7f01 r-xp 0 08:01 5  {}\n7ffc-7ffd rw-p 0 0:0 0 [stack]\n",
                path.display()
            );
            fs::write(root.path().join("proc/self/maps"), maps).unwrap();
            assert_eq!(glibc(root.path()), Version::parse(version));
        }
    }

    #[test]
    fn the_newest_symbol_of_a_program_counts() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("program");
        let bytes = [ELF, b"GLIBC_2.2.5\0GLIBC_PRIVATE\0GLIBC_2.34\0GLIBC_2.9\0"].concat();
        fs::write(&path, &bytes).unwrap();
        assert_eq!(needed_glibc(&path).unwrap(), Version::parse("2.34"));
        fs::write(&path, &bytes[1..]).unwrap();
        assert_eq!(needed_glibc(&path).unwrap(), None);
    }
}
