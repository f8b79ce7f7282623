//! Parts that a filter writes, for the same conversations and evaluators in other words.
#![expect(clippy::unwrap_used, reason = "helpers of tests may panic")]

use std::{
    fs,
    io::Cursor,
    path::{self, Path, PathBuf},
    sync::LazyLock,
};

use evaluator_host::{
    config::Config,
    run::{Lines, Request, Runner},
};
use evaluator_test_support::{TestDirectory, Written};
use proptest::{prelude::*, sample::Index};
use serde_json::Value;

/// Some documents of OTLP JSON that agents recorded, with one trace each.
static RECORDINGS: LazyLock<Vec<Value>> = LazyLock::new(|| {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/producers/traces");
    let mut files: Vec<PathBuf> =
        fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.to_string_lossy().ends_with(".trace.json"));
    files.sort();
    let read = |file: PathBuf| -> Option<Value> {
        let mut document: Value = serde_json::from_str(&fs::read_to_string(file).ok()?).ok()?;
        let ids: Vec<Value> =
            spans(&mut document)?.flatten().map(|span| span["traceId"].clone()).collect();
        ids.windows(2).all(|pair| pair[0] == pair[1]).then_some(document)
    };
    let found: Vec<Value> = files.into_iter().step_by(10).filter_map(read).collect();
    assert!(found.len() > 10, "{} recordings", found.len());
    found
});

/// The lists of spans of a document.
fn spans(document: &mut Value) -> Option<impl Iterator<Item = &mut Vec<Value>>> {
    let resources = document.get_mut("resourceSpans")?.as_array_mut()?.iter_mut();
    let scopes = resources.filter_map(|resource| resource["scopeSpans"].as_array_mut()).flatten();
    Some(scopes.filter_map(|scope| scope["spans"].as_array_mut()))
}

/// Takes the items in an order that the numbers decide.
fn shuffled<T>(
    items: impl IntoIterator<Item = T>,
    order: &mut impl Iterator<Item = Index>,
) -> Vec<T> {
    let mut rest: Vec<T> = items.into_iter().collect();
    for end in (1..rest.len()).rev() {
        rest.swap(end, order.next().map_or(end, |index| index.index(end + 1)));
    }
    rest
}

/// Writes a value with its keys in another order.
fn written(value: &Value, order: &mut impl Iterator<Item = Index>) -> String {
    match value {
        Value::Object(members) => {
            let members = shuffled(members, order).into_iter();
            let members = members
                .map(|(key, value)| format!("{}:{}", Value::from(&**key), written(value, order)));
            format!("{{{}}}", members.collect::<Vec<_>>().join(","))
        }
        Value::Array(items) => {
            let items = items.iter().map(|item| written(item, order));
            format!("[{}]", items.collect::<Vec<_>>().join(","))
        }
        other => other.to_string(),
    }
}

/// Returns the plan of the part that is written for a conversation, and its content.
fn part(config: &Path, line: String) -> [Value; 2] {
    let request = Request::new::<&str>([], Config::load(config).unwrap());
    let (out, lines) = (Written::default(), Lines::new(Cursor::new(line.into_bytes()), usize::MAX));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let runner = Runner::default();
    runtime.block_on(runner.pipe(&request, lines, out.clone(), &mut |_| {})).unwrap();
    let text = out.text();
    let mut records = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let (header, record) = (records.next().unwrap(), records.next().unwrap());
    let [plan, content] = [&header["plan"], &record["conversation"]["content"]];
    assert!(plan.is_string() && content.is_string(), "{text}");
    [plan.clone(), content.clone()]
}

/// Keys of the configuration, in an order, and those of its evaluator.
fn config(order: &mut impl Iterator<Item = Index>) -> String {
    let own = [
        "name: check",
        "type: code",
        "path: ./check.sh",
        "threshold: 0.25",
        "cwd: .",
        "config: {a: 1, b: 2}",
    ];
    let own = shuffled(own, order).join(", ");
    let entry = format!("evaluators: [{{{own}}}]");
    let keys = [&*entry, "group_by: trace", "max_error_rate: 0.5", "repeat: 1"];
    shuffled(keys, order).join("\n")
}

fn project(config: &str) -> TestDirectory {
    let directory = TestDirectory::new();
    directory.script("check.sh", "cat >/dev/null; echo '{\"score\": 1}'");
    directory.file("c.yaml", config);
    directory
}

/// The path from the working directory.
fn from_here(path: &Path) -> PathBuf {
    let here = std::env::current_dir().unwrap();
    let up = here.components().skip(1).map(|_| path::Component::ParentDir);
    up.chain(path.components().skip(1)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn plan_and_content_depend_neither_on_places_nor_on_the_order_of_keys_and_spans(
        recording in any::<Index>(),
        order in prop::collection::vec(any::<Index>(), 1..99),
        is_relative: bool,
    ) {
        let document = recording.get(&RECORDINGS);
        let mut same = std::iter::empty();
        let one = project(&config(&mut same));
        let expected = part(&one.join("c.yaml"), document.to_string());

        let mut order = order.into_iter().cycle();
        let mut other = document.clone();
        for list in spans(&mut other).unwrap() {
            *list = shuffled(std::mem::take(list), &mut order);
        }
        let two = project(&config(&mut order));
        let path = two.join("c.yaml");
        let path = if is_relative { from_here(&path) } else { path };
        prop_assert_eq!(part(&path, written(&other, &mut order)), expected);
    }
}
