//! `evaluator receive`.

use std::{
    io::{self, Write as _},
    mem,
    path::Path,
};

use evaluator_host::{
    config::Config,
    conversation::GroupBy,
    metric::Metrics,
    process::Cancellation,
    report::{ConversationReport, run_file::RunFile},
    run::{Request, Runner},
};
use evaluator_receive::{OnJudged, OnRemark, Received, Receiver, Remark, Rules};
use evaluator_serve::{Ended, Server, Settings};

use super::{
    broken, bundle, discovery, ensure_contained, load_config, open_session, serve::server_token,
    unusable, watched,
};
use crate::{args::ReceiveArgs, exit, render, signals};

/// Environment variable with the token.
const TOKEN: &str = "EVALUATOR_RECEIVE_TOKEN";

/// Receives spans and judges conversations until a signal stops the receiver.
pub(super) fn receive(mut args: ReceiveArgs, verbose: u8, mut runner: Runner) -> Result<u8, u8> {
    let settings = settings(&args).map_err(unusable)?;
    let file = discovery::required(args.config.take(), "name a configuration with -c")?;
    bundle::open(Some(&file), &mut runner)?;
    let mut config = load_config(Some(&file), &runner)?;
    configure(&mut config, &mut args, &runner.registries.metrics);
    let rules = rules(&config, &args).map_err(unusable)?;
    ensure_contained(args.contain, &config, &runner)?;
    runner.session = Some(open_session(&config, verbose, &runner)?);
    runner.locked = args.locked;
    runner.jobs = args.jobs.unwrap_or(runner.jobs);
    let receiver = Receiver::open(&args.traces, rules).map_err(unusable)?;
    runner.run_file = Some(RunFile::open(&args.save_run, true).map_err(unusable)?.into());
    let request = Request::new::<&Path>([], config);
    let stop = Cancellation::new();
    signals::watch_receiving(stop.clone());
    let received = watched(verbose, async |on_event| {
        let server = Server::bind(args.addr, settings).await.map_err(broken)?;
        render::note(&format!("listening on http://{} (/v1/traces)", server.address()));
        let callbacks: (OnJudged, OnRemark) = (Box::new(print), Box::new(remark));
        Ok::<_, u8>(receiver.run(server, (&runner, &request), &stop, callbacks, on_event).await)
    })??;
    finish(&received, &args)
}

/// Applies the options to a configuration.
fn configure(config: &mut Config, args: &mut ReceiveArgs, metrics: &Metrics) {
    config.eval_set = args.eval_set.take().or(config.eval_set.take());
    config.group_by = args.group_by.or(config.group_by);
    mem::take(&mut args.judge).overrides().apply(config, metrics);
    // What is received first is chance, so nothing ends at a failure. The report decides.
    config.fail_fast = false;
    config.until_decided = false;
}

fn rules(config: &Config, args: &ReceiveArgs) -> Result<Rules, String> {
    let by_session = match config.group_by {
        Some(GroupBy::Trace) => false,
        Some(GroupBy::Conversation) => true,
        Some(GroupBy::Auto) | None => {
            return Err(
                "spans are grouped while they come, and `auto` looks at all of them; add --group-by trace or --group-by \
                 conversation, or the key `group_by`"
                    .to_owned(),
            );
        }
    };
    let mut rules = Rules::new(by_session);
    rules.quiet_for = args.quiet_for;
    rules.idle_for = args.idle_for;
    Ok(rules)
}

fn settings(args: &ReceiveArgs) -> Result<Settings, String> {
    let settings = Settings {
        body_limit: usize::from(args.max_body) << 20,
        hosts: args.allow_host.clone(),
        http2: true,
        token: server_token(args.token_file.as_deref(), TOKEN)?,
        ..Settings::default()
    };
    settings.allow(args.addr).map_err(|error| {
        format!("{error}; write a token to a file for --token-file, or to the variable {TOKEN}")
    })?;
    Ok(settings)
}

/// Prints the verdicts of a conversation on a line.
fn print(report: &ConversationReport) {
    let mut line = report.trace_id.to_string();
    for evaluation in &report.evaluations {
        line += &format!("  {} {}", evaluation.outcome().mark(), evaluation.name);
        if let Some(score) = evaluation.shown_score() {
            line += &format!(" {score:.2}");
        }
        let reason = evaluation.headline.as_ref().or(evaluation.error.as_ref());
        if let Some(reason) = reason {
            line += &format!(": {}", reason.lines().next().unwrap_or_default());
        }
    }
    // Verdicts are in the run file; a closed stdout stops nothing.
    let _ = writeln!(io::stdout(), "{}", render::painted(&render::one_line(&line)));
}

fn remark(remark: Remark) {
    match remark {
        Remark::Refused(status, message) => {
            render::warning(&render::one_line(&format!(
                "a request was refused ({status}): {message}"
            )));
        }
        Remark::Rejected(spans, reason) => render::warning(&render::one_line(&format!(
            "{} rejected: {reason}",
            render::counted(spans as u64, "span")
        ))),
        Remark::Late(trace_id) => render::warning(&format!(
            "spans of trace {trace_id} came after it was judged; it is judged again"
        )),
        Remark::CutOff(bytes) => render::warning(&format!(
            "the trace file ended in {} of a line that was cut off, and was never accepted; they are removed",
            render::counted(bytes, "byte")
        )),
    }
}

/// Writes the last lines. Returns the exit code.
fn finish(received: &Received, args: &ReceiveArgs) -> Result<u8, u8> {
    let Received { report, open, split, again, ended, .. } = received;
    if let Some(refusal) = &report.refusal {
        return Err(unusable(refusal));
    }
    report.errors.iter().for_each(|error| render::warning(&render::one_line(error)));
    if report.unsaved || report.unreliable > 0 || !report.errors.is_empty() {
        return Err(exit::ERRORED);
    }
    let judged = render::counted(report.conversations.len() as u64, "conversation");
    let again = match again {
        0 => String::new(),
        again => format!(", {again} of them again"),
    };
    let open = match open {
        0 => String::new(),
        open => format!("; {} not finished", render::counted(*open as u64, "conversation")),
    };
    if *split > 0 {
        render::warning(&format!(
            "{} judged before their sessions were named, and have results that do not count; `evaluator run {} --resume --save-run {}` \
             judges the conversations as a whole",
            render::counted(*split as u64, "trace"),
            args.traces.display(),
            args.save_run.display()
        ));
    }
    render::note(&format!(
        "{judged} judged{again}{open}; nothing is decided before `evaluator report {}`",
        args.save_run.display()
    ));
    match ended {
        Ended::Finished => Ok(exit::OK),
        Ended::CutShort => Err(broken("some requests were not answered")),
    }
}
