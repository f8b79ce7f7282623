//! OpenMetrics text, which GitLab shows as metrics of a merge request and Prometheus reads.

use std::{fmt::Write as _, io};

use evaluator_host::report::{CaseChangeKind, Gate, GateResult, GateVerdict, Report};

use super::{
    changes::IS_THERE,
    plain::{one_line, printable},
};

/// Writes the numbers of each evaluator as gauges, with the final line of the format.
///
/// # Errors
///
/// A conversation cannot be read back, or writing fails.
pub(crate) fn openmetrics(report: &Report, out: &mut dyn io::Write) -> io::Result<()> {
    let evaluators = report.evaluators(Gate::CONFIDENCE)?;
    let mut text = String::new();
    family(&mut text, "evaluator_evaluations", "Evaluations by outcome.");
    for sums in &evaluators {
        let counts = [
            ("passed", sums.tally.passed),
            ("failed", sums.tally.failed),
            ("not_evaluated", sums.tally.not_evaluated),
            ("error", sums.tally.errored),
            ("not_run", sums.tally.not_run),
        ];
        for (outcome, count) in counts {
            let labels = [("evaluator", &*sums.name), ("outcome", outcome)];
            sample(&mut text, "evaluator_evaluations", &labels, count as f64);
        }
    }
    let estimates = [
        ("evaluator_mean_score", "Mean score of all cases."),
        ("evaluator_pass_rate", "Share of cases that passed, in 0..=1."),
        (
            "evaluator_corrected_pass_rate",
            "Share of cases that passed, corrected for the errors of the evaluator.",
        ),
    ];
    for (at, (name, help)) in estimates.into_iter().enumerate() {
        let is_known = evaluators.iter().any(|it| it.corrected_pass_rate.is_some());
        if name == "evaluator_corrected_pass_rate" && !is_known {
            continue;
        }
        family(&mut text, name, help);
        for sums in &evaluators {
            let Some(estimate) = [&sums.mean, &sums.pass_rate, &sums.corrected_pass_rate][at]
            else {
                continue;
            };
            sample(&mut text, name, &[("evaluator", &sums.name)], estimate.mean);
        }
    }
    family(&mut text, "evaluator_gate", "Verdict of a gate: 1 passes, 0 fails, 0.5 is undecided.");
    for GateResult { gate, verdict, .. } in report.decide_gates()? {
        let (measure, limit) = (gate.measure.to_string(), gate.limit.to_string());
        let labels = [("evaluator", &*gate.evaluator), ("measure", &*measure), ("limit", &*limit)];
        sample(&mut text, "evaluator_gate", &labels, number(verdict));
    }
    compared(&mut text, report);
    text.push_str("# EOF\n");
    out.write_all(text.as_bytes())
}

/// Adds the comparison with a baseline.
fn compared(text: &mut String, report: &Report) {
    let Some(comparison) = &report.comparison else { return };
    let name = "evaluator_mean_difference";
    family(text, name, "Mean difference to the baseline of the cases of both runs.");
    for evaluator in &comparison.evaluators {
        if let Some(difference) = &evaluator.difference {
            sample(text, name, &[("evaluator", &evaluator.name)], difference.mean);
        }
    }
    let name = "evaluator_changed_cases";
    family(text, name, "Cases that changed since the baseline, by change.");
    for evaluator in &comparison.evaluators {
        for change in CaseChangeKind::ALL {
            let count = evaluator.changes.iter().filter(|it| it.change == *change).count();
            let labels = [("evaluator", &*evaluator.name), ("change", &change.to_string())];
            sample(text, name, &labels, count as f64);
        }
    }
    let name = "evaluator_claim";
    family(
        text,
        name,
        "Verdict of a claim about the baseline: 1 passes, 0 fails, 0.5 is undecided.",
    );
    for (evaluator, claim) in comparison.claims() {
        let labels = [("evaluator", evaluator), ("claim", &*claim.claim)];
        sample(text, name, &labels, number(claim.verdict));
    }
    for evaluator in comparison.missing_evaluators() {
        let labels = [("evaluator", &**evaluator), ("claim", IS_THERE)];
        sample(text, name, &labels, number(GateVerdict::Inconclusive));
    }
}

fn number(verdict: GateVerdict) -> f64 {
    match verdict {
        GateVerdict::Pass => 1.0,
        GateVerdict::Fail => 0.0,
        GateVerdict::Inconclusive => 0.5,
    }
}

fn family(text: &mut String, name: &str, help: &str) {
    let _ = writeln!(text, "# TYPE {name} gauge\n# HELP {name} {help}");
}

fn sample(text: &mut String, name: &str, labels: &[(&str, &str)], value: f64) {
    let labels = labels.iter().map(|(name, value)| {
        let value = printable(&one_line(value)).replace('\\', "\\\\").replace('"', "\\\"");
        format!("{name}=\"{value}\"")
    });
    let labels = labels.collect::<Vec<_>>().join(",");
    let _ = writeln!(text, "{name}{{{labels}}} {value}");
}
