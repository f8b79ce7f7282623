//! `docs/explanation/containment-matrix.md`, which only this test writes.

use std::{env, fmt::Write as _, fs, path::Path};

use super::probes::{Level, Probe, Way};

const HEAD: &str = "# Attacks on the sandbox

The programs below try to break out of `executor: sandbox` ([how to use it](../guides/containment.md)). The tests run each of them
in the ways below, as root and as a user without privileges, and fail if one that is `blocked` succeeds, if a file outside
changes, or if a process is left. Some are also run without containment, where they succeed.

| way | meaning |
|---|---|
";

const FULL: &str = "
`blocked` also stands for programs that are killed, or stopped by a limit. `-`: the program does not run in that way.

## Level `full`

";

const PARTIAL: &str = "
## Level `partial`

Python interpreters are not forked at this level.

";

/// Compares the page with the probes, or writes it.
pub(super) fn compare(probes: &[Probe]) {
    let mut page = HEAD.to_owned();
    for way in Way::ALL {
        let _ = writeln!(page, "| {} | {} |", way.name(), way.meaning());
    }
    page += FULL;
    table(&mut page, Level::Full, "program | attempts", probes, |probe| {
        format!("`{}` | {}", probe.name, probe.attempt)
    });
    page += PARTIAL;
    table(&mut page, Level::Partial, "program", probes, |probe| format!("`{}`", probe.name));
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

/// Writes a table of what a level prevents. The first columns are those of `head`.
fn table(
    page: &mut String,
    level: Level,
    head: &str,
    probes: &[Probe],
    describe: impl Fn(&Probe) -> String,
) {
    let join = |cells: Vec<&str>| cells.join(" | ");
    let ways = level.ways();
    let columns = head.split('|').count() + ways.len();
    let names = join(ways.iter().map(|way| way.name()).collect());
    let _ = writeln!(page, "| {head} | {names} |\n|{}", "---|".repeat(columns));
    for probe in probes {
        let cell = |way: &Way| match probe.has(*way) {
            true if level.prevents(&probe.name) => "blocked",
            true => "**not limited**",
            false => "-",
        };
        let cells = join(ways.iter().map(cell).collect());
        let _ = writeln!(page, "| {} | {cells} |", describe(probe));
    }
}
