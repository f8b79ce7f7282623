//! Reads the data of reports in HTML.

use std::{collections::BTreeMap, io::Read as _};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use flate2::read::GzDecoder;
use serde_json::Value;

/// What a page holds.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) data: Value,
    /// Conversations in the blocks, by their numbers.
    pub(crate) cases: BTreeMap<u64, Value>,
}

impl Page {
    pub(crate) fn read(html: &str) -> Self {
        let (mut data, mut cases) = (Value::Null, BTreeMap::new());
        for element in html.split("<script type=\"application/json\" id=\"").skip(1) {
            let (id, rest) = element.split_once("\">").unwrap();
            let (text, _) = rest.split_once("</script>").unwrap();
            let value: Value = serde_json::from_str(text).unwrap();
            let Some(block) = id.strip_prefix("block-") else {
                assert_eq!(id, "data");
                data = value;
                continue;
            };
            let packed = BASE64_STANDARD.decode(value.as_str().unwrap()).unwrap();
            let mut text = String::new();
            GzDecoder::new(&*packed).read_to_string(&mut text).unwrap();
            let entries: Vec<Value> = serde_json::from_str(&text).unwrap();
            for entry in entries {
                let number = entry["number"].as_u64().unwrap();
                assert_eq!((number / 16).to_string(), block);
                cases.insert(number, entry);
            }
        }
        Self { data, cases }
    }

    /// Numbers of the conversations with transcripts.
    pub(crate) fn transcripts(&self) -> Vec<u64> {
        let cases = self.cases.iter().filter(|(_, case)| !case["transcript"].is_null());
        cases.map(|(number, _)| *number).collect()
    }
}
