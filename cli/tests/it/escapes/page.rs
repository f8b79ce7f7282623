//! `docs/explanation/containment-matrix.md`, which only this test writes.

use std::{env, fmt::Write as _, fs, path::Path};

use super::probes::{Probe, Way};

const HEAD: &str = "# Attacks on the sandbox

The programs below try to break out of `executor: sandbox` ([how to use it](../guides/containment.md)). The tests run each of them
in the ways below, as root and as a user without privileges, at the level `full`, and fail if one succeeds, if a file
outside changes, or if a process is left. Some are also run without containment, where they succeed.

| way | meaning |
|---|---|
";

const TABLE: &str = "
`blocked` also stands for programs that are killed, or stopped by a limit. `-`: the program does not run in that way.

";

/// Compares the page with the probes, or writes it.
pub(super) fn compare(probes: &[Probe]) {
    let mut page = HEAD.to_owned();
    for way in Way::ALL {
        let _ = writeln!(page, "| {} | {} |", way.name(), way.meaning());
    }
    page += TABLE;
    let ways = Way::ALL.map(Way::name).join(" | ");
    let _ = writeln!(page, "| program | attempts | {ways} |");
    let _ = writeln!(page, "|---|---|{}", "---|".repeat(Way::ALL.len()));
    for probe in probes {
        let cell = |way| if probe.has(way) { "blocked" } else { "-" };
        let cells = Way::ALL.map(cell).join(" | ");
        let _ = writeln!(page, "| `{}` | {} | {cells} |", probe.name, probe.attempt);
    }
    let file =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/explanation/containment-matrix.md");
    if env::var("CONTAINMENT").is_ok_and(|it| it == "overwrite") {
        fs::write(&file, &page).unwrap();
    }
    let written = fs::read_to_string(&file).unwrap_or_default();
    assert_eq!(
        written, page,
        "docs/explanation/containment-matrix.md is outdated; CONTAINMENT=overwrite writes it again"
    );
}
