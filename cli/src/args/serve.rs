//! The arguments of `evaluator serve`.

use std::{
    net::{SocketAddr, ToSocketAddrs},
    num::NonZeroUsize,
    path::PathBuf,
};

use clap::{Args, value_parser};
use evaluator_host::serve::BasePath;

use super::existing;

pub(super) const EXIT_CODES: &str = "Exit codes: 0 stopped, and everything begun was answered; 2 usage error, or an evaluator cannot be made ready (nothing was served); 3 it could not listen, or some were not answered";

#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// Evaluators: source files, packages, folders with an evaluator.yaml, or executables
    #[arg(value_name = "PATH", value_parser = existing)]
    pub(crate) paths: Vec<PathBuf>,
    /// Configuration with more evaluators, whose `config` and `threshold` hold where a document says nothing (default, where
    /// no PATH is given: eval_config.yaml, .yml or .json of the working directory)
    #[arg(short, long, value_name = "FILE", value_parser = existing)]
    pub(crate) config: Option<PathBuf>,
    /// Where to listen; port 0 is any that is free
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:8700", value_parser = address)]
    pub(crate) addr: SocketAddr,
    /// File with the token that requests have to bear (default: $EVALUATOR_SERVE_TOKEN); needed where others than this machine
    /// can ask
    #[arg(long, value_name = "FILE", value_parser = existing)]
    pub(crate) token_file: Option<PathBuf>,
    /// Name by which requests may ask for this server where there is no token, beside localhost and addresses; may be given more
    /// than once
    #[arg(long, value_name = "HOST", value_parser = host)]
    pub(crate) allow_host: Vec<String>,
    /// Path below which everything is served as well, e.g. /api, for proxies that keep their prefix
    #[arg(long, value_name = "PATH")]
    pub(crate) base_path: Option<BasePath>,
    /// Evaluations at a time (default: one per processor)
    #[arg(short, long, value_name = "N")]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// Documents that may wait beside; those beyond are refused with 429
    #[arg(long, value_name = "N", default_value_t = 64)]
    pub(crate) queue: usize,
    /// MiB that a document may have
    #[arg(long, value_name = "MIB", default_value = "10", value_parser = value_parser!(u16).range(1..=1024))]
    pub(crate) max_body: u16,
    /// Seconds an evaluator named by its path may take for one document; those of the configuration say it themselves
    #[arg(long, value_name = "S", default_value = "30", value_parser = value_parser!(u64).range(1..=86_400))]
    pub(crate) timeout: u64,
    /// Seconds the head of a request may take, and its body
    #[arg(long, value_name = "S", default_value = "10", value_parser = value_parser!(u64).range(1..=3_600))]
    pub(crate) read_timeout: u64,
    /// Seconds that what was begun may still take after Ctrl-C or TERM
    #[arg(long, value_name = "S", default_value = "10", value_parser = value_parser!(u64).range(0..=3_600))]
    pub(crate) grace: u64,
    /// Refuse remote evaluators that are not pinned in evaluators.lock, instead of pinning them
    #[arg(long, visible_alias = "frozen")]
    pub(crate) locked: bool,
}

fn address(text: &str) -> Result<SocketAddr, String> {
    let found = text.to_socket_addrs().map_err(|error| format!("{error}; write HOST:PORT"))?;
    found.into_iter().next().ok_or_else(|| "this host has no address".to_owned())
}

fn host(text: &str) -> Result<String, String> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if text.is_empty() || !text.chars().all(is_name) {
        return Err("write the name alone, without a scheme or a port".to_owned());
    }
    Ok(text.to_owned())
}
