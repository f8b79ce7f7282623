//! One HTTP/1.1 request over one connection to this machine.
//!
//! Requests go to a proxy on the loopback interface: JSON both ways, one request for each connection (the proxy closes it).
//! Responses have a `Content-Length`, chunks or neither, and may be preceded by interim responses. Redirects are not
//! followed, nothing is compressed, no proxy variable of the environment is read and no name is looked up, so the token is
//! sent nowhere else. Every part has a size limit.
//!
//! HTTP is implemented here because little of it is needed: one request per connection, to a proxy on this machine. A
//! library would bring proxies, redirects and name resolution, and the token must not be sent anywhere else.

use std::{
    io::{self, BufRead, BufReader, ErrorKind, Read, Write},
    net::TcpStream,
    time::{Duration, Instant},
};

use super::{
    error::{TargetError, excerpt},
    proxy::Proxy,
};

/// The longest wait for a connection, which on one machine is there at once or never.
const CONNECT: Duration = Duration::from_secs(5);

/// A request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Call<'a> {
    pub(super) method: &'static str,
    pub(super) path: &'static str,
    /// JSON.
    pub(super) body: Option<&'a str>,
    /// How long all of it may take.
    pub(super) timeout: Duration,
    /// The most bytes of the answer.
    pub(super) max_reply: usize,
}

/// Asks, and reads the answer whole.
pub(super) fn exchange(proxy: &Proxy, call: Call<'_>) -> Result<Response, TargetError> {
    let failed = |error: io::Error| match error.kind() {
        // The error of a socket that times out depends on the system.
        ErrorKind::TimedOut | ErrorKind::WouldBlock => TargetError::Timeout { after: call.timeout },
        _ => TargetError::Connection { reason: error.to_string() },
    };
    // A timeout beyond the range of the clock is no limit.
    let deadline = Instant::now().checked_add(call.timeout);
    let mut connection = Connection { stream: connect(proxy, deadline).map_err(failed)?, deadline };
    // A proxy may respond before it has read everything, and close the connection. A response therefore takes precedence.
    let sent = connection.write_all(request(proxy, call).as_bytes());
    match Response::read(&mut BufReader::new(&mut connection), call.max_reply) {
        Ok(response) => Ok(response),
        Err(ReadError::Wrong(error)) => Err(error),
        Err(ReadError::Io(error)) => Err(failed(sent.err().unwrap_or(error))),
    }
}

fn connect(proxy: &Proxy, deadline: Option<Instant>) -> io::Result<TcpStream> {
    let mut last = None;
    for address in &proxy.addresses {
        let wait = remaining(deadline)?.map_or(CONNECT, |left| left.min(CONNECT));
        match TcpStream::connect_timeout(address, wait) {
            Ok(stream) => {
                // The whole request is one write, so delaying it has no use.
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

fn request(proxy: &Proxy, call: Call<'_>) -> String {
    let Proxy { host, token, .. } = proxy;
    let mut text = format!(
        "{} {} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\nAccept: application/json\r\nConnection: close\r\n",
        call.method, call.path
    );
    if let Some(body) = call.body {
        text += &format!("Content-Type: application/json\r\nContent-Length: {}\r\n", body.len());
    }
    text + "\r\n" + call.body.unwrap_or_default()
}

/// A connection whose every read and write has a limit, so that the deadline also holds for an answer that arrives slowly.
struct Connection {
    stream: TcpStream,
    /// `None` for no limit.
    deadline: Option<Instant>,
}

/// Returns the remaining time; `None` without a limit.
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

/// The most bytes of a status line with its headers, or of the trailers behind the chunks.
const MAX_HEAD: usize = 64 * 1024;
/// The most bytes of the line before a chunk.
const MAX_CHUNK_LINE: usize = 4 * 1024;
/// Bytes of the line feed and carriage return behind a chunk.
const CHUNK_END: usize = 2;
/// The most interim responses (status 1xx) before the real one.
const MAX_INTERIM: usize = 8;

/// A response, read whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Response {
    pub(super) status: u16,
    pub(super) body: Vec<u8>,
}

/// Error: there is no response.
#[derive(Debug)]
pub(super) enum ReadError {
    /// The connection.
    Io(io::Error),
    /// The response.
    Wrong(TargetError),
}

impl From<io::Error> for ReadError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

fn wrong(reason: impl Into<String>) -> ReadError {
    ReadError::Wrong(TargetError::protocol(reason))
}

impl Response {
    /// Reads a response whose body has at most `limit` bytes.
    pub(super) fn read(from: &mut impl BufRead, limit: usize) -> Result<Self, ReadError> {
        for _ in 0..=MAX_INTERIM {
            let head = Head::read(from)?;
            if (100..200).contains(&head.status) {
                continue;
            }
            let body = match (head.status, head.framing) {
                (204 | 304, _) => Vec::new(),
                (_, Framing::Chunked) => chunks(from, limit)?,
                (_, Framing::Length(length)) => {
                    let mut body = Vec::new();
                    append(from, &mut body, length, limit)?;
                    body
                }
                (_, Framing::UntilEnd) => until_end(from, limit)?,
            };
            return Ok(Self { status: head.status, body });
        }
        Err(wrong(format!("more than {MAX_INTERIM} interim responses")))
    }
}

/// How the end of a body is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Framing {
    Chunked,
    Length(u64),
    UntilEnd,
}

struct Head {
    status: u16,
    framing: Framing,
}

impl Head {
    fn read(from: &mut impl BufRead) -> Result<Self, ReadError> {
        let mut room = MAX_HEAD;
        let status = status(&line(from, &mut room)?)?;
        let mut length = None;
        let mut chunked = false;
        loop {
            let line = line(from, &mut room)?;
            if line.is_empty() {
                break;
            }
            let colon = line.iter().position(|byte| *byte == b':');
            let (name, value) = match colon {
                // A line that begins with a space would continue the line before, an obsolete form.
                Some(colon) if colon > 0 && !line[0].is_ascii_whitespace() => {
                    (&line[..colon], line[colon + 1..].trim_ascii())
                }
                _ => return Err(wrong(format!("a header without a name: `{}`", text(&line)))),
            };
            if name.eq_ignore_ascii_case(b"content-length") {
                let value = number(value, 10)
                    .filter(|value| length.is_none_or(|other| other == *value))
                    .ok_or_else(|| wrong(format!("a wrong Content-Length: `{}`", text(value))))?;
                length = Some(value);
            } else if name.eq_ignore_ascii_case(b"transfer-encoding") {
                if !value.eq_ignore_ascii_case(b"chunked") || chunked {
                    return Err(wrong(format!(
                        "Transfer-Encoding `{}`, which was not asked for",
                        text(value)
                    )));
                }
                chunked = true;
            } else if name.eq_ignore_ascii_case(b"content-encoding")
                && !value.eq_ignore_ascii_case(b"identity")
            {
                return Err(wrong(format!(
                    "Content-Encoding `{}`, which was not asked for",
                    text(value)
                )));
            }
        }
        let framing = match (chunked, length) {
            (true, _) => Framing::Chunked,
            (false, Some(length)) => Framing::Length(length),
            (false, None) => Framing::UntilEnd,
        };
        Ok(Self { status, framing })
    }
}

/// Parses `HTTP/1.1 200 OK`, with or without the reason phrase.
fn status(line: &[u8]) -> Result<u16, ReadError> {
    let unknown = || wrong(format!("it does not begin with an HTTP status: `{}`", text(line)));
    let rest = line
        .strip_prefix(b"HTTP/1.1 ")
        .or_else(|| line.strip_prefix(b"HTTP/1.0 "))
        .ok_or_else(unknown)?;
    let (digits, words) = rest.split_at_checked(3).ok_or_else(unknown)?;
    if !(words.is_empty() || words[0] == b' ') {
        return Err(unknown());
    }
    number(digits, 10)
        .and_then(|status| u16::try_from(status).ok())
        .filter(|status| (100..600).contains(status))
        .ok_or_else(unknown)
}

/// Returns a body that ends with the connection.
fn until_end(from: &mut impl BufRead, limit: usize) -> Result<Vec<u8>, ReadError> {
    let mut body = Vec::new();
    // One more byte shows if the body exceeds the limit.
    from.take((limit as u64).saturating_add(1)).read_to_end(&mut body)?;
    if body.len() > limit { Err(too_large(limit)) } else { Ok(body) }
}

/// Returns a body in chunks, with the trailers behind them.
fn chunks(from: &mut impl BufRead, limit: usize) -> Result<Vec<u8>, ReadError> {
    let mut body = Vec::new();
    loop {
        let mut room = MAX_CHUNK_LINE;
        let size = line(from, &mut room)?;
        // Extensions may follow, none of which changes the chunk.
        let digits = size.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
        let length = number(digits, 16)
            .ok_or_else(|| wrong(format!("a wrong size of a chunk: `{}`", text(&size))))?;
        if length == 0 {
            let mut room = MAX_HEAD;
            while !line(from, &mut room)?.is_empty() {}
            return Ok(body);
        }
        append(from, &mut body, length, limit)?;
        let mut room = CHUNK_END;
        match line(from, &mut room) {
            Ok(rest) if rest.is_empty() => {}
            Err(ReadError::Io(error)) => return Err(error.into()),
            _ => return Err(wrong("a chunk is longer than its size says")),
        }
    }
}

/// Reads exactly `length` more bytes. Memory grows with the bytes received, not with the announced length.
fn append(
    from: &mut impl BufRead,
    body: &mut Vec<u8>,
    length: u64,
    limit: usize,
) -> Result<(), ReadError> {
    let room = (limit - body.len()) as u64;
    if length > room {
        return Err(too_large(limit));
    }
    let read = from.take(length).read_to_end(body)? as u64;
    if read < length { Err(cut_off()) } else { Ok(()) }
}

/// Reads a line and returns it without its line feed and carriage return. `room` is the number of bytes that may still be read.
fn line(from: &mut impl BufRead, room: &mut usize) -> Result<Vec<u8>, ReadError> {
    let mut line = Vec::new();
    let read = from.take(*room as u64).read_until(b'\n', &mut line)?;
    *room -= read;
    if line.last() == Some(&b'\n') {
        let end = line.len() - if line.ends_with(b"\r\n") { 2 } else { 1 };
        line.truncate(end);
        return Ok(line);
    }
    if *room == 0 {
        return Err(wrong(format!("a line or a head without an end: `{}`", text(&line))));
    }
    Err(cut_off())
}

fn cut_off() -> ReadError {
    io::Error::new(ErrorKind::UnexpectedEof, "it was closed before the end of the answer").into()
}

fn too_large(limit: usize) -> ReadError {
    ReadError::Wrong(TargetError::ReplyTooLarge { limit })
}

/// Digits and nothing else, where `parse` would take a sign.
fn number(digits: &[u8], radix: u32) -> Option<u64> {
    let plain = digits.iter().all(u8::is_ascii_hexdigit);
    let text = std::str::from_utf8(digits).ok().filter(|_| plain)?;
    u64::from_str_radix(text, radix).ok()
}

fn text(bytes: &[u8]) -> String {
    excerpt(&String::from_utf8_lossy(bytes))
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use super::*;

    /// Gives its bytes away in pieces of this size.
    struct Pieces<'a>(&'a [u8], usize);

    impl Read for Pieces<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let length = self.1.min(buffer.len());
            (&mut self.0).take(length as u64).read(buffer)
        }
    }

    /// Reads a response, in pieces of several sizes.
    #[track_caller]
    fn read(bytes: &[u8], limit: usize) -> Result<Response, String> {
        let once = |pieces: usize, buffer: usize| {
            let mut from = BufReader::with_capacity(buffer, Pieces(bytes, pieces));
            Response::read(&mut from, limit).map_err(|error| match error {
                ReadError::Io(error) => error.to_string(),
                ReadError::Wrong(error) => error.to_string(),
            })
        };
        let whole = once(usize::MAX, 8192);
        for (pieces, buffer) in [(1, 1), (1, 8192), (2, 3), (3, 2), (7, 5), (8192, 1)] {
            assert_eq!(once(pieces, buffer), whole, "in pieces of {pieces}, buffered by {buffer}");
        }
        whole
    }

    fn ok(body: &str) -> Result<Response, String> {
        Ok(Response { status: 200, body: body.as_bytes().to_vec() })
    }

    #[test]
    fn bodies_come_in_chunks_with_a_length_or_until_the_end() {
        for response in [
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n",
            "HTTP/1.1 200 OK\r\ntransfer-encoding:CHUNKED\r\n\r\n03;x=\"y\"\r\nabc\r\n2 \r\nde\r\n0\r\nA: b\r\n\r\n",
            "HTTP/1.1 200\nTransfer-Encoding: chunked\n\n5\nabcde\n0\n\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabcde and more",
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\ncontent-length: 5\r\n\r\nabcde",
            "HTTP/1.1 200 OK\r\nContent-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n0\r\n\r\n",
            "HTTP/1.0 200 OK\r\n\r\nabcde",
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nA: b\r\n\r\nHTTP/1.1 200 OK\r\n\r\nabcde",
        ] {
            assert_eq!(read(response.as_bytes(), 5), ok("abcde"), "{response}");
        }
        let empty = "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n";
        assert_eq!(read(empty.as_bytes(), 5), Ok(Response { status: 204, body: Vec::new() }));
    }

    #[test]
    fn every_cut_is_noticed_where_the_length_is_known() {
        for response in [
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\nA: b\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabcde",
        ] {
            for end in 0..response.len() {
                let message = read(&response.as_bytes()[..end], 5).unwrap_err();
                let expected = "it was closed before the end of the answer";
                assert_eq!(message, expected, "{:?}", &response[..end]);
            }
        }
    }

    #[test]
    fn bodies_beyond_the_limit_are_refused() {
        for response in [
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n3\r\ndef\r\n0\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\nabc",
            "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nabcdef",
            "HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551615\r\n\r\nabcdef",
            "HTTP/1.1 200 OK\r\n\r\nabcdef",
        ] {
            let message = read(response.as_bytes(), 5).unwrap_err();
            assert_eq!(message, "the target's answer is larger than 5 bytes", "{response}");
        }
    }

    #[test]
    fn what_is_not_http_is_told_from_what_is() {
        let long = format!("HTTP/1.1 200 OK\r\nA: {}", "x".repeat(MAX_HEAD));
        let interim = "HTTP/1.1 100 Continue\r\n\r\n".repeat(MAX_INTERIM + 1);
        let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
        let endless = format!("{chunked}5;{}", "x".repeat(MAX_CHUNK_LINE));
        for (response, reason) in [
            ("SSH-2.0-OpenSSH_9.9\r\n", "an HTTP status: `SSH-2.0-OpenSSH_9.9`"),
            ("\r\n", "an HTTP status: ``"),
            ("HTTP/2 200\r\n", "an HTTP status"),
            ("HTTP/1.1 2000 OK\r\n", "an HTTP status"),
            ("HTTP/1.1 999 OK\r\n", "an HTTP status"),
            ("HTTP/1.1 +20 OK\r\n", "an HTTP status"),
            ("HTTP/1.1 20\r\n", "an HTTP status"),
            ("HTTP/1.1 200 OK\r\nno colon\r\n", "header without a name: `no colon`"),
            ("HTTP/1.1 200 OK\r\n: x\r\n", "header without a name"),
            ("HTTP/1.1 200 OK\r\nA: b\r\n c: d\r\n", "header without a name"),
            ("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n", "Content-Length: `-1`"),
            ("HTTP/1.1 200 OK\r\nContent-Length:\r\n", "Content-Length: ``"),
            ("HTTP/1.1 200 OK\r\nContent-Length: 0x5\r\n", "Content-Length"),
            (
                "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n",
                "Content-Length: `2`",
            ),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n", "`gzip, chunked`"),
            ("HTTP/1.1 200 OK\r\nContent-Encoding: br\r\n", "`br`"),
            (&format!("{chunked}xyz\r\n"), "size of a chunk: `xyz`"),
            (&format!("{chunked}\r\n"), "size of a chunk: ``"),
            (&format!("{chunked}-1\r\n"), "size of a chunk"),
            (&format!("{chunked}10000000000000000\r\n"), "size of a chunk"),
            (&format!("{chunked}3\r\nabcd\r\n0\r\n\r\n"), "longer than its size"),
            (&endless, "a line or a head without an end"),
            (&long, "a line or a head without an end"),
            (&interim, "more than 8 interim responses"),
        ] {
            let message = read(response.as_bytes(), 100).unwrap_err();
            assert!(message.contains(reason), "{response:.60}: {message}");
        }
        assert!(read(&[0xff; 100_000], 100).unwrap_err().contains("without an end"));
    }
}
