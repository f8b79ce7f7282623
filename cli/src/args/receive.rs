//! Arguments of `evaluator receive`.

use std::{net::SocketAddr, num::NonZeroUsize, path::PathBuf, time::Duration};

use clap::Args;
use evaluator_host::conversation::GroupBy;

use super::{
    JudgeFlags,
    run::GROUPINGS,
    values::{address, existing, file, host, jobs, one_of, whole, writable},
};

pub(super) const EXIT_CODES: &str = "Exit codes: 0 stopped after everything that was finished had been judged, whatever the scores; 2 usage or configuration error, or an evaluator cannot be prepared; 3 it could not listen, results are not saved or not reliable, or requests were not answered";

#[derive(Debug, Args)]
pub(crate) struct ReceiveArgs {
    /// Configuration with the evaluators (default: eval_config.yaml, .yml or .json of the working directory)
    #[arg(short, long, value_name = "FILE", value_parser = file)]
    pub(crate) config: Option<PathBuf>,
    /// Eval set with golden conversations (overrides the configuration's)
    #[arg(short, long, value_name = "FILE", value_parser = existing)]
    pub(crate) eval_set: Option<PathBuf>,
    /// File to which spans are appended before a request is answered; what is in it is judged, too
    #[arg(long, value_name = "FILE", value_parser = writable)]
    pub(crate) traces: PathBuf,
    /// Run file for the results; evaluations in it are not repeated
    #[arg(long, value_name = "FILE", value_parser = writable)]
    pub(crate) save_run: PathBuf,
    /// Address to listen on; port 0 is any free port
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:4318", value_parser = address)]
    pub(crate) addr: SocketAddr,
    /// How traces are grouped into conversations: trace or conversation (default: `group_by` of the configuration)
    #[arg(long, value_parser = one_of(GROUPINGS))]
    pub(crate) group_by: Option<GroupBy>,
    /// Time without spans after which a trace whose root has ended is judged, e.g. 10s
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = time)]
    pub(crate) quiet_for: Duration,
    /// Time without spans after which any other conversation is judged, e.g. 10m
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = time)]
    pub(crate) idle_for: Duration,
    /// File with the bearer token of requests (default: $EVALUATOR_RECEIVE_TOKEN); required if other machines can connect
    #[arg(long, value_name = "FILE", value_parser = existing)]
    pub(crate) token_file: Option<PathBuf>,
    /// Name that the `Host` header of requests without a token may have, in addition to localhost and addresses; repeatable
    #[arg(long, value_name = "HOST", value_parser = host)]
    pub(crate) allow_host: Vec<String>,
    /// Number of parallel evaluations (default: one per processor)
    #[arg(long, value_name = "N", value_parser = jobs)]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// Maximum size of a request, in MiB, also after decompression
    #[arg(long, value_name = "MIB", default_value = "16", value_parser = whole::<u16>(1..=1024))]
    pub(crate) max_body: u16,
    /// Reject remote evaluators that are not pinned in evaluators.lock, instead of pinning them
    #[arg(long)]
    pub(crate) locked: bool,
    /// Refuse to start (exit code 2) unless every program is contained by its executor (sandbox or docker)
    #[arg(long)]
    pub(crate) contain: bool,
    #[command(flatten)]
    pub(crate) judge: JudgeFlags,
}

/// Parses a time: a number of seconds, or a number with the unit ms, s, m or h.
fn time(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "ms" => 1,
        "" | "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => return Err("the units are ms, s, m and h".to_owned()),
    };
    let time = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(unit));
    match time {
        Some(time) if time <= 7 * 24 * 3_600_000 => Ok(Duration::from_millis(time)),
        Some(_) => Err("must be at most 168h".to_owned()),
        None => Err("write a whole number with a unit, e.g. 10s".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        for (text, millis) in
            [("10s", 10_000), ("7", 7_000), ("250ms", 250), ("10m", 600_000), ("168h", 604_800_000)]
        {
            assert_eq!(time(text), Ok(Duration::from_millis(millis)), "{text}");
        }
        for text in ["", "s", "1d", "-1s", "1.5s", "169h", "99999999999999999999s"] {
            assert!(time(text).is_err(), "{text}");
        }
    }
}
