//! The text of an index.

use std::fmt::{self, Display, Formatter, Write};

use super::{Entry, Index};

/// The whole file: the same for the same evaluators, whenever and wherever it is made.
impl Display for Index {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("# Made by `evaluator index` from the manifests of the evaluators; make it again instead of editing it.\n")?;
        f.write_str("evaluators:\n")?;
        self.entries.iter().try_for_each(|entry| write_entry(f, entry))
    }
}

fn write_entry(f: &mut Formatter<'_>, entry: &Entry) -> fmt::Result {
    let manifest = &entry.manifest;
    writeln!(f, "  - name: {}", Plain(&manifest.name))?;
    writeln!(f, "    description: {}", Quoted(&manifest.description))?;
    writeln!(f, "    language: {}", Plain(&manifest.language))?;
    writeln!(f, "    path: {}", Plain(&entry.path))?;
    f.write_str("    tags: [")?;
    for (index, tag) in manifest.tags.iter().enumerate() {
        let comma = if index > 0 { ", " } else { "" };
        write!(f, "{comma}{}", Quoted(tag))?;
    }
    f.write_str("]\n")?;
    writeln!(f, "    author: {}", Plain(&manifest.author))?;
    f.write_str("    files:\n")?;
    for file in &entry.files {
        writeln!(f, "      - {{path: {}, sha256: {}}}", Plain(&file.path), Quoted(&file.sha256))?;
    }
    Ok(())
}

/// Text without quotes where it can only be read as that text.
struct Plain<'a>(&'a str);

impl Display for Plain<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let text = self.0;
        let letters = text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'/'));
        // What begins with a letter is no number; these words are no text in YAML 1.1.
        let words = ["yes", "no", "on", "off", "true", "false", "null", "y", "n"];
        let is_text = text.starts_with(|c: char| c.is_ascii_alphabetic())
            && !words.contains(&text.to_ascii_lowercase().as_str());
        if letters && is_text { f.write_str(text) } else { Quoted(text).fmt(f) }
    }
}

/// Text in double quotes, on one line.
struct Quoted<'a>(&'a str);

impl Display for Quoted<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        for c in self.0.chars() {
            match c {
                '"' | '\\' => write!(f, "\\{c}")?,
                '\n' => f.write_str("\\n")?,
                '\t' => f.write_str("\\t")?,
                // What YAML reads as the end of a line, or does not let stand in a file at all.
                '\u{85}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}' => {
                    write!(f, "\\u{:04x}", u32::from(c))?;
                }
                c if c.is_control() => write!(f, "\\x{:02x}", u32::from(c))?,
                c => f.write_char(c)?,
            }
        }
        f.write_char('"')
    }
}

#[cfg(test)]
mod tests {
    use evaluator_protocol::Manifest;

    use super::*;
    use crate::{
        json::{Object, Value},
        manifest::FolderFile,
    };

    fn read(text: &str) -> Object {
        let root = evaluator_document::read_yaml(text).unwrap().unwrap().to_json().unwrap();
        let entries = root.as_object().unwrap().get("evaluators").unwrap();
        let Value::Array(entries) = entries else { panic!("{text}") };
        entries[0].as_object().unwrap().clone()
    }

    proptest::proptest! {
        #[test]
        fn every_text_is_read_back(text in "\\PC*|[\\x00-\\x7f\u{80}-\u{a0}\u{2028}\u{feff}\u{ffff}]*|on|~|null|1e3|0x1f|1:30") {
            let mut manifest = Manifest::default();
            manifest.name = text.clone();
            manifest.description = text.clone();
            manifest.author = text.clone();
            manifest.tags = vec![text.clone(), text.clone()];
            let files = vec![FolderFile { path: text.clone(), sha256: text.clone() }];
            let entries = vec![Entry { manifest, path: text.clone(), files }];
            let index = Index { entries, passed_over: Vec::new() };

            let entry = read(&index.to_string());

            for key in ["name", "description", "path", "author"] {
                proptest::prop_assert_eq!(entry.get(key).and_then(Value::as_str), Some(&*text));
            }
            let Some(Value::Array(tags)) = entry.get("tags") else { panic!("no tags") };
            let tags: Vec<_> = tags.iter().map(Value::as_str).collect();
            proptest::prop_assert_eq!(tags, [Some(&*text); 2]);
            let Some(Value::Array(files)) = entry.get("files") else { panic!("no files") };
            let file = files[0].as_object().unwrap();
            proptest::prop_assert_eq!(file.get("path").and_then(Value::as_str), Some(&*text));
            proptest::prop_assert_eq!(file.get("sha256").and_then(Value::as_str), Some(&*text));
        }
    }
}
