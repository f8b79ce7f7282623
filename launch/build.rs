//! Embeds the sources of the SDK, so that evaluators can be built without the repository and before the SDK is published.

use std::{
    env,
    error::Error,
    fs,
    hash::{DefaultHasher, Hasher as _},
    path::{Path, PathBuf},
};

/// Files and directories of the repository from which the SDK is built.
const PARTS: [&str; 11] = [
    "Cargo.toml",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "protocol/Cargo.toml",
    "protocol/docs",
    "protocol/src",
    "sdk-macros/Cargo.toml",
    "sdk-macros/src",
    "sdk/Cargo.toml",
    "sdk/docs",
    "sdk/src",
];

fn main() -> Result<(), Box<dyn Error>> {
    let package = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?);
    let root = package.parent().unwrap_or(&package);
    let mut files = Vec::new();
    // A package from the registry has no repository around it: the SDK is in the registry as well.
    if PARTS.iter().all(|part| root.join(part).exists()) {
        for part in PARTS {
            println!("cargo::rerun-if-changed={}", root.join(part).display());
            collect(&root.join(part), &mut files)?;
        }
    } else {
        println!("cargo::rerun-if-changed=build.rs");
    }
    files.sort();
    files.dedup();

    let mut digest = DefaultHasher::new();
    let mut list = String::new();
    for file in &files {
        let name =
            file.strip_prefix(root)?.to_str().ok_or("a name is not UTF-8")?.replace('\\', "/");
        digest.write(name.as_bytes());
        digest.write(&fs::read(file)?);
        list += &format!("({name:?}, include_str!({file:?})),\n");
    }
    let digest = digest.finish();
    let code = format!(
        "const DIGEST: &str = \"{digest:016x}\";\nconst SOURCES: &[(&str, &str)] = &[\n{list}];\n"
    );
    fs::write(Path::new(&env::var("OUT_DIR")?).join("sdk.rs"), code)?;
    Ok(())
}

fn collect(path: &Path, files: &mut Vec<PathBuf>) -> Result<(), Box<dyn Error>> {
    if !path.is_dir() {
        files.push(path.to_owned());
        return Ok(());
    }
    for entry in fs::read_dir(path)? {
        collect(&entry?.path(), files)?;
    }
    Ok(())
}
