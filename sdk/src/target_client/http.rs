//! One HTTP request over one connection to this machine.
//!
//! There is no library behind it, since what is needed is little: a proxy on the loopback interface, JSON both ways, one
//! request for each connection (the proxy closes it). No environment variable names a proxy for it, no name is looked up, and
//! no redirect is followed, so the token goes nowhere else.

use std::{
    io::{self, BufReader, ErrorKind, Read, Write},
    net::TcpStream,
    time::{Duration, Instant},
};

use super::{
    error::TargetError,
    response::{ReadError, Response},
    settings::Settings,
};

/// The longest wait for a connection, which on one machine is there at once or never.
const CONNECT: Duration = Duration::from_secs(5);

/// What to ask.
#[derive(Clone, Copy, Debug)]
pub(super) struct Call<'a> {
    pub(super) method: &'static str,
    pub(super) path: &'static str,
    /// JSON.
    pub(super) body: Option<&'a [u8]>,
    /// How long all of it may take.
    pub(super) timeout: Duration,
    /// The most bytes of the answer.
    pub(super) max_reply: usize,
}

/// Asks, and reads the answer whole.
pub(super) fn exchange(settings: &Settings, call: Call<'_>) -> Result<Response, TargetError> {
    let failed = |error: io::Error| match error.kind() {
        // What a socket says when its time is over differs between systems.
        ErrorKind::TimedOut | ErrorKind::WouldBlock => TargetError::Timeout { after: call.timeout },
        _ => TargetError::Connection { reason: error.to_string() },
    };
    // A timeout beyond what the clock can count is none.
    let deadline = Instant::now().checked_add(call.timeout);
    let mut connection =
        Connection { stream: connect(settings, deadline).map_err(failed)?, deadline };
    // A proxy may answer before it has read everything, and close. So what it said counts, if it said anything.
    let sent = connection.write_all(&request(settings, call));
    match Response::read(&mut BufReader::new(&mut connection), call.max_reply) {
        Ok(response) => Ok(response),
        Err(ReadError::Wrong(error)) => Err(error),
        Err(ReadError::Io(error)) => Err(failed(sent.err().unwrap_or(error))),
    }
}

fn connect(settings: &Settings, deadline: Option<Instant>) -> io::Result<TcpStream> {
    let mut last = None;
    for address in &settings.addresses {
        let wait = remaining(deadline)?.map_or(CONNECT, |left| left.min(CONNECT));
        match TcpStream::connect_timeout(address, wait) {
            Ok(stream) => {
                // The whole request is one write; waiting for more of it helps nobody.
                stream.set_nodelay(true)?;
                return Ok(stream);
            }
            // The time for a connection is short, and its end no answer that came late.
            Err(error) => {
                remaining(deadline)?;
                last.get_or_insert(io::Error::other(format!("{address}: {error}")));
            }
        }
    }
    Err(last.unwrap_or_else(|| io::Error::new(ErrorKind::NotFound, "it has no address")))
}

fn request(settings: &Settings, call: Call<'_>) -> Vec<u8> {
    let Settings { host, token, .. } = settings;
    let mut text = format!(
        "{} {} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\nAccept: application/json\r\nConnection: close\r\n",
        call.method, call.path
    );
    if let Some(body) = call.body {
        text += &format!("Content-Type: application/json\r\nContent-Length: {}\r\n", body.len());
    }
    text += "\r\n";
    let mut bytes = text.into_bytes();
    bytes.extend_from_slice(call.body.unwrap_or_default());
    bytes
}

/// A connection whose every step waits for what is left of the time, so that an answer that trickles in cannot take longer.
struct Connection {
    stream: TcpStream,
    /// `None` for no limit.
    deadline: Option<Instant>,
}

/// What is left, `None` where nothing limits it.
fn remaining(deadline: Option<Instant>) -> io::Result<Option<Duration>> {
    let Some(deadline) = deadline else { return Ok(None) };
    match deadline.saturating_duration_since(Instant::now()) {
        // Which a socket would take for no limit.
        Duration::ZERO => Err(ErrorKind::TimedOut.into()),
        left => Ok(Some(left)),
    }
}

impl Read for Connection {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(remaining(self.deadline)?)?;
        self.stream.read(buffer)
    }
}

impl Write for Connection {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(remaining(self.deadline)?)?;
        self.stream.write(buffer)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}
