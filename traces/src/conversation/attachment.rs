//! Images, sound, video and files in messages.
//!
//! Providers and frameworks write them in many forms that differ in the names of members and in how deep these are: a part is
//! recognized by its type, or by the member that holds it, and its facts by their names, wherever they are in it.

use std::{borrow::Cow, sync::Arc};

use base64::{Engine as _, prelude::BASE64_STANDARD};

use crate::json::{Object, Value};

/// Maximum number of bytes of an image that is kept.
const MAX_IMAGE: usize = 250_000;

/// Maximum number of characters of a name, a media type or an address that is kept.
const MAX_NAME: usize = 2_000;

/// Maximum depth of members that are searched.
const MAX_DEPTH: usize = 3;

/// Content of a message that is not text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attachment {
    /// What it is.
    pub kind: AttachmentKind,
    /// Media type, e.g. `image/png`: of an image that was recorded the one of its first bytes, else the recorded one.
    pub media_type: Option<String>,
    /// Name of the file, or its id at the provider.
    pub name: Option<String>,
    /// Address, if it was recorded in place of the content. Nothing is ever fetched from it.
    pub url: Option<String>,
    /// Number of bytes, if the content was recorded.
    pub size: Option<usize>,
    /// Content of a PNG, JPEG, GIF or WebP image of at most 250,000 bytes, in base64. Other content is not kept.
    pub data: Option<Arc<str>>,
}

/// Kind of an [`Attachment`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AttachmentKind {
    /// An image.
    Image,
    /// Sound.
    Audio,
    /// A video.
    Video,
    /// A document or another file.
    File,
}

impl AttachmentKind {
    /// Returns the name of the kind in transcripts.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Image => "image",
            Self::Audio => "audio",
            Self::Video => "video",
            Self::File => "file",
        }
    }

    /// Returns the kind of a media type, or of a word that begins like one.
    fn of_media(word: &str) -> Option<Self> {
        match word.split(['/', '_', '-']).next()? {
            "image" => Some(Self::Image),
            "audio" => Some(Self::Audio),
            "video" => Some(Self::Video),
            _ => None,
        }
    }

    /// Returns the kind of a part by its type, or by the member that holds it; `None` for parts of other kinds.
    fn of_part(word: &str) -> Option<Self> {
        const FILES: [&str; 11] = [
            "file",
            "document",
            "document-url",
            "blob",
            "uri",
            "binary",
            "media",
            "inline_data",
            "inlineData",
            "file_data",
            "fileData",
        ];
        let word = word.strip_prefix("input_").unwrap_or(word);
        Self::of_media(word).or_else(|| FILES.contains(&word).then_some(Self::File))
    }
}

impl Attachment {
    /// Reads a part that names its kind in `type`, or has it as a member; `None` for parts of other kinds.
    pub(super) fn read(part: &Object) -> Option<Self> {
        let kind = match part.get("type").and_then(Value::as_str) {
            Some(kind) => AttachmentKind::of_part(kind)?,
            None => {
                let mut members = part.iter().filter(|(_, value)| value.as_object().is_some());
                members.find_map(|(key, _)| AttachmentKind::of_part(key))?
            }
        };
        let mut found = Found::default();
        found.search(part, 0);
        Some(found.finish(kind))
    }

    /// Reads a part of this type from members whose names are paths.
    pub(super) fn of_paths<'a>(
        kind: &str,
        members: impl Iterator<Item = (&'a str, &'a Value)>,
    ) -> Option<Self> {
        let kind = AttachmentKind::of_part(kind)?;
        let mut found = Found::default();
        for (path, value) in members {
            found.add(path.rsplit('.').next().unwrap_or(path), value, MAX_DEPTH);
        }
        Some(found.finish(kind))
    }
}

/// Facts of an attachment, as they are found.
#[derive(Debug, Default)]
struct Found<'a> {
    kind: Option<AttachmentKind>,
    media_type: Option<&'a str>,
    format: Option<&'a str>,
    name: Option<&'a str>,
    id: Option<&'a str>,
    url: Option<&'a str>,
    content: Option<Cow<'a, str>>,
}

impl<'a> Found<'a> {
    fn search(&mut self, object: &'a Object, depth: usize) {
        object.iter().for_each(|(key, value)| self.add(key, value, depth));
    }

    fn add(&mut self, key: &str, value: &'a Value, depth: usize) {
        let text = match value {
            Value::String(text) => text,
            Value::Object(object) if depth < MAX_DEPTH => return self.search(object, depth + 1),
            Value::Array(items) if key == "data" => {
                // JSON of a buffer in JavaScript.
                let bytes: Option<Vec<u8>> = items.iter().map(byte).collect();
                let bytes = bytes.filter(|bytes| !bytes.is_empty());
                self.content = bytes.map(|bytes| BASE64_STANDARD.encode(bytes).into());
                return;
            }
            _ => return,
        };
        match key {
            "mime_type" | "media_type" | "mimeType" | "mediaType" | "mimetype" => {
                self.media_type = Some(text);
            }
            "modality" => self.kind = AttachmentKind::of_media(text),
            "format" => self.format = Some(text),
            "filename" | "file_name" | "fileName" | "name" | "title" | "display_name"
            | "displayName" => self.name = Some(text),
            "file_id" | "fileId" => self.id = Some(text),
            "url" | "uri" | "image_url" | "file_url" | "file_uri" | "fileUri" => {
                self.add_content(text, true);
            }
            "data" | "base64" | "b64_json" | "bytes" | "content" | "file_data" | "image"
            | "audio" | "file" => self.add_content(text, false),
            _ => {}
        }
    }

    /// Adds an address, a `data:` URL, or base64 text.
    fn add_content(&mut self, text: &'a str, is_address: bool) {
        let text = text.trim();
        let is_data = text.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("data:"));
        let data = text.get(5..).filter(|_| is_data);
        if let Some((head, content)) = data.and_then(|it| it.split_once(',')) {
            let media_type = head.split(';').next().filter(|it| !it.is_empty());
            self.media_type = self.media_type.or(media_type);
            self.content = Some(content.into());
        } else if is_address && image_type(&decoded_start(text)).is_none()
            || text.get(..16).unwrap_or(text).contains("://")
        {
            self.url = Some(text).filter(|text| !text.is_empty());
        } else {
            self.content = Some(text.into()).filter(|_| !text.is_empty());
        }
    }

    fn finish(self, kind: AttachmentKind) -> Attachment {
        let content = self.content.as_deref().map(Content::read);
        let image = content.as_ref().and_then(|it| it.image);
        let stated = self.media_type.map(shortened).or_else(|| {
            let format = self.format.filter(|it| !it.contains('/'))?;
            (kind != AttachmentKind::File).then(|| format!("{}/{format}", kind.as_str()))
        });
        let media_type = image.map(str::to_owned).or(stated);
        let by_type = media_type.as_deref().and_then(AttachmentKind::of_media);
        Attachment {
            kind: by_type.or(self.kind).unwrap_or(kind),
            media_type,
            name: self.name.or(self.id).map(shortened),
            url: self.url.map(shortened),
            size: content.as_ref().map(|it| it.size),
            data: content.filter(|it| image.is_some() && it.size <= MAX_IMAGE).map(Content::keep),
        }
    }
}

fn byte(value: &Value) -> Option<u8> {
    value.as_i128().and_then(|number| number.try_into().ok())
}

/// Recorded content: base64, or text that is not.
#[derive(Debug)]
struct Content<'a> {
    text: Cow<'a, str>,
    size: usize,
    /// Media type of an image that browsers show, by its first bytes.
    image: Option<&'static str>,
}

impl<'a> Content<'a> {
    fn read(text: &'a str) -> Self {
        let text = text.trim();
        let is_digit = |byte: u8| byte.is_ascii_alphanumeric() || b"+/-_".contains(&byte);
        let is_space = |byte: u8| matches!(byte, b'\n' | b'\r');
        let digits = text.trim_end_matches('=');
        if !digits.bytes().all(|byte| is_digit(byte) || is_space(byte)) {
            return Self { text: text.into(), size: text.len(), image: None };
        }
        // MIME breaks lines.
        let digits: Cow<'a, str> = match digits.bytes().any(is_space) {
            true => digits.split(['\n', '\r']).collect::<String>().into(),
            false => digits.into(),
        };
        let (size, image) = (digits.len() * 3 / 4, image_type(&decoded_start(&digits)));
        Self { text: digits, size, image }
    }

    /// Returns the digits of the standard alphabet, with padding.
    fn keep(self) -> Arc<str> {
        let mut digits = standard(&self.text);
        while !digits.len().is_multiple_of(4) {
            digits.push('=');
        }
        digits.into()
    }
}

/// Returns base64 in the standard alphabet. Some libraries write the one of URLs.
fn standard(digits: &str) -> String {
    digits.replace('-', "+").replace('_', "/")
}

/// Returns the first bytes of base64 text; nothing if it is not.
fn decoded_start(digits: &str) -> Vec<u8> {
    let start = digits.get(..digits.len().min(16)).unwrap_or_default();
    BASE64_STANDARD.decode(standard(start)).unwrap_or_default()
}

fn shortened(text: &str) -> String {
    text.chars().take(MAX_NAME).collect()
}

fn image_type(start: &[u8]) -> Option<&'static str> {
    if start.starts_with(b"\x89PNG\r\n\x1a\n") {
        Some("image/png")
    } else if start.starts_with(b"\xff\xd8\xff") {
        Some("image/jpeg")
    } else if start.starts_with(b"GIF87a") || start.starts_with(b"GIF89a") {
        Some("image/gif")
    } else {
        (start.starts_with(b"RIFF") && start.get(8..12) == Some(b"WEBP")).then_some("image/webp")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{
        conversation::message::{Part, parts_of_content},
        json::parse_python,
    };

    const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

    /// Returns the attachments of a content.
    fn of_content(content: serde_json::Value) -> Vec<Attachment> {
        let parts = parts_of_content(&parse_python(&content.to_string()).unwrap());
        let attachments = parts.into_iter().filter_map(|part| match part {
            Part::Attachment(it) => Some(*it),
            _ => None,
        });
        attachments.collect()
    }

    fn only(content: serde_json::Value) -> Attachment {
        let mut found = of_content(content.clone());
        assert_eq!(found.len(), 1, "{content}");
        found.remove(0)
    }

    #[test]
    fn content_is_recognized_in_an_address_and_over_several_lines() {
        let (first, rest) = PNG.split_at(76);
        for written in [
            PNG.to_owned(),
            format!(" data:image/png;base64,{PNG}"),
            format!("DATA:image/png;base64,{PNG}"),
            format!("data:image/png;base64,{first}\n{rest}\n"),
            format!("{first}\r\n{rest}"),
        ] {
            let found = only(json!([{"type": "image_url", "image_url": {"url": written}}]));
            assert_eq!((found.url, found.size), (None, Some(70)), "{written}");
            assert_eq!(found.data.as_deref(), Some(PNG));
        }
        let address = format!("https://example.com/{}", "a".repeat(5000));
        let found = only(json!([{"type": "image_url", "image_url": {"url": address}}]));
        assert_eq!(found.url.map(|url| url.len()), Some(MAX_NAME));
    }

    #[test]
    fn an_image_is_found_in_the_forms_of_providers_and_frameworks() {
        let url = format!("data:image/png;base64,{PNG}");
        for content in [
            json!([{"type": "image_url", "image_url": {"url": url, "detail": "low"}}]),
            json!([{"type": "image_url", "image_url": url}]),
            json!([{"type": "input_image", "image_url": url}]),
            json!([{"type": "image", "source": {"type": "base64", "media_type": "image/jpeg", "data": PNG}}]),
            json!({"role": "user", "parts": [{"inline_data": {"mime_type": "image/png", "data": PNG}}]}),
            json!({"parts": [{"inlineData": {"mimeType": "image/png", "data": PNG}, "text": null}]}),
            json!([{"type": "blob", "modality": "image", "mime_type": "image/png", "content": PNG}]),
            json!([{"type": "image", "image": PNG, "mimeType": "image/png"}]),
            json!([{"type": "file", "data": PNG, "mediaType": "application/octet-stream"}]),
            json!([{"type": "file", "data": {"type": "data", "data": PNG}, "mediaType": "image/png"}]),
            json!([{"type": "image", "source_type": "base64", "mime_type": "image/png", "data": PNG}]),
            json!([{"type": "image", "base64": PNG}]),
            json!([{"type": "image", "data": PNG, "mimeType": "image/png"}]),
            json!([{"type": "binary", "media_type": "image/png", "content": PNG.trim_end_matches('=')}]),
        ] {
            let found = only(content.clone());
            let facts = (found.kind, found.media_type.as_deref(), found.size);
            assert_eq!(facts, (AttachmentKind::Image, Some("image/png"), Some(70)), "{content}");
            assert_eq!(found.data.as_deref(), Some(PNG), "{content}");
        }
        let converse = json!({"image": {"format": "png", "source": {"bytes": PNG}}});
        let converse = parse_python(&converse.to_string()).unwrap();
        let found = Attachment::read(converse.as_object().unwrap()).unwrap();
        assert_eq!((found.media_type.as_deref(), found.size), (Some("image/png"), Some(70)));
    }

    #[test]
    fn an_address_is_kept_as_it_is() {
        let url = "https://example.com/a.png";
        for content in [
            json!([{"type": "image_url", "image_url": {"url": url}}]),
            json!([{"type": "input_image", "image_url": url}]),
            json!([{"type": "image", "source": {"type": "url", "url": url}}]),
            json!({"parts": [{"file_data": {"mime_type": "image/png", "file_uri": url}}]}),
            json!([{"type": "uri", "modality": "image", "uri": url}]),
            json!([{"type": "image-url", "url": url}]),
            json!([{"type": "image", "image": url}]),
        ] {
            let found = only(content.clone());
            assert_eq!(found.kind, AttachmentKind::Image, "{content}");
            assert_eq!((found.url.as_deref(), found.size, found.data), (Some(url), None, None));
        }
    }

    #[test]
    fn sound_and_files_have_a_name_a_type_and_a_size() {
        let text = BASE64_STANDARD.encode("some sound");
        let url = format!("data:application/pdf;base64,{text}");
        let described = |content| {
            let Attachment { kind, media_type, name, size, data, .. } = only(content);
            assert_eq!(data, None);
            let [media_type, name] = [media_type, name].map(Option::unwrap_or_default);
            format!("{} {media_type} {name} {size:?}", kind.as_str())
        };
        for (content, expected) in [
            (
                json!({"type": "input_audio", "input_audio": {"data": text, "format": "wav"}}),
                "audio audio/wav  Some(10)",
            ),
            (
                json!({"type": "file", "file": {"filename": "a.pdf", "file_data": url}}),
                "file application/pdf a.pdf Some(10)",
            ),
            (json!({"type": "input_file", "file_id": "file-7"}), "file  file-7 None"),
            (json!({"type": "file", "modality": "video", "file_id": "v"}), "video  v None"),
            (
                json!({"type": "document", "title": "T", "source": {"type": "text", "media_type": "text/plain", "data": "Straße, 1"}}),
                "file text/plain T Some(10)",
            ),
        ] {
            assert_eq!(described(json!([content])), expected);
        }
    }

    #[test]
    fn only_images_that_browsers_show_are_kept_and_only_small_ones() {
        let image = |data: &str| {
            only(
                json!([{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}]),
            )
        };
        let svg = BASE64_STANDARD.encode("<svg onload='alert(1)'/>".repeat(3));
        assert_eq!((image(&svg).size, image(&svg).data), (Some(72), None));
        let mut bytes = b"\xff\xd8\xff\xfb\xff\xbf".repeat(10);
        let jpeg = BASE64_STANDARD.encode(&bytes);
        // The alphabet of URLs, without padding.
        let found = image(&jpeg.replace('+', "-").replace('/', "_"));
        assert_eq!(found.media_type.as_deref(), Some("image/jpeg"));
        assert_eq!(found.data.as_deref(), Some(&*jpeg));
        bytes.resize(MAX_IMAGE, 0);
        assert!(image(&BASE64_STANDARD.encode(&bytes)).data.is_some());
        bytes.push(0);
        let large = image(&BASE64_STANDARD.encode(&bytes));
        assert_eq!((large.size, large.data), (Some(MAX_IMAGE + 1), None));
    }

    #[test]
    fn other_parts_are_not_attachments() {
        for content in [
            json!([{"type": "reasoning", "content": "hidden"}]),
            json!([{"type": "text", "text": "data:image/png;base64,AAAA"}]),
            json!([{"type": "refusal", "data": PNG}]),
            json!({"parts": [{"executable_code": {"code": "x"}}]}),
        ] {
            assert_eq!(of_content(content.clone()), [], "{content}");
        }
    }
}
