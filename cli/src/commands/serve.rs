//! `evaluator serve`.

use std::{env, fs, net::SocketAddr, path::Path, pin::pin, time::Duration};

use evaluator_host::{
    config::{CodeConfig, Config},
    process::Cancellation,
    run::{RunEvent, Runner},
};
use evaluator_serve::{Access, Ended, Offered, ServeError, Server, Service, Settings, Token};

use super::{
    broken, bundle, discovery, ensure_contained, ensure_runnable, load_config, settings_of_paths,
    unusable, unusable_config, watched,
};
use crate::{args::ServeArgs, exit, render, signals};

/// Environment variable with the token. A command line is visible to all users of the machine.
const TOKEN: &str = "EVALUATOR_SERVE_TOKEN";

/// Prepares evaluators, then serves them until a signal stops the server.
pub(super) fn serve(args: &ServeArgs, verbose: u8, mut runner: Runner) -> Result<u8, u8> {
    let settings = settings(args, &runner).map_err(unusable)?;
    let config = match args.config.clone() {
        None if args.paths.is_empty() => {
            Some(discovery::required(None, "name evaluators, or a configuration with -c")?)
        }
        config => config,
    };
    bundle::open(config.as_deref(), &mut runner)?;
    let config = load_config(config.as_deref(), &runner)?;
    ensure_contained(args.contain, &config, &runner)?;
    let mut programs = settings_of_paths(args.contain, &config);
    programs.timeout = Duration::from_secs(args.timeout);
    ensure_runnable(&config, verbose)?;
    runner.locked = args.locked;
    runner.run_file = None;
    runner.jobs = args.jobs.unwrap_or(runner.jobs);
    // Metrics that ask models are not served.
    let mut asking = config.clone();
    asking.evaluators.retain(|evaluator| evaluator.models().is_some());
    let session = runner.judges(&asking).map_err(unusable_config)?;
    runner.session = Some(session.clone());
    let stop = Cancellation::new();
    signals::watch_serving(stop.clone());
    let served = watched(verbose, async |on_event| {
        let service = prepare(args, &config, &programs, &runner, &stop, on_event).await?;
        listen(args.addr, settings, service, &runner, &stop, verbose).await
    });
    session.cancel();
    let summary = session.finish();
    summary.warnings.iter().for_each(|warning| render::warning(&render::one_line(warning)));
    if let Some(error) = summary.errors.first() {
        return Err(broken(error));
    }
    match served?? {
        Ended::Finished => Ok(exit::OK),
        Ended::CutShort => {
            Err(broken("some documents were not answered: they took longer than --grace"))
        }
    }
}

/// Builds, starts and inspects everything before the first request.
async fn prepare(
    args: &ServeArgs,
    config: &Config,
    programs: &CodeConfig,
    runner: &Runner,
    stop: &Cancellation,
    on_event: &mut dyn FnMut(RunEvent),
) -> Result<Service, u8> {
    let mut preparing = pin!(Service::new(config, &args.paths, programs, runner, on_event));
    let prepared = tokio::select! {
        prepared = &mut preparing => prepared,
        () = stop.cancelled() => {
            runner.cancellation.cancel();
            preparing.await
        }
    };
    if stop.is_cancelled() {
        return Err(broken("stopped before anything was served"));
    }
    let service = match prepared {
        Ok(service) => service,
        Err(problems) => {
            problems.iter().for_each(|problem| render::message(&problem.to_string()));
            return Err(exit::USAGE);
        }
    };
    service.passed_over().iter().for_each(|passed_over| render::warning(passed_over));
    if service.offered().len() == 0 {
        return Err(unusable("there is no evaluator to serve"));
    }
    for offered in service.offered().filter(|offered| !offered.takes_all_contracts()) {
        let Offered { name, contract, .. } = offered;
        render::note(&format!("{name} takes only documents of its contract, {contract}"));
    }
    Ok(service)
}

/// Listens for requests, and serves them until `stop` is cancelled.
async fn listen(
    address: SocketAddr,
    settings: Settings,
    service: Service,
    runner: &Runner,
    stop: &Cancellation,
    verbose: u8,
) -> Result<Ended, u8> {
    let server = Server::bind(address, settings).await.map_err(broken)?;
    let names: Vec<&str> = service.offered().map(|offered| offered.name.as_str()).collect();
    let what = names.join(", ");
    render::note(&format!("listening on http://{} ({what})", server.address()));
    let on_access = move |access: &Access| log(access, verbose);
    Ok(server.run(service, stop, &runner.cancellation, on_access).await)
}

/// Reports failed requests; with `-v`, all requests.
fn log(access: &Access, verbose: u8) {
    let is_broken = access.status.is_some_and(|status| status >= 500);
    if verbose == 0 && !is_broken {
        return;
    }
    render::access(access, is_broken);
    if verbose > 1 {
        access.remarks.stderr.lines().for_each(|line| {
            render::remark(&format!("  | {}", render::one_line(line)));
        });
    }
}

fn settings(args: &ServeArgs, runner: &Runner) -> Result<Settings, String> {
    let jobs = args.jobs.unwrap_or(runner.jobs).get();
    let settings = Settings {
        places: jobs.saturating_add(args.queue),
        body_limit: usize::from(args.max_body) << 20,
        read_timeout: Duration::from_secs(args.read_timeout),
        grace: Duration::from_secs(args.grace),
        hosts: args.allow_host.clone(),
        base_path: args.base_path.clone(),
        token: server_token(args.token_file.as_deref(), TOKEN)?,
        ..Settings::default()
    };
    match settings.allow(args.addr) {
        Ok(()) => Ok(settings),
        Err(error @ ServeError::Open { .. }) => Err(format!(
            "{error}; write a token to a file for --token-file, or to the variable {TOKEN}"
        )),
        Err(error) => Err(error.to_string()),
    }
}

/// Returns the token from the file, else from the environment variable.
pub(super) fn server_token(file: Option<&Path>, variable: &str) -> Result<Option<Token>, String> {
    let (text, origin) = match file {
        Some(file) => {
            let text = fs::read_to_string(file)
                .map_err(|error| format!("cannot read {}: {error}", file.display()))?;
            (text, file.display().to_string())
        }
        None => match env::var(variable) {
            Ok(text) => (text, variable.to_owned()),
            Err(env::VarError::NotPresent) => return Ok(None),
            Err(env::VarError::NotUnicode(_)) => return Err(format!("{variable} is not UTF-8")),
        },
    };
    Token::new(&text).map(Some).map_err(|error| format!("{origin}: {error}"))
}
