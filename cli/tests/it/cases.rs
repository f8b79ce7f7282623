//! Cases, clusters and slices by attributes of conversations.
#![cfg(unix)]

use serde_json::{Value, json};

use crate::support::{Directory, Ran};

/// A recording of one turn: what the user says, and attributes of its span and of its resource.
struct Recorded {
    id: String,
    says: String,
    span: Vec<(&'static str, String)>,
    service: &'static str,
}

fn recorded(id: impl ToString, says: impl ToString) -> Recorded {
    Recorded { id: id.to_string(), says: says.to_string(), span: Vec::new(), service: "shop" }
}

impl Recorded {
    fn with(mut self, key: &'static str, value: impl ToString) -> Self {
        self.span.push((key, value.to_string()));
        self
    }

    /// The spans, one for each value of an attribute that is given several times.
    fn lines(&self) -> String {
        let attribute =
            |key: &str, value: &str| json!({"key": key, "value": {"stringValue": value}});
        let said = json!([{"role": "user", "parts": [{"type": "text", "content": format!("<{}>", self.says)}]}]);
        let mut attributes = vec![
            attribute("gen_ai.operation.name", "chat"),
            attribute("gen_ai.input.messages", &said.to_string()),
        ];
        attributes.extend(self.span.iter().map(|(key, value)| attribute(key, value)));
        let span = json!({
            "traceId": self.id, "spanId": "s", "startTimeUnixNano": "1", "endTimeUnixNano": "3000001",
            "attributes": attributes,
        });
        let resource = json!({"attributes": [attribute("service.name", self.service)]});
        let batch =
            json!({"resourceSpans": [{"resource": resource, "scopeSpans": [{"spans": [span]}]}]});
        format!("{batch}\n")
    }
}

/// A directory with recordings and a program that scores 0 for those whose user says "bad", else 1.
fn directory(recordings: impl IntoIterator<Item = Recorded>) -> Directory {
    let directory = Directory::new();
    record(&directory, "t.jsonl", recordings);
    directory.script("check", "grep -q 'bad' && echo '{\"score\": 0}' || echo '{\"score\": 1}'");
    directory
}

fn record(directory: &Directory, file: &str, recordings: impl IntoIterator<Item = Recorded>) {
    directory.file(file, recordings.into_iter().map(|it| it.lines()).collect::<String>());
}

fn run(directory: &Directory, options: &[&str]) -> Ran {
    directory.run(&[&["t.jsonl", "--evaluator", "check"], options].concat())
}

/// Recordings of each of some items, of which the first is bad in its first recording.
fn items(items: usize, recordings: usize) -> Vec<Recorded> {
    let of = |number: usize| {
        let says = if number == 0 { "bad".to_owned() } else { number.to_string() };
        recorded(format!("t{number}"), says)
            .with("dataset.item", format!("item-{}", number % items))
    };
    (0..items * recordings).map(of).collect()
}

#[test]
fn recordings_with_the_same_key_are_one_case() {
    let directory = directory(items(6, 2));
    let options = ["--case-key", "dataset.item", "--gate", "check: mean >= 0.1", "-o", "json"];
    let more = ["-o", "junit=j.xml", "-o", "overview=o.txt", "--save-run", "r.evalrun"];
    let ran = run(&directory, &[&options[..], &more].concat()).exits(0);
    assert!(ran.stderr.contains("of 6 cases"), "{}", ran.stderr);
    let report = ran.json();
    let check = &report["evaluators"][0];
    // One of two recordings of one of six cases is bad.
    assert_eq!((&check["cases"], &check["mean"]["value"]), (&json!(6), &json!(0.916667)));
    assert_eq!(report["traces"][7]["case"], "item-1");
    let junit = directory.read("j.xml");
    assert!(junit.contains("name=\"item-0\"") && junit.contains("name=\"item-0 #2\""), "{junit}");
    let overview = directory.read("o.txt");
    assert!(
        overview.contains("\nitem-0 in t.jsonl: \"&lt;bad&gt;\"")
            || overview.contains("\nitem-0 in t.jsonl: \"<bad>\""),
        "{overview}"
    );
    // The saved run is decided alike, without options.
    let saved = directory.evaluator(&["report", "r.evalrun", "-o", "json"]).exits(0).json();
    assert_eq!((&saved["evaluators"], &saved["gates"]), (&report["evaluators"], &report["gates"]));
    let header: Value =
        serde_json::from_str(directory.read("r.evalrun").lines().next().unwrap()).unwrap();
    assert_eq!(header["settings"]["case_key"], "dataset.item");
    // Without the key each recording is a case.
    let alone = run(&directory, &["-o", "json"]).exits(1).json();
    assert_eq!(alone["evaluators"][0]["cases"], 12);
}

#[test]
fn a_golden_case_precedes_the_key() {
    let golden = |id: &str, says: &str| json!({"eval_id": id, "conversation": [{"user_content": {"parts": [{"text": format!("<{says}>")}]}}]});
    let directory = directory([
        recorded("a", "first").with("dataset.item", "x"),
        recorded("b", "second").with("dataset.item", "x"),
        recorded("c", "third").with("dataset.item", "x"),
    ]);
    let set = json!({"eval_set_id": "set", "eval_cases": [golden("one", "first"), golden("two", "second")]});
    directory.file("set.json", set.to_string());
    let options = ["-e", "set.json", "--case-key", "dataset.item", "-o", "json"];
    let report = run(&directory, &options).exits(0).json();
    assert_eq!(report["evaluators"][0]["cases"], 3);
    let cases: Vec<_> = report["traces"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| (&it["eval_case_id"], &it["case"]))
        .collect();
    let (one, two, x) = (json!("one"), json!("two"), json!("x"));
    assert_eq!(cases, [(&one, &Value::Null), (&two, &Value::Null), (&Value::Null, &x)]);
}

#[test]
fn an_attribute_that_no_conversation_has_is_refused_before_anything_runs() {
    let directory = directory(items(2, 1));
    directory.script("check", "touch ran; echo '{\"score\": 1}'");
    directory.file("old.evalrun", "");
    for (option, says) in [
        (
            "--case-key",
            "no conversation has the attribute `dataset.itm` (--case-key); did you mean `dataset.item`?",
        ),
        ("--cluster", "no conversation has the attribute `dataset.itm` (--cluster); did you mean"),
        ("--by", "no conversation has the attribute `dataset.itm` (--by); did you mean"),
    ] {
        run(&directory, &[option, "dataset.itm", "--save-run", "new.evalrun", "-o", "json=r.json"])
            .exits(2)
            .says(says)
            .says("NOT RUN: nothing was evaluated");
    }
    run(&directory, &["--by", "other"]).exits(2).says("; attributes are dataset.item, gen_ai.");
    run(&directory, &["--by", "the_item_id"]).exits(2).says("; attributes are dataset.item\n");
    run(&directory, &["--case-key", " "]).exits(2).says("must not be empty");
    assert!(!directory.join("ran").exists() && !directory.join("new.evalrun").exists());
    assert!(directory.read("r.json").contains("there is no report"));
    // A run that was saved stays.
    run(&directory, &["--save-run", "r.evalrun"]).exits(0);
    let saved = directory.read("r.evalrun");
    run(&directory, &["--by", "other", "--save-run", "r.evalrun"]).exits(2);
    assert_eq!(directory.read("r.evalrun"), saved);
}

#[test]
fn values_that_cannot_be_used_are_not_called_missing() {
    let long = "x".repeat(257);
    let of = |number: usize| {
        recorded(number, "good").with("doc", "two\nlines").with("long", &long).with("item", number)
    };
    let mut recordings: Vec<_> = (0..3).map(of).collect();
    recordings.push(recorded(3, "good").with("item", "two\nlines"));
    let directory = directory(recordings);
    for (option, attribute) in [("--by", "doc"), ("--case-key", "doc"), ("--cluster", "long")] {
        let says = format!(
            "no conversation has a usable value of `{attribute}` ({option}): a text of one line with at most 256 characters, a \
             number or a truth value, or a list of these"
        );
        run(&directory, &[option, attribute]).exits(2).says(&says);
    }
    run(&directory, &["--case-key", "item"])
        .exits(0)
        .says("1 of 4 conversations has no usable value of `item` (--case-key); ");
}

#[test]
fn names_of_conversations_are_unique() {
    let names = ["x", "x", "x #2", "y #2", "y", "y"].into_iter().enumerate();
    let directory =
        directory(names.map(|(number, name)| recorded(number, "good").with("item", name)));
    let outputs = ["-o", "csv=c.csv", "-o", "junit=j.xml", "-o", "html=p.html"];
    run(&directory, &[&["--case-key", "item"][..], &outputs].concat()).exits(0);
    let junit = directory.read("j.xml");
    let found: Vec<&str> = junit
        .split("<testcase ")
        .skip(1)
        .filter_map(|it| it.split(" name=\"").nth(1)?.split('"').next())
        .collect();
    assert_eq!(found, ["x", "x #2", "x #2 #2", "y #2", "y", "y #3"]);
}

#[test]
fn conversations_without_the_key_or_with_several_values_are_counted() {
    let mut recordings = items(3, 2);
    recordings.push(recorded("none", "good"));
    let directory = directory(recordings);
    // Another span of the first trace, which starts later, has another value.
    let later = recorded("t0", "bad").with("dataset.item", "late").lines();
    let later = later.replace("\"spanId\":\"s\"", "\"spanId\":\"z\"");
    let later = later.replace("\"startTimeUnixNano\":\"1\"", "\"startTimeUnixNano\":\"2\"");
    directory.file("t.jsonl", directory.read("t.jsonl") + &later);
    let ran = run(&directory, &["--case-key", "dataset.item", "-o", "json"]);
    ran.says("1 of 7 conversations has no usable value of `dataset.item` (--case-key); each of them is a case of its own")
        .says("1 of 7 conversations has several values of `dataset.item` (--case-key); the one of the earliest span counts (first in trace t0)");
    let report = run(&directory, &["--case-key", "dataset.item", "-o", "json"]).json();
    assert_eq!(report["traces"][0]["case"], "item-0");
    assert_eq!(report["evaluators"][0]["cases"], 4);
}

#[test]
fn runs_are_compared_by_the_key() {
    let directory = directory(items(3, 1));
    run(&directory, &["--case-key", "dataset.item", "--save-run", "base.evalrun"]).exits(1);
    // Another recording has other trace ids, and another order.
    let again = |number: usize| {
        let says = if number == 1 { "bad" } else { "good" };
        recorded(format!("u{number}"), says).with("dataset.item", format!("item-{number}"))
    };
    record(&directory, "t.jsonl", (0..3).rev().map(again));
    run(&directory, &["--case-key", "dataset.item", "--save-run", "new.evalrun"]).exits(1);
    let ran = directory
        .evaluator(&["compare", "base.evalrun", "new.evalrun", "--no-regressions"])
        .exits(1);
    assert!(ran.stdout.contains("1 regressed: item-1 (1.0000 -> 0.0000)"), "{}", ran.stdout);
    assert!(ran.stdout.contains("1 fixed: item-0 (0.0000 -> 1.0000)"), "{}", ran.stdout);
    // So is a run with its baseline, before anything runs.
    let options = ["--case-key", "dataset.item", "--baseline", "base.evalrun", "--no-regressions"];
    run(&directory, &[&options[..], &["-o", "json=b.json"]].concat()).exits(1);
    assert!(directory.read("b.json").contains("\"regressed\""));
    // Without the key there is nothing to compare.
    record(&directory, "t.jsonl", items(3, 1));
    run(&directory, &["--save-run", "one.evalrun"]);
    record(&directory, "t.jsonl", (0..3).map(again));
    run(&directory, &["--save-run", "two.evalrun"]);
    directory
        .evaluator(&["compare", "one.evalrun", "two.evalrun"])
        .exits(2)
        .says("in both runs; name the attribute that identifies a case with --case-key");
    // A run with a key and one without have other cases.
    directory.evaluator(&["compare", "one.evalrun", "new.evalrun"]).exits(2).says("`case_key`");
}

#[test]
fn a_gate_that_cannot_pass_counts_cases_and_clusters() {
    let with_customers = |number: usize, it: Recorded| it.with("customer", number % 4);
    let recordings = items(40, 3).into_iter().enumerate();
    let directory = directory(recordings.map(|(number, it)| with_customers(number % 40, it)));
    let gate = ["--gate", "check: pass_rate >= 0.9"];
    let says = "`check: pass_rate >= 0.9` cannot pass with ";
    let ran = run(&directory, &gate);
    assert!(!ran.stderr.contains(says), "{}", ran.stderr);
    let by_case = run(&directory, &[&gate[..], &["--case-key", "dataset.item"]].concat());
    // Shares of several recordings need as many cases as a mean.
    by_case.exits(4).says(&format!("{says}40 cases, whatever they score: 45 are needed"));
    let clusters = ["--case-key", "dataset.item", "--cluster", "customer"];
    let by_cluster = run(&directory, &[&gate[..], &clusters].concat());
    by_cluster
        .exits(4)
        .says(&format!("{says}40 cases in 4 clusters, whatever they score: 45 clusters are needed"))
        .says("of 40 cases in 4 clusters; about ");
}

#[test]
fn clusters_that_a_later_recording_joins_are_one_before_the_run() {
    // A recording of each of two cases in each of many clusters, and at last one that joins them all but the first.
    let of = |number: usize, item: usize, customer: usize| {
        recorded(number, "good").with("item", item).with("customer", customer)
    };
    let mut recordings: Vec<_> = (0..30).map(|number| of(number, number, number)).collect();
    recordings.extend((1..30).map(|number| of(100 + number, number, 1)));
    let options = ["--case-key", "item", "--cluster", "customer", "--gate", "check: mean >= 0.5"];
    for reversed in [false, true] {
        if reversed {
            recordings.reverse();
        }
        let lines: String = recordings.iter().map(Recorded::lines).collect();
        let directory = directory([]);
        directory.file("t.jsonl", lines);
        run(&directory, &options).exits(4).says(
            "`check: mean >= 0.5` cannot pass with 30 cases in 2 clusters, whatever they score: ",
        );
    }
}

#[test]
fn cases_of_a_cluster_are_worth_fewer_and_the_report_says_how_many() {
    // All of one customer's conversations are bad.
    let customers = (0..60).map(|number| {
        let customer = number % 6;
        recorded(number, if customer == 0 { "bad" } else { "good" }).with("customer", customer)
    });
    let directory = directory(customers);
    let gate = "check: mean >= 0.6";
    let (cluster, outputs) = (["--cluster", "customer"], ["-o", "overview", "-o", "markdown=m.md"]);
    run(&directory, &["--gate", gate]).exits(0);
    let save = ["--gate", gate, "--save-run", "r.evalrun"];
    let ran = run(&directory, &[&save[..], &cluster, &outputs].concat()).exits(4);
    assert!(
        ran.stdout.contains("\ncheck: 60 cases in 6 clusters are worth about 5\n"),
        "{}",
        ran.stdout
    );
    assert!(directory.read("m.md").contains("\ncheck: 60 cases in 6 clusters are worth about 5\n"));
    ran.says("of 60 cases in 6 clusters; about 244 cases in 25 clusters that score like these would decide");
    let saved = directory.evaluator(&["report", "r.evalrun", "-o", "json"]).exits(4).json();
    let check = &saved["evaluators"][0];
    assert_eq!((&check["clusters"], &check["worth_cases"]), (&json!(6), &json!(5.0)));
    assert_eq!(saved["traces"][7]["cluster"], "1");
    // Few clusters that are alike do not show that all are.
    let alike = (0..60).map(|number| {
        recorded(number, if number % 20 == 0 { "bad" } else { "good" }).with("customer", number % 3)
    });
    record(&directory, "t.jsonl", alike);
    let ran = run(&directory, &[&["--gate", gate][..], &cluster, &outputs].concat());
    assert!(
        ran.stdout
            .contains("\ncheck: 60 cases in 3 clusters, too few to tell what they are worth\n"),
        "{}",
        ran.stdout
    );
    // One cluster tells nothing about others.
    record(
        &directory,
        "t.jsonl",
        (0..60).map(|number| recorded(number, "good").with("customer", "only")),
    );
    run(&directory, &["--gate", gate, "--cluster", "customer"]).exits(4).says(
        "of 60 cases in 1 cluster; all cases are in one cluster, and nothing is known about others",
    );
}

#[test]
fn clusters_that_share_a_case_count_as_one_and_unknown_ones_too() {
    let of = |number: usize, item: &str, session: &str| {
        recorded(number, "good").with("item", item).with("session", session)
    };
    let mut recordings = vec![of(0, "a", "1"), of(1, "a", "2"), of(2, "b", "2"), of(3, "c", "3")];
    recordings
        .extend([recorded(4, "good").with("item", "d"), recorded(5, "good").with("item", "e")]);
    let directory = directory(recordings);
    let options = ["--case-key", "item", "--cluster", "session", "-o", "overview"];
    let ran = run(&directory, &options).exits(0);
    assert!(ran.stdout.contains("\ncheck: 5 cases in 3 clusters, too few"), "{}", ran.stdout);
    assert!(
        ran.stdout.contains("1 case is in several clusters, which count as one"),
        "{}",
        ran.stdout
    );
    ran.says("2 of 6 conversations have no usable value of `session` (--cluster); their cases count as one cluster, since nothing is known about them");
}

#[test]
fn a_comparison_uses_the_clusters_of_the_new_run() {
    let version = |bad: bool| {
        (0..30).map(move |number| {
            let says = if bad && number % 3 == 0 { "bad" } else { "good" };
            recorded(number, says).with("customer", number % 3)
        })
    };
    let directory = directory(version(false));
    run(&directory, &["--cluster", "customer", "--save-run", "base.evalrun"]).exits(0);
    record(&directory, "t.jsonl", version(true));
    run(&directory, &["--cluster", "customer", "--save-run", "new.evalrun"]).exits(1);
    let ran =
        directory.evaluator(&["compare", "base.evalrun", "new.evalrun", "-o", "json"]).exits(0);
    let difference = &ran.json()["evaluators"][0]["difference"];
    assert_eq!((&difference["n"], &difference["units"]), (&json!(30), &json!(3)));
    // Other clusters change no score.
    record(&directory, "t.jsonl", version(false));
    run(&directory, &["--save-run", "base.evalrun"]).exits(0);
    let ran =
        directory.evaluator(&["compare", "base.evalrun", "new.evalrun", "-o", "json"]).exits(0);
    let ran = ran.says("`cluster`: missing -> \"customer\"");
    assert_eq!(ran.json()["evaluators"][0]["difference"]["units"], 3);
}

/// Thirty conversations with a large model, of which half are bad, five with a small one, and two with both or none.
fn models() -> Directory {
    let model = "gen_ai.request.model";
    let large = (0..30)
        .map(|it| recorded(it, if it % 2 == 0 { "bad" } else { "good" }).with(model, "large"));
    let small = (30..35).map(|it| recorded(it, "good").with(model, "small"));
    let directory = directory(large.chain(small).chain([recorded(35, "good")]));
    let both = recorded(36, "good").with(model, "large").lines();
    let other =
        both.replace("\"spanId\":\"s\"", "\"spanId\":\"z\"").replace("\"large\"", "\"small\"");
    directory.file("t.jsonl", directory.read("t.jsonl") + &both + &other);
    directory
}

#[test]
fn slices_have_the_sums_of_each_value_in_every_form() {
    let directory = models();
    let outputs = [
        "-o",
        "json",
        "-o",
        "overview=o.txt",
        "-o",
        "markdown=m.md",
        "-o",
        "csv=c.csv",
        "-o",
        "table=t.txt",
    ];
    let options = ["--by", "gen_ai.request.model", "--save-run", "r.evalrun"];
    let report = run(&directory, &[&options[..], &outputs].concat()).exits(1).json();
    let slices = &report["slices"][0];
    let rows: Vec<_> = slices["values"]
        .as_array()
        .unwrap()
        .iter()
        .map(|slice| {
            let check = &slice["evaluators"][0];
            (
                slice["value"].clone(),
                slice["conversations"].clone(),
                check["mean"]["value"].clone(),
                check["too_few_cases"].clone(),
            )
        })
        .collect();
    assert_eq!(
        rows,
        [
            (json!("large"), json!(31), json!(0.516129), json!(false)),
            (json!("small"), json!(6), json!(1.0), json!(true)),
            (Value::Null, json!(1), json!(1.0), json!(true)),
        ]
    );
    assert_eq!(
        (&slices["by"], &slices["overlapping"]),
        (&json!("gen_ai.request.model"), &json!(1))
    );
    for file in ["o.txt", "t.txt"] {
        let text = directory.read(file);
        assert!(text.contains("By gen_ai.request.model:\n"), "{text}");
        assert!(
            text.lines().any(|line| line.starts_with("check      small ")
                && line.ends_with(" too few cases to say")),
            "{text}"
        );
        assert!(
            text.contains("  1 conversation with several values, in the row of each\n"),
            "{text}"
        );
    }
    let markdown = directory.read("m.md");
    assert!(markdown.contains("| Evaluator | gen\\_ai.request.model | Cases |"), "{markdown}");
    assert!(markdown.contains("| check | large | 31 | 51.6 % | 0.5161 |"), "{markdown}");
    let csv = directory.read("c.csv");
    assert!(csv.lines().next().unwrap().ends_with(",duration_ms,gen_ai.request.model"), "{csv}");
    assert!(csv.lines().last().unwrap().ends_with(",large; small"), "{csv}");
    // The saved run is sliced alike, and without an option by what it was sliced by.
    for options in [&[][..], &["--by", "gen_ai.request.model"]] {
        let saved =
            directory.evaluator(&[&["report", "r.evalrun", "-o", "json"], options].concat());
        assert_eq!(saved.json()["slices"], report["slices"]);
    }
}

#[test]
fn a_saved_run_is_sliced_by_what_it_recorded() {
    let directory = models();
    run(&directory, &["--save-run", "r.evalrun"]).exits(1);
    let report = |options: &[&str]| {
        directory.evaluator(&[&["report", "r.evalrun", "-o", "json"], options].concat())
    };
    assert_eq!(report(&[]).json().get("slices"), None);
    let by = report(&["--by", "service.name", "--by", "gen_ai.request.model"]).exits(1).json();
    assert_eq!(by["slices"][0]["values"][0]["value"], "shop");
    assert_eq!(by["slices"][1]["values"].as_array().unwrap().len(), 3);
    report(&["--by", "customer"]).exits(2).says(
        "the saved run has no values of `customer`; it has those of gen_ai.request.model, service.name; name others when you run: --by",
    );
    report(&["--by", "service_name"]).exits(2).says("did you mean `service.name`?");
}

#[test]
fn many_values_are_cut_for_people_only() {
    let directory = directory((0..30).map(|it| recorded(it, "good").with("user", it)));
    let options = ["--by", "user", "-o", "json", "-o", "overview=o.txt"];
    let report = run(&directory, &options).exits(0).json();
    assert_eq!(report["slices"][0]["values"].as_array().unwrap().len(), 30);
    let text = directory.read("o.txt");
    assert!(text.contains("  and 20 more values: -o json=FILE has them\n"), "{text}");
    assert_eq!(text.lines().filter(|line| line.starts_with("check ")).count(), 11);
}

#[test]
fn a_configuration_names_the_attributes() {
    let directory = directory(items(6, 2));
    let configure = |keys: &str| {
        let entry = "{type: code, path: ./check, name: check, gate: {mean: 0.1}}";
        directory.file("c.yaml", format!("{keys}\nevaluators: [{entry}]\n"));
    };
    let run = |options: &[&str]| {
        directory.run(&[&["t.jsonl", "-c", "c.yaml", "-o", "json"], options].concat())
    };
    configure("case_key: dataset.item\ncluster: service.name\nby: service.name");
    let report = run(&[]).exits(4).json();
    let check = &report["evaluators"][0];
    assert_eq!((&check["cases"], &check["clusters"]), (&json!(6), &json!(1)));
    assert_eq!(report["slices"][0]["by"], "service.name");
    // Options replace them.
    let report = run(&["--by", "dataset.item", "--cluster", "dataset.item"]).exits(0).json();
    assert_eq!(report["slices"].as_array().unwrap().len(), 1);
    assert_eq!(report["slices"][0]["by"], "dataset.item");
    configure("by: [service.name, dataset.item]");
    assert_eq!(run(&[]).json()["slices"].as_array().unwrap().len(), 2);
    configure("by: [[x]]");
    run(&[]).exits(2).says("c.yaml:1:");
}

#[test]
fn an_attribute_has_one_column_with_a_name_of_its_own() {
    let directory = directory((0..2).map(|number| recorded(number, "good").with("outcome", "x")));
    let by = ["--by", "outcome", "--by", "outcome"];
    let report = run(&directory, &[&by[..], &["-o", "csv=c.csv", "-o", "json"]].concat()).exits(0);
    assert_eq!(report.json()["slices"].as_array().unwrap().len(), 1);
    let csv = directory.read("c.csv");
    assert!(csv.lines().next().unwrap().ends_with(",duration_ms,by outcome"), "{csv}");
}

#[test]
fn tests_of_an_eval_file_are_sliced_by_their_metadata() {
    let directory = Directory::new();
    let test = |id: &str, metadata: &str| {
        format!(
            "  - {{id: {id}, criteria: x, input: q, metadata: {metadata}, assertions: [{{type: contains, value: Paris}}]}}\n"
        )
    };
    let tests = test("one", "{topic: cities, tags: [easy, short]}")
        + &test("two", "{topic: rivers, tags: [easy]}");
    directory.file("e.yaml", format!("name: e\ntests:\n{tests}"));
    directory.file("out/one.txt", "Paris");
    directory.file("out/two.txt", "Rome");
    let run = |options: &[&str]| {
        directory.run(&[&["e.yaml", "--outputs", "out", "-o", "overview"], options].concat())
    };
    let ran = run(&["--by", "tags", "--by", "topic", "--cluster", "topic"]).exits(1);
    for line in ["easy   2      50.0 %", "short  1      100.0 %", "rivers  1      0.0 %"] {
        assert!(ran.stdout.contains(line), "{line}: {}", ran.stdout);
    }
    assert!(
        ran.stdout.contains("\ne: 2 cases in 2 clusters are worth about 2\n"),
        "{}",
        ran.stdout
    );
    let json = directory.run(&["e.yaml", "--outputs", "out", "--by", "topic", "-o", "json"]).json();
    assert_eq!(json["slices"][0]["values"][1]["value"], "rivers");
    run(&["--by", "topics"]).exits(2).says("did you mean `topic`?");
    run(&["--case-key", "topic"]).exits(2).says("--case-key belongs to trace files");
}

/// Two saved runs over 24 items of the model "large" and 2 of "small", whose second one is new in the second run. Of the large ones
/// the second run has one that is bad only there, and of the small ones one that was bad before.
fn two_versions() -> Directory {
    let model = "gen_ai.request.model";
    let directory = directory([]);
    for (name, bad, small) in [("base", 24, 1), ("new", 3, 2)] {
        let recordings = (0..24 + small).map(|item| {
            let says = if item == bad { "bad" } else { "good" };
            recorded(format!("{name}-{item}"), says)
                .with("dataset.item", item)
                .with(model, if item < 24 { "large" } else { "small" })
        });
        record(&directory, "t.jsonl", recordings);
        let file = format!("{name}.evalrun");
        run(&directory, &["--case-key", "dataset.item", "--save-run", &file]).exits(1);
    }
    directory
}

/// What a slice of a comparison has about its only evaluator.
fn difference(slice: &Value) -> Value {
    let it = &slice["evaluators"][0];
    let counts = ["regressed", "broke", "fixed"].map(|key| it[key].clone());
    json!([
        slice["value"],
        slice["conversations"],
        it["difference"]["n"],
        it["base"],
        it["new"],
        it["difference"]["mean"],
        counts,
        it["too_few_cases"]
    ])
}

#[test]
fn a_comparison_is_sliced_by_the_values_of_the_new_run() {
    let directory = two_versions();
    let compare = |options: &[&str]| {
        directory.evaluator(&[&["compare", "base.evalrun", "new.evalrun"], options].concat())
    };
    let options = ["--by", "gen_ai.request.model", "-o", "json", "-o", "table=t.txt"];
    let ran = compare(&[&options[..], &["-o", "markdown=m.md"]].concat()).exits(0);
    let slices = ran.json()["slices"].clone();
    assert_eq!(slices[0]["by"], "gen_ai.request.model");
    assert_eq!(
        slices[0]["values"].as_array().unwrap().iter().map(difference).collect::<Vec<_>>(),
        [
            json!(["large", 24, 24, 1.0, 0.958333, -0.041667, [1, 0, 0], false]),
            // The item that only the new run has is not among the cases.
            json!(["small", 2, 1, 0.0, 1.0, 1.0, [0, 0, 1], true]),
        ]
    );
    let text = directory.read("t.txt");
    assert!(text.contains("\nCompared by gen_ai.request.model:\n\nEvaluator  gen_ai"), "{text}");
    let row = text.lines().find(|line| line.starts_with("check      large ")).unwrap();
    let cells: Vec<&str> = row.split("  ").filter(|it| !it.is_empty()).map(str::trim).collect();
    assert_eq!(
        (&cells[1..5], &cells[6..]),
        (&["large", "24", "1.0000", "0.9583"][..], &["1", "0", "0"][..]),
        "{text}"
    );
    assert!(cells[5].starts_with("-0.0417 (-"), "{text}");
    assert!(
        text.lines()
            .any(|line| line.starts_with("check      small ")
                && line.ends_with(" too few cases to say")),
        "{text}"
    );
    let markdown = directory.read("m.md");
    assert!(markdown.contains("| check | large | 24 | 1.0000 | 0.9583 | -0.0417 (-"), "{markdown}");
    assert_eq!(compare(&["-o", "json"]).json().get("slices"), None);
    compare(&["--by", "customer"]).exits(2).says(
        "the new run has no values of `customer`; it has those of gen_ai.request.model, service.name; name others when you run: --by",
    );
    // A report with a baseline has the same numbers, and a run has, too.
    let outputs = [
        "--by",
        "gen_ai.request.model",
        "-o",
        "json",
        "-o",
        "markdown=r.md",
        "-o",
        "overview=o.txt",
        "-o",
        "table=t.txt",
    ];
    let baseline = ["--baseline", "first.evalrun", "--no-regressions"];
    let options = [&outputs[..], &baseline].concat();
    // What fails in the file of a baseline that is created is known.
    let base = [
        "report",
        "base.evalrun",
        "--baseline",
        "first.evalrun",
        "--update-baseline",
        "--no-regressions",
    ];
    directory.evaluator(&base).exits(1);
    let report = directory.evaluator(&[&["report", "new.evalrun"], &options[..]].concat()).exits(1);
    assert_eq!(report.json()["comparison"]["slices"], slices);
    for file in ["o.txt", "t.txt"] {
        let text = directory.read(file);
        assert!(text.contains("\nCompared by gen_ai.request.model:\n"), "{text}");
    }
    let markdown = directory.read("r.md");
    assert!(markdown.contains("| check | large | 24 | 1.0000 | 0.9583 | -0.0417 (-"), "{markdown}");
    let ran = run(&directory, &[&options[..], &["--case-key", "dataset.item"]].concat()).exits(1);
    assert_eq!(ran.json()["comparison"]["slices"], slices);
}

#[test]
fn many_values_of_a_comparison_are_cut_for_people_only() {
    let directory = directory((0..30).map(|it| recorded(it, "good").with("user", it)));
    let save = |file: &str| run(&directory, &["--by", "user", "--save-run", file]).exits(0);
    save("base.evalrun");
    save("new.evalrun");
    // Without the option, it has the slices of the new run.
    let outputs = ["-o", "json", "-o", "table=t.txt"];
    let ran =
        directory.evaluator(&[&["compare", "base.evalrun", "new.evalrun"], &outputs[..]].concat());
    assert_eq!(ran.json()["slices"][0]["values"].as_array().unwrap().len(), 30);
    let text = directory.read("t.txt");
    assert!(text.contains("  and 20 more values: -o json=FILE has them\n"), "{text}");
    assert_eq!(text.lines().filter(|line| line.starts_with("check ")).count(), 10, "{text}");
}
