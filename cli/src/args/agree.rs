//! Arguments of `agree`.

use std::path::{Path, PathBuf};

use clap::Args;
use evaluator_host::report::{AgreementSettings, Meanings, SheetSettings};

use super::{
    gates::confidence,
    values::{ResultOutput, file, name, result_output, whole, writable},
};

pub(super) const EXIT_CODES: &str = "Exit codes: 0 the evaluators agree as asked, or nothing is asked; 1 they do not; 2 nothing can be compared; 3 an evaluation with a label broke, or something cannot be written; 4 the labels do not decide";

#[derive(Debug, Args)]
#[command(
    override_usage = "evaluator agree [OPTIONS] <LABELS>... <RUN>\n       evaluator agree [OPTIONS] --with <NAME> <RUN>\n       evaluator agree [OPTIONS] --sheet <FILE> <RUN>"
)]
pub(crate) struct AgreeArgs {
    /// Files with labels: CSV with a header, JSON lines, a JSON export of Label Studio, scores of Langfuse; then the run file
    /// (.evalrun), or a result of promptfoo or Inspect in JSON
    #[arg(required = true, value_name = "LABELS.. RUN", value_parser = file)]
    files: Vec<PathBuf>,
    /// Evaluator that is compared; repeatable (default: all with labels)
    #[arg(long, value_name = "NAME")]
    evaluator: Vec<String>,
    /// Compare the evaluators with this evaluator; labels are not needed then
    #[arg(long, value_name = "NAME", conflicts_with = "sheet")]
    with: Option<String>,
    /// Use the labels about this name, for all evaluators. Without it, labels about an evaluator count for it alone
    #[arg(long, value_name = "NAME", value_parser = name)]
    about: Option<String>,
    /// Use only the labels of this part, by their column `split`, e.g. dev or test
    #[arg(long, value_name = "NAME", value_parser = name)]
    pub(crate) split: Option<String>,
    /// Meaning of a further word in the labels, e.g. wrong=fail or partly=0.5; repeatable
    #[arg(long, value_name = "WORD=MEANING", value_parser = word)]
    label: Vec<String>,
    /// Grade from which on a graded label is a pass
    #[arg(long, value_name = "GRADE", allow_negative_numbers = true, value_parser = number)]
    pass_from: Option<f64>,
    /// Kappa that each evaluator has to have, from -1 to 1
    #[arg(long, value_name = "X", allow_negative_numbers = true, value_parser = kappa, conflicts_with = "sheet")]
    min_kappa: Option<f64>,
    /// Confidence of intervals, between 0 and 1 (default: 0.95)
    #[arg(long, value_name = "C", value_parser = confidence)]
    confidence: Option<f64>,
    /// Seed of random numbers (default: 0)
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Write conversations of the run to this file, for people to label: CSV without what evaluators say. The run needs their
    /// transcripts (run --transcripts all)
    #[arg(long, value_name = "FILE", value_parser = writable, conflicts_with = "output")]
    pub(crate) sheet: Option<PathBuf>,
    /// Write a certificate of the evaluator to this file, if the exit code is 0: how often it passes what people call good, and fails
    /// what they call bad. The key `certificate` of its entry corrects its pass rate by it
    #[arg(long, value_name = "FILE", value_parser = writable, conflicts_with_all = ["with", "sheet"])]
    pub(crate) certify: Option<PathBuf>,
    /// Number of conversations in the sheet (default: 100)
    #[arg(long, value_name = "N", requires = "sheet", value_parser = whole::<usize>(1..=1_000_000))]
    sample: Option<usize>,
    /// Draw the conversations of the sheet whatever their scores are, instead of as many that pass as that fail
    #[arg(long, requires = "sheet")]
    at_random: bool,
    /// Form of the result (table, json, markdown, html), and with =FILE the file that it is written to instead of stdout; repeatable
    /// (default: table)
    #[arg(short, long, value_name = "FORM[=FILE]", value_parser = result_output)]
    pub(crate) output: Vec<ResultOutput>,
}

impl AgreeArgs {
    /// Returns the run, and the files with labels.
    ///
    /// # Errors
    ///
    /// There are too few files, or too many: a message.
    pub(crate) fn files(&self) -> Result<(&Path, &[PathBuf]), String> {
        let Some((run, labels)) = self.files.split_last() else {
            return Err("name the run".to_owned());
        };
        match (labels.is_empty(), self.with.is_some(), &self.sheet) {
            (false, _, Some(_)) => Err("--sheet needs the run alone: it has no labels yet".to_owned()),
            (true, false, None) => Err(
                "name the labels before the run; --with NAME compares evaluators without labels, and --sheet FILE writes what is \
                 to be labelled"
                    .to_owned(),
            ),
            _ => Ok((run, labels)),
        }
    }

    /// Returns the meanings of words in the labels.
    pub(crate) fn meanings(&self) -> Result<Meanings, String> {
        let mut meanings = Meanings::default();
        self.label.iter().try_for_each(|word| meanings.add(word))?;
        Ok(meanings)
    }

    /// Returns the settings of the agreement.
    pub(crate) fn settings(&self) -> AgreementSettings {
        let mut settings = AgreementSettings::default();
        settings.evaluators.clone_from(&self.evaluator);
        settings.with.clone_from(&self.with);
        settings.about.clone_from(&self.about);
        settings.pass_from = self.pass_from;
        settings.min_kappa = self.min_kappa;
        settings.confidence = self.confidence.unwrap_or(settings.confidence);
        settings.seed = self.seed.unwrap_or(settings.seed);
        settings
    }

    /// Returns the settings of the sheet.
    pub(crate) fn sheet_settings(&self) -> SheetSettings {
        let mut settings = SheetSettings::default();
        settings.evaluators.clone_from(&self.evaluator);
        settings.sample = self.sample.unwrap_or(settings.sample);
        settings.at_random = self.at_random;
        settings.seed = self.seed.unwrap_or(settings.seed);
        settings
    }
}

fn word(text: &str) -> Result<String, String> {
    Meanings::default().add(text)?;
    Ok(text.to_owned())
}

fn number(text: &str) -> Result<f64, String> {
    text.parse().ok().filter(|it: &f64| it.is_finite()).ok_or_else(|| "must be a number".to_owned())
}

fn kappa(text: &str) -> Result<f64, String> {
    let kappa = number(text)?;
    if (-1.0..=1.0).contains(&kappa) { Ok(kappa) } else { Err("must be from -1 to 1".to_owned()) }
}
