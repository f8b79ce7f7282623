//! Sums and differences by the values of an attribute, as tables.

use std::{fmt::Write as _, io};

use evaluator_host::report::{
    Comparison, EvaluatorDifference, EvaluatorSums, Gate, Report, Slices,
};

use super::{Columns, changes::interval, plain::one_line, sums, words::counted};

/// Maximum number of values of an attribute that are shown of each evaluator.
const VALUES: usize = 10;

/// The table of an attribute, with the evaluator in the first column and the value in the second.
pub(super) struct Table<const N: usize> {
    title: String,
    pub(super) header: [String; N],
    /// Rows of each evaluator, a row for each of the first values.
    pub(super) rows: Vec<[String; N]>,
    /// What the rows do not say.
    pub(super) remarks: Vec<String>,
}

/// Appends a table for each attribute by which a report is sliced, then those of its comparison with a baseline. All tables
/// have at most `rows` rows together, if that is set.
pub(super) fn text(
    report: &Report,
    width: Option<usize>,
    rows: Option<usize>,
    text: &mut String,
) -> io::Result<()> {
    let sums = of_report(report)?;
    let compared: Vec<_> = report.comparison.iter().flat_map(of_comparison).collect();
    let most = rows.map(|rows| rows / (sums.len() + compared.len()).max(1));
    sums.into_iter().for_each(|table| table.write(width, most, text));
    compared.into_iter().for_each(|table| table.write(width, most, text));
    Ok(())
}

/// Returns the sums of a report, a table for each attribute by which it is sliced.
pub(super) fn of_report(report: &Report) -> io::Result<Vec<Table<9>>> {
    let [evaluator, cases, passed, mean, interval, _, not_evaluated, errors] = sums::COLUMNS;
    let row = |sums: &EvaluatorSums, value| {
        let [name, cases, passed, mean, interval, _, not_evaluated, errors] = sums::row(sums);
        let remark = remark(sums.has_too_few_cases());
        [name, value, cases, passed, mean, interval, not_evaluated, errors, remark]
    };
    let slices = report.slices(Gate::CONFIDENCE)?;
    let tables = slices.iter().map(|slices| {
        let by = &one_line(&slices.by);
        let header =
            [evaluator, by, cases, passed, mean, interval, not_evaluated, errors, "Remark"];
        Table::new(format!("By {by}"), header, slices, |it| &it.name, row)
    });
    Ok(tables.collect())
}

/// Returns the differences of two runs, a table for each attribute by which they are sliced.
pub(super) fn of_comparison(comparison: &Comparison) -> Vec<Table<10>> {
    let row = |it: &EvaluatorDifference, value| {
        let score = |score: Option<f64>| score.map_or_else(String::new, |it| format!("{it:.4}"));
        [
            one_line(&it.name).into_owned(),
            value,
            it.difference.map_or(0, |it| it.n).to_string(),
            score(it.base),
            score(it.new),
            it.difference.as_ref().map_or_else(String::new, interval),
            it.regressed.to_string(),
            it.broke.to_string(),
            it.fixed.to_string(),
            remark(it.too_few_cases),
        ]
    };
    let tables = comparison.slices.iter().map(|slices| {
        let by = &one_line(&slices.by);
        let [regressed, broke, fixed] = ["Regressed", "Broke", "Fixed"];
        let header = [
            "Evaluator",
            by,
            "Cases",
            "Base",
            "New",
            "Difference",
            regressed,
            broke,
            fixed,
            "Remark",
        ];
        Table::new(format!("Compared by {by}"), header, slices, |it| &it.name, row)
    });
    tables.collect()
}

fn remark(has_too_few_cases: bool) -> String {
    if has_too_few_cases { "too few cases to say".to_owned() } else { String::new() }
}

impl<const N: usize> Table<N> {
    fn new<E>(
        title: String,
        header: [&str; N],
        slices: &Slices<E>,
        name: impl Fn(&E) -> &str,
        row: impl Fn(&E, String) -> [String; N],
    ) -> Self {
        let mut names: Vec<&str> = Vec::new();
        for evaluator in slices.slices.iter().flat_map(|slice| &slice.evaluators) {
            if !names.contains(&name(evaluator)) {
                names.push(name(evaluator));
            }
        }
        let mut rows = Vec::new();
        for wanted in names {
            for slice in slices.slices.iter().take(VALUES) {
                let value = slice.value.as_deref().map_or("(none)".into(), one_line);
                let found = slice.evaluators.iter().find(|it| name(it) == wanted);
                rows.extend(found.map(|it| row(it, value.into_owned())));
            }
        }
        Self { title, header: header.map(str::to_owned), rows, remarks: remarks(slices) }
    }

    /// Leaves out rows of the last values of each evaluator, so that at most `most` are left.
    fn shorten(&mut self, most: usize) {
        let all = self.rows.len();
        let evaluators = self.rows.chunk_by(|one, next| one[0] == next[0]);
        let each = most.checked_div(evaluators.clone().count()).unwrap_or_default().max(1);
        let kept = evaluators.flat_map(|rows| rows.iter().take(each));
        self.rows = kept.take(most).cloned().collect();
        let more = (all - self.rows.len()) as u64;
        self.remarks.insert(0, format!("and {}: -o table shows them", counted(more, "more row")));
    }

    /// Appends the table as text, with at most `most` rows if that is set.
    pub(super) fn write(mut self, width: Option<usize>, most: Option<usize>, text: &mut String) {
        if let Some(most) = most.filter(|most| self.rows.len() > *most) {
            self.shorten(most);
        }
        let mut table = Columns::new(self.header.each_ref().map(String::as_str));
        self.rows.into_iter().for_each(|row| table.row(row));
        table.fit(width);
        let _ = writeln!(text, "\n{}:\n\n{}", self.title, table.to_text().trim_end());
        for remark in self.remarks {
            let _ = writeln!(text, "  {remark}");
        }
    }
}

/// Returns what the rows do not say.
fn remarks<E>(slices: &Slices<E>) -> Vec<String> {
    let mut remarks = Vec::new();
    let more = slices.slices.len().saturating_sub(VALUES) as u64;
    if more > 0 {
        remarks.push(format!("and {}: -o json=FILE has them", counted(more, "more value")));
    }
    if slices.overlapping > 0 {
        let conversations = counted(slices.overlapping, "conversation");
        remarks.push(format!("{conversations} with several values, in the row of each"));
    }
    if slices.left_out > 0 {
        remarks.push(format!(
            "left out: {} of further values",
            counted(slices.left_out, "conversation")
        ));
    }
    remarks
}
