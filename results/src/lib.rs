//! Results of evaluators: the report of a run as data, its JSON form, sums over it, and the run file from which it is read.
//! Text forms are in the command.
//!
//! This crate makes no promise of stability; `evaluator-host` has what programs that embed it need.
//!
//! | file | contents |
//! |---|---|
//! | `report` | the report of a run |
//! | `model` | the reports of a conversation and of an evaluation |
//! | `agreement` | evaluators held against labels of people, and against each other |
//! | `attention` | conversations that need attention, worst first |
//! | `noise` | how much evaluators and the agent vary |
//! | `outcome` | the outcome of an evaluation |
//! | `reason` | why an evaluation has its outcome |
//! | `repeats` | repeats of an evaluation, combined |
//! | `contradictions` | warnings about answers, by evaluator |
//! | `tally` | counts of evaluations, and whether the run passes |
//! | `comparison` | two runs compared, case by case |
//! | `baseline` | a saved run that new ones are compared with |
//! | `certificate` | what labels of people have shown about an evaluator |
//! | `certify` | certifies an evaluator by labels |
//! | `evaluators` | sums by evaluator |
//! | `gate` | gates, and the values of cases that decide them |
//! | `slices` | sums by the values of an attribute |
//! | `labels` | labels that people gave to conversations, read from files |
//! | `totals` | other sums over conversations |
//! | `run_warnings` | warnings that sum over conversations |
//! | `digest` | digests of several values, such as the keys of evaluations |
//! | `conversations` | conversations that are read from a run file one by one |
//! | [`run_file`] | everything that a run measured, on lines of JSON |

mod agreement;
mod attention;
mod baseline;
mod certificate;
mod certify;
mod comparison;
mod context;
mod contradictions;
mod conversations;
mod digest;
mod encoding;
mod error_type;
mod evaluators;
mod gate;
mod json;
mod labels;
mod model;
mod noise;
mod outcome;
mod reason;
mod recordings;
mod repeats;
mod report;
pub mod run_file;
mod run_warnings;
mod slices;
mod tally;
mod target_proxy;
mod totals;

pub use agreement::{
    Agreement, AgreementError, AgreementSettings, ComparedLabel, Disagreement, EvaluatorAgreement,
    KappaEstimate, MinKappa, RaterComment, Raters, Sheet, SheetRow, SheetSettings,
    without_minus_zero,
};
pub use attention::Attention;
pub use baseline::{Baseline, BaselineError};
pub use certificate::{Certificate, CertificateError, CertifiedLabels, Rate};
pub use certify::{Certified, certify};
pub use comparison::{
    CaseChange, CaseChangeKind, ClaimResult, Comparison, ComparisonError, ComparisonSettings,
    EvaluatorComparison, EvaluatorDifference,
};
pub use context::{EventContext, EventTurn};
pub use contradictions::{Contradictions, contradiction};
pub use conversations::{Collector, ConversationReports, Conversations, REPORT_MEMORY};
pub use error_type::{CANCELLED, ERROR_TYPES, ErrorType, NOT_RUN};
pub use evaluator_protocol::EvalStatus as Status;
pub use evaluator_statistics::{Estimate, GateVerdict, Interval};
pub use evaluators::{ClusterEffect, EvaluatorSums};
pub use gate::{
    CaseCount, CaseValue, CaseValues, Cases, Gate, GateError, GateResult, Measure, RunningGate,
    Undecided, case_order,
};
pub use labels::{
    Label, LabelCounts, LabelError, LabelPlace, LabelValue, Labels, Meanings, UnmatchedLabel,
    read_labels,
};
pub use model::{
    ALL_EVALUATORS, Contained, ConversationReport, EvaluationReport, JudgeUsage, Partial, Slice,
    Slices, SuiteReport,
};
pub use noise::{Disagreeing, EvaluatorNoise, VarianceShares};
pub use outcome::{EVALUATORS, EvaluationOutcome};
pub use report::{MissingScores, Report};
pub use run_warnings::JUDGED_AGAIN;
pub use slices::RECORDED_ATTRIBUTES;
pub use tally::{Balance, Inconclusive, Standing, Tally};
pub use target_proxy::{RecordId, TargetProxyReport, TargetTokens};
pub use totals::{EvaluatorScores, NotEvaluated};
