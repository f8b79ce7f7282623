//! `evaluator serve`, for hosts that ask over HTTP.

use std::{
    fs,
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use crate::interop::place::{self, Place};

/// Time after which a server that does not listen counts as hanging.
const TIME_LIMIT: Duration = Duration::from_secs(60);

/// A server; it ends with this.
#[derive(Debug)]
pub(super) struct Server {
    child: Child,
    /// Without a slash at its end.
    pub(super) url: String,
}

impl Server {
    /// Serves the evaluators of a configuration.
    pub(super) fn start(config: &Path, place: &Place) -> Self {
        let log = config.with_extension("log");
        let mut command: Command = place.command(place::program("evaluator"));
        command.args(["serve", "--addr", "127.0.0.1:0", "-c"]).arg(config);
        command.stdin(Stdio::null()).stdout(Stdio::null());
        let child = command.stderr(fs::File::create(&log).unwrap()).spawn().unwrap();
        let mut server = Self { child, url: String::new() };
        let start = Instant::now();
        while start.elapsed() < TIME_LIMIT && server.child.try_wait().unwrap().is_none() {
            let said = fs::read_to_string(&log).unwrap();
            let url = said.split_once("listening on ").and_then(|(_, rest)| rest.split_once(' '));
            if let Some((url, _)) = url {
                server.url = url.to_owned();
                return server;
            }
            thread::sleep(Duration::from_millis(20));
        }
        panic!("{command:?} does not listen: {}", fs::read_to_string(&log).unwrap());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // No result depends on it any more.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
