//! Checked copies of manifests: what cargo sees of a contained package outside of its sandbox.
//!
//! A manifest decides what cargo reads, downloads and writes, and a link in place of a file would let it do so anywhere. So
//! cargo works in a directory that this program has made: copies of the manifests and of the lock file, and links to
//! everything else. A path of this machine has its copy at the same path below that directory. Cargo writes its lock file
//! there, never into the package.
//!
//! A copy has only the packages that the program needs, and fails for a dependency that is neither one of the index, nor
//! below the package or the workspace that has it as a member, nor named by the entry.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::{Component, Path, PathBuf},
};

use toml_edit::{Array, DocumentMut, Item, Table, TableLike, value};

use super::script::write_if_changed;
use crate::{
    executor::CrateSource,
    files,
    runtime::{Environment, paths},
};

/// Names of files that cargo and rustup would read, or that are copied.
const LEFT_OUT: [&str; 7] = [
    "Cargo.toml",
    "Cargo.lock",
    ".cargo",
    "rust-toolchain",
    "rust-toolchain.toml",
    "target",
    ".git",
];

/// Tables of dependencies, in all spellings.
const DEPENDENCIES: [&str; 5] = [
    "dependencies",
    "dev-dependencies",
    "build-dependencies",
    "dev_dependencies",
    "build_dependencies",
];

/// Where dependencies of a contained package may come from.
#[derive(Clone, Debug, Default)]
pub(super) struct Permitted {
    /// Directories, without links in their paths.
    directories: Vec<PathBuf>,
    /// URLs of repositories and indexes.
    urls: Vec<String>,
}

impl Permitted {
    /// Returns what an entry names, and these directories of this program or of the evaluator.
    pub(super) fn new<'a>(
        sources: &[CrateSource],
        directories: impl IntoIterator<Item = &'a Path>,
    ) -> Self {
        let mut permitted = Self::default();
        let mut add = |path: &Path| permitted.directories.extend(path.canonicalize().ok());
        directories.into_iter().for_each(&mut add);
        for source in sources {
            match source {
                CrateSource::Directory(path) => add(path),
                CrateSource::Url(_) => {}
            }
        }
        let urls = sources.iter().filter_map(|source| match source {
            CrateSource::Url(url) => Some(trimmed(url).to_owned()),
            CrateSource::Directory(_) => None,
        });
        permitted.urls.extend(urls);
        permitted
    }

    /// Returns true for the source of a package in a lock file, e.g. `git+https://host/repository?tag=v1#0123`.
    pub(super) fn has_source(&self, source: &str) -> bool {
        const INDEX: [&str; 2] = [
            "registry+https://github.com/rust-lang/crates.io-index",
            "sparse+https://index.crates.io/",
        ];
        let url = source.split_once('+').map_or(source, |(_, url)| url);
        let url = url.split(['?', '#']).next().unwrap_or(url);
        INDEX.contains(&source) || self.has_url(url)
    }

    fn has_url(&self, url: &str) -> bool {
        self.urls.iter().any(|known| known == trimmed(url))
    }

    fn has_directory(&self, directory: &Path) -> bool {
        self.directories.iter().any(|known| directory.starts_with(known))
    }
}

fn trimmed(url: &str) -> &str {
    url.trim_end_matches('/')
}

/// The copy of one package and of the packages of this machine that it needs.
#[derive(Debug)]
pub(super) struct Copy {
    /// Directory below which each path of this machine has its copy.
    root: PathBuf,
    /// Directory of the workspace.
    workspace: PathBuf,
    /// The manifests that are copied, by their directories.
    manifests: BTreeMap<PathBuf, DocumentMut>,
}

impl Copy {
    /// Makes or updates the copy of a package in the directory `root`. `shown` is the name of its manifest in errors.
    ///
    /// # Errors
    ///
    /// The manifests name something that is not permitted, or a file cannot be read or written.
    pub(super) fn make(
        root: PathBuf,
        manifest: &Path,
        shown: &Path,
        permitted: &Permitted,
    ) -> Result<Self, String> {
        let directory = manifest.parent().unwrap_or(manifest).to_owned();
        let outer = Root::of(&directory)?;
        let workspace = outer.as_ref().map_or(&directory, |outer| &outer.directory).clone();
        let mut search = Search { permitted, own: vec![directory.clone()], found: Vec::new() };
        let mut copy = Self { root, workspace, manifests: BTreeMap::new() };
        let mut unread = vec![(directory.clone(), shown.to_owned())];
        let mut roots = BTreeMap::new();
        if let Some(mut outer) = outer {
            if outer.is_member && paths::is_narrow(&outer.directory, &Environment::inherited()) {
                search.own.push(outer.directory.clone());
            }
            let shown = outer.directory.join("Cargo.toml");
            copy.check_patches(&mut outer.document, (&outer.directory, &shown), &mut search)?;
            outer.reduce(&["workspace", "patch", "replace", "profile"]);
            roots.insert(outer.directory, outer.document);
        }
        loop {
            let found =
                search.found.drain(..).map(|found| (found.clone(), found.join("Cargo.toml")));
            unread.extend(found);
            let Some((package, shown)) = unread.pop() else { break };
            if copy.manifests.contains_key(&package) {
                continue;
            }
            let mut document = read(&package.join("Cargo.toml"), &shown)?;
            let outer = Root::of(&package)?;
            copy.check(&mut document, (&package, &shown), outer.as_ref(), &mut search)?;
            if let Some(mut outer) = outer {
                outer.reduce(&["workspace"]);
                roots.entry(outer.directory).or_insert(outer.document);
            }
            copy.manifests.insert(package, document);
        }
        for (path, document) in roots {
            copy.manifests.entry(path).or_insert(document);
        }
        copy.select(&directory)?;
        copy.write().map_err(|error| format!("cannot write {}: {error}", copy.root.display()))?;
        copy.take_lock_file()?;
        Ok(copy)
    }

    /// Returns the copy of a path of this machine.
    pub(super) fn of(&self, path: &Path) -> PathBuf {
        let below = path.components().filter(|it| matches!(it, Component::Normal(_)));
        self.root.join(below.collect::<PathBuf>())
    }

    /// Returns the path of this machine whose copy this is; `None` for other paths.
    pub(super) fn original(&self, copy: &Path) -> Option<PathBuf> {
        copy.strip_prefix(&self.root).ok().map(|below| Path::new("/").join(below))
    }

    /// Directory with all of it.
    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// Checks what a manifest names and rewrites its paths.
    fn check(
        &self,
        document: &mut DocumentMut,
        (package, shown): (&Path, &Path),
        root: Option<&Root>,
        search: &mut Search<'_>,
    ) -> Result<(), String> {
        let tables = |table: &mut dyn TableLike, search: &mut Search<'_>| -> Result<(), String> {
            for kind in DEPENDENCIES {
                let table = table.get_mut(kind).and_then(Item::as_table_like_mut);
                for (name, dependency) in table.into_iter().flat_map(|it| it.iter_mut()) {
                    let name = name.get().to_owned();
                    if is_inherited(dependency) {
                        let inherited = root.and_then(|root| root.dependency(&name));
                        if let (Some(mut inherited), Some(root)) = (inherited, root) {
                            let shown = root.directory.join("Cargo.toml");
                            self.dependency(
                                &mut inherited,
                                &name,
                                (&root.directory, &shown),
                                search,
                            )?;
                        }
                    } else {
                        self.dependency(dependency, &name, (package, shown), search)?;
                    }
                }
            }
            Ok(())
        };
        tables(document.as_table_mut(), search)?;
        if let Some(targets) = document.get_mut("target").and_then(Item::as_table_like_mut) {
            for (_, target) in targets.iter_mut() {
                if let Some(target) = target.as_table_like_mut() {
                    tables(target, search)?;
                }
            }
        }
        self.check_patches(document, (package, shown), search)
    }

    /// Checks what replaces packages, and rewrites what packages of a workspace inherit.
    fn check_patches(
        &self,
        document: &mut DocumentMut,
        (directory, shown): (&Path, &Path),
        search: &mut Search<'_>,
    ) -> Result<(), String> {
        if let Some(sources) = document.get_mut("patch").and_then(Item::as_table_like_mut) {
            for (_, source) in sources.iter_mut() {
                for (name, dependency) in
                    source.as_table_like_mut().into_iter().flat_map(|it| it.iter_mut())
                {
                    let name = name.get().to_owned();
                    self.dependency(dependency, &name, (directory, shown), search)?;
                }
            }
        }
        if let Some(replaced) = document.get_mut("replace").and_then(Item::as_table_like_mut) {
            for (name, dependency) in replaced.iter_mut() {
                let name = name.get().to_owned();
                self.dependency(dependency, &name, (directory, shown), search)?;
            }
        }
        let workspace = document.get_mut("workspace").and_then(Item::as_table_like_mut);
        let inherited = workspace.and_then(|it| it.get_mut("dependencies"));
        for (name, dependency) in
            inherited.and_then(Item::as_table_like_mut).into_iter().flat_map(|it| it.iter_mut())
        {
            let name = name.get().to_owned();
            // Those that no package of the copy uses are never read. The others were checked with their packages.
            let mut alone = Search { found: Vec::new(), own: search.own.clone(), ..*search };
            let _ = self.dependency(dependency, &name, (directory, shown), &mut alone);
        }
        Ok(())
    }

    /// Checks where a dependency comes from. A directory is found, and replaced by its copy.
    fn dependency(
        &self,
        dependency: &mut Item,
        name: &str,
        (directory, shown): (&Path, &Path),
        search: &mut Search<'_>,
    ) -> Result<(), String> {
        let Some(table) = dependency.as_table_like_mut() else { return Ok(()) };
        let refused = |what: String| {
            Err(format!(
                "{} takes `{name}` from {what}; a contained package may only use packages of crates.io, and what its entry \
                 names: sandbox: {{sources: [..]}}",
                shown.display()
            ))
        };
        for key in ["git", "registry-index"] {
            let url = table.get(key).map(|it| it.as_str().unwrap_or_default());
            if let Some(url) = url.filter(|url| !search.permitted.has_url(url)) {
                return refused(url.to_owned());
            }
        }
        let registry = table.get("registry").map(|it| it.as_str().unwrap_or_default());
        if let Some(registry) = registry.filter(|it| *it != "crates-io") {
            return refused(format!("the registry `{registry}`"));
        }
        let Some(path) = table.get("path").map(|it| it.as_str().unwrap_or_default()) else {
            return Ok(());
        };
        let named = normal(&directory.join(path));
        let real = named.canonicalize().map_err(|error| {
            format!("{} takes `{name}` from {}: {error}", shown.display(), named.display())
        })?;
        let is_own = real == named && search.own.iter().any(|own| real.starts_with(own));
        if !is_own && !search.permitted.has_directory(&real) {
            return refused(format!("the directory {}", real.display()));
        }
        let copy = self.of(&real);
        let text = copy.to_str().ok_or_else(|| {
            format!("the path {} is not valid UTF-8, which a manifest needs", copy.display())
        })?;
        table.insert("path", value(text));
        search.found.push(real);
        Ok(())
    }

    /// Makes the package the only member of its workspace, besides packages that it needs.
    fn select(&mut self, package: &Path) -> Result<(), String> {
        let below = package.strip_prefix(&self.workspace).unwrap_or(Path::new(""));
        let members: Array = below.to_str().filter(|below| !below.is_empty()).into_iter().collect();
        let Some(document) = self.manifests.get_mut(&self.workspace) else { return Ok(()) };
        let workspace = document.entry("workspace").or_insert(Item::Table(Table::new()));
        let workspace = workspace.as_table_like_mut().ok_or_else(|| {
            format!("`workspace` in {} is not a table", self.workspace.join("Cargo.toml").display())
        })?;
        workspace.remove("default-members");
        workspace.insert("members", value(members));
        Ok(())
    }

    /// Writes manifests and links. Nothing is written through a link.
    fn write(&self) -> io::Result<()> {
        fs::create_dir_all(&self.root)?;
        // Packages without a workspace must not find one above the copy.
        let end = write_if_changed(&self.root.join("Cargo.toml"), "[workspace]\n");
        end.map_err(|error| io::Error::other(error.to_string()))?;
        for (directory, document) in &self.manifests {
            self.make_directory(directory)?;
            let text = document.to_string();
            let write = write_if_changed(&self.of(directory).join("Cargo.toml"), &text);
            write.map_err(|error| io::Error::other(error.to_string()))?;
        }
        // The root of a workspace that is not a package has no files of its own.
        let packages = self.manifests.iter().filter(|(_, it)| it.contains_key("package"));
        packages.map(|(directory, _)| directory).try_for_each(|it| self.link(it, &LEFT_OUT))
    }

    /// Links the entries of a directory, except for directories that have a copy.
    fn link(&self, directory: &Path, left_out: &[&str]) -> io::Result<()> {
        self.make_directory(directory)?;
        let copy = self.of(directory);
        let mut wanted = BTreeSet::new();
        for entry in fs::read_dir(directory)? {
            let entry = entry?;
            let (path, name) = (entry.path(), entry.file_name());
            if name.to_str().is_some_and(|name| left_out.contains(&name)) {
                continue;
            }
            if self.manifests.contains_key(&path) {
                continue;
            }
            if self.manifests.keys().any(|it| it.starts_with(&path)) {
                self.link(&path, &[])?;
                continue;
            }
            let link = copy.join(&name);
            if !fs::read_link(&link).is_ok_and(|target| target == path) {
                let _ = fs::remove_file(&link);
                symlink(&path, &link)?;
            }
            wanted.insert(name);
        }
        for entry in fs::read_dir(&copy)? {
            let entry = entry?;
            if entry.file_type()?.is_symlink() && !wanted.contains(&entry.file_name()) {
                fs::remove_file(entry.path())?;
            }
        }
        Ok(())
    }

    /// Creates the copy of a directory. A link of an earlier copy is replaced, because it leads into the package.
    fn make_directory(&self, directory: &Path) -> io::Result<()> {
        let mut path = self.root.clone();
        for component in directory.components() {
            let Component::Normal(name) = component else { continue };
            path.push(name);
            if fs::symlink_metadata(&path).is_ok_and(|found| !found.is_dir()) {
                fs::remove_file(&path)?;
            }
            match fs::create_dir(&path) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    /// Copies the lock file if it has changed since it was copied. Cargo completes the copy.
    fn take_lock_file(&self) -> Result<(), String> {
        let path = self.workspace.join("Cargo.lock");
        let content = match files::read_own(&path, files::MAX_SOURCE) {
            Ok(content) => content,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(format!("cannot use {}: {error}", path.display())),
        };
        let text = String::from_utf8(content)
            .map_err(|_| format!("cannot use {}: it is not valid UTF-8", path.display()))?;
        let copy = self.of(&path);
        let taken = copy.with_extension("taken");
        if copy.is_file() && fs::read(&taken).is_ok_and(|before| before == text.as_bytes()) {
            return Ok(());
        }
        let write = |path: &Path| write_if_changed(path, &text).map_err(|error| error.to_string());
        write(&copy).and_then(|()| write(&taken))
    }
}

/// A search for dependencies.
struct Search<'a> {
    permitted: &'a Permitted,
    /// Directories below which packages may be, without links below them.
    own: Vec<PathBuf>,
    /// Directories of packages that were found.
    found: Vec<PathBuf>,
}

/// The manifest of the workspace of a package.
struct Root {
    directory: PathBuf,
    document: DocumentMut,
    /// True if it names the package as a member. Packages that its members need are members without being named.
    is_member: bool,
}

impl Root {
    /// Finds the root of the workspace of a package; `None` for a package without one, and for one that is a root itself.
    fn of(package: &Path) -> Result<Option<Self>, String> {
        let manifest = package.join("Cargo.toml");
        let own = read(&manifest, &manifest)?;
        if own.contains_key("workspace") {
            return Ok(None);
        }
        let named = own.get("package").and_then(|it| it.get("workspace")).and_then(Item::as_str);
        let named = named.map(|path| normal(&package.join(path)));
        for directory in package.ancestors().skip(1) {
            let manifest = directory.join("Cargo.toml");
            if named.as_deref().is_some_and(|named| named != directory) || !manifest.is_file() {
                continue;
            }
            // A directory above the package need not belong to it.
            let Ok(document) = read(&manifest, &manifest) else { continue };
            let Some(workspace) = document.get("workspace") else { continue };
            let Ok(below) = package.strip_prefix(directory) else { continue };
            if patterns(workspace, "exclude").any(|it| below.starts_with(it)) {
                continue;
            }
            let is_member = patterns(workspace, "members").any(|it| matches(it, below));
            let directory = directory.to_owned();
            return Ok(Some(Self { directory, document, is_member }));
        }
        match named {
            Some(named) => Err(format!(
                "{} names the workspace {}, which is not above it",
                manifest.display(),
                named.display()
            )),
            None => Ok(None),
        }
    }

    /// Returns a dependency that packages inherit.
    fn dependency(&self, name: &str) -> Option<Item> {
        self.document.get("workspace")?.get("dependencies")?.get(name).cloned()
    }

    /// Removes the package of the root, which the program does not need, and everything else but these tables.
    fn reduce(&mut self, kept: &[&str]) {
        let edition = self.document.get("package").and_then(|it| it.get("edition"));
        // A workspace without a package has the oldest resolver if it does not name one.
        let resolver = match edition.and_then(Item::as_str) {
            Some("2021") => Some("2"),
            Some("2015" | "2018") | None => None,
            Some(_) => Some("3"),
        };
        self.document.retain(|key, _| kept.contains(&key));
        let workspace = self.document.get_mut("workspace").and_then(Item::as_table_like_mut);
        let Some(workspace) = workspace else { return };
        workspace.insert("members", value(Array::new()));
        if let Some(resolver) = resolver.filter(|_| !workspace.contains_key("resolver")) {
            workspace.insert("resolver", value(resolver));
        }
    }
}

fn read(manifest: &Path, shown: &Path) -> Result<DocumentMut, String> {
    let cannot = |problem: &str| format!("cannot use {}: {problem}", shown.display());
    let content = files::read_own(manifest, files::MAX_SOURCE);
    let content = content.map_err(|error| cannot(&error.to_string()))?;
    let text = String::from_utf8(content).map_err(|_| cannot("it is not valid UTF-8"))?;
    text.parse().map_err(|error: toml_edit::TomlError| cannot(&error.to_string()))
}

fn is_inherited(dependency: &Item) -> bool {
    dependency.get("workspace").is_some_and(|it| it.as_bool() == Some(true))
}

fn patterns<'a>(workspace: &'a Item, key: &str) -> impl Iterator<Item = &'a str> {
    workspace.get(key).and_then(Item::as_array).into_iter().flatten().filter_map(|it| it.as_str())
}

/// Returns true if a pattern such as `crates/*` matches a whole path.
fn matches(pattern: &str, path: &Path) -> bool {
    let options = glob::MatchOptions { require_literal_separator: true, ..Default::default() };
    let pattern = pattern.trim_start_matches("./").trim_end_matches('/');
    glob::Pattern::new(pattern).is_ok_and(|it| it.matches_path_with(path, options))
}

/// Removes `.` and `..` from a path, by its text.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                normal.pop();
            }
            other => normal.push(other),
        }
    }
    normal
}

#[cfg(unix)]
fn symlink(target: &Path, link: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(target, link)
}

/// Packages are contained on Linux only.
#[cfg(not(unix))]
fn symlink(_target: &Path, _link: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::runtime::testing::Directory;

    const PACKAGE: &str = "[package]\nname = \"a\"\nversion = \"0.1.0\"\n";

    fn copied(
        directory: &Directory,
        package: &str,
        sources: &[CrateSource],
    ) -> Result<Copy, String> {
        let manifest = directory.path(package).join("Cargo.toml");
        let permitted = Permitted::new(sources, []);
        Copy::make(directory.path("copy"), &manifest, &manifest, &permitted)
    }

    #[test]
    fn only_manifests_are_copied_and_everything_else_is_linked() {
        let directory = Directory::new("copy-links");
        let manifest = format!("{PACKAGE}[dependencies]\nb = {{ path = \"lib/b\" }}\n");
        directory.file("a/Cargo.toml", &manifest);
        directory.file("a/Cargo.lock", "version = 4\n");
        for other in [
            "a/src/main.rs",
            "a/.cargo/config.toml",
            "a/rust-toolchain.toml",
            "a/target/x",
            "a/lib/c/src/lib.rs",
        ] {
            directory.file(other, "");
        }
        directory.file("a/lib/b/Cargo.toml", PACKAGE.replace("\"a\"", "\"b\"").as_str());
        directory.file("a/lib/b/src/lib.rs", "");
        let copy = copied(&directory, "a", &[]).unwrap();
        let place = copy.of(&directory.path("a"));
        let mut names: Vec<_> = fs::read_dir(&place)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        assert_eq!(names, ["Cargo.lock", "Cargo.taken", "Cargo.toml", "lib", "src"]);
        assert_eq!(fs::read_link(place.join("src")).unwrap(), directory.path("a/src"));
        assert_eq!(fs::read_link(place.join("lib/c")).unwrap(), directory.path("a/lib/c"));
        let text = fs::read_to_string(place.join("Cargo.toml")).unwrap();
        let inner = place.join("lib/b").display().to_string();
        assert!(text.contains(&inner) && text.contains("[workspace]"), "{text}");
        assert_eq!(copy.original(&place), Some(directory.path("a")));
        assert_eq!(fs::read_to_string(directory.path("a/Cargo.toml")).unwrap(), manifest);
    }

    #[test]
    fn a_directory_that_becomes_a_package_is_not_written_through_its_link() {
        let directory = Directory::new("copy-again");
        directory.file("a/Cargo.toml", PACKAGE);
        directory.file("a/lib/b/Cargo.toml", PACKAGE.replace("\"a\"", "\"b\"").as_str());
        let copy = copied(&directory, "a", &[]).unwrap();
        assert!(copy.of(&directory.path("a/lib")).is_symlink());
        // Cargo has completed the copy of the lock file meanwhile, which is kept.
        fs::write(copy.of(&directory.path("a/Cargo.lock")), "completed").unwrap();
        let manifest = format!("{PACKAGE}[dependencies]\nb = {{ path = \"lib/b\" }}\n");
        directory.file("a/Cargo.toml", &manifest);
        let before = fs::read_to_string(directory.path("a/lib/b/Cargo.toml")).unwrap();
        let copy = copied(&directory, "a", &[]).unwrap();
        assert!(!copy.of(&directory.path("a/lib")).is_symlink());
        assert_eq!(fs::read_to_string(directory.path("a/lib/b/Cargo.toml")).unwrap(), before);
        assert_eq!(fs::read_dir(directory.path("a/lib/b")).unwrap().count(), 1);
        let lock = fs::read_to_string(copy.of(&directory.path("a/Cargo.lock"))).unwrap();
        assert_eq!(lock, "completed");
    }

    #[test]
    fn a_workspace_is_reduced_to_what_the_package_needs() {
        let directory = Directory::new("copy-workspace");
        let package = |name: &str, more: &str| {
            let text = PACKAGE.replace("\"a\"", &format!("\"{name}\"")) + more;
            directory.file(&format!("w/{name}/Cargo.toml"), &text);
        };
        let members = "[workspace]\nmembers = [\"a\", \"x*\"]\ndefault-members = [\"xx\"]\n";
        let inherited = "[workspace.dependencies]\nb = { path = \"b\" }\nunused = { git = \"https://host/x\" }\n";
        let root = format!("[package]\nname = \"root\"\nedition = \"2024\"\n{members}{inherited}");
        directory.file("w/Cargo.toml", &root);
        package("a", "[dependencies]\nb = { workspace = true }\n");
        package("b", "");
        package("xx", "");
        let copy = copied(&directory, "w/a", &[]).unwrap();
        let text = fs::read_to_string(copy.of(&directory.path("w/Cargo.toml"))).unwrap();
        let document: DocumentMut = text.parse().unwrap();
        let workspace = &document["workspace"];
        assert_eq!(workspace["members"].to_string().trim(), "[\"a\"]", "{text}");
        assert_eq!(workspace["resolver"].as_str(), Some("3"));
        assert!(workspace.get("default-members").is_none() && document.get("package").is_none());
        assert!(!copy.of(&directory.path("w/xx")).exists());

        package("a", "[dependencies]\nunused = { workspace = true }\n");
        let error = copied(&directory, "w/a", &[]).unwrap_err();
        assert!(error.contains("takes `unused` from https://host/x"), "{error}");
        let source = CrateSource::Url("https://host/x/".to_owned());
        copied(&directory, "w/a", &[source]).unwrap();

        // A package that names a workspace, and is not named by it, sees no other package of it.
        directory.file(
            "w/other/Cargo.toml",
            format!("{PACKAGE}[dependencies]\nb = {{ path = \"../b\" }}\n").as_str(),
        );
        let error = copied(&directory, "w/other", &[]).unwrap_err();
        assert!(error.contains("takes `b` from the directory"), "{error}");
        let text = format!("{PACKAGE}workspace = \"../../elsewhere\"\n");
        directory.file("w/other/Cargo.toml", &text);
        let error = copied(&directory, "w/other", &[]).unwrap_err();
        assert!(error.ends_with("elsewhere, which is not above it"), "{error}");
    }

    #[test]
    fn sources_of_lock_files_are_those_that_are_permitted() {
        let sources = [CrateSource::Url("https://host/repo".to_owned())];
        let permitted = Permitted::new(&sources, []);
        for (source, expected) in [
            ("registry+https://github.com/rust-lang/crates.io-index", true),
            ("sparse+https://index.crates.io/", true),
            ("git+https://host/repo?tag=v1#0123", true),
            ("git+https://host/repo/#0123", true),
            ("git+https://host/repository#0123", false),
            ("git+https://host/other?x=https://host/repo#0123", false),
            ("registry+https://host/index", false),
        ] {
            assert_eq!(permitted.has_source(source), expected, "{source}");
        }
    }
}
