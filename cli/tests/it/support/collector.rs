//! A collector of OTLP over HTTP, and just enough protobuf to read what it is sent.

use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
};

use serde_json::{Value, json};

/// Answers every request with the same status, as long as the test lasts.
#[derive(Debug)]
pub(crate) struct Collector {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<Request>>>,
}

#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) path: String,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Vec<u8>,
}

impl Collector {
    pub(crate) fn answering(status: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Arc::default();
        let seen = Arc::clone(&requests);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                serve(stream, status, &seen);
            }
        });
        Self { address, requests }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }
}

fn serve(stream: TcpStream, status: &str, seen: &Mutex<Vec<Request>>) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let path = line.split(' ').nth(1)?.to_owned();
    let mut headers = BTreeMap::new();
    loop {
        line.clear();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim().split_once(':') else { break };
        headers.insert(name.to_lowercase(), value.trim().to_owned());
    }
    let mut body = vec![0; headers.get("content-length")?.parse().ok()?];
    reader.read_exact(&mut body).ok()?;
    seen.lock().unwrap().push(Request { path, headers, body });
    let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 4\r\nconnection: close\r\n\r\nnope");
    let empty = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
    let answer = if status.starts_with('2') { empty } else { answer };
    (&stream).write_all(answer.as_bytes()).ok()
}

/// An export request in protobuf, with the names that the recorded ones have.
pub(crate) fn decoded(body: &[u8]) -> Value {
    let request = Message::read(body);
    let resource_logs = request.message(1);
    let scope_logs = resource_logs.message(2);
    let scope = scope_logs.message(1);
    let records: Vec<Value> = scope_logs
        .all(2)
        .map(|bytes| {
            let record = Message::read(bytes);
            json!({
                "event_name": record.text(12),
                "severity_number": record.number(2),
                "severity_text": record.text(3),
                "has_body": record.all(5).count() == 1,
                "trace_id": record.hex(9),
                "span_id": record.hex(10),
                "flags": record.number(8),
                "time_equals_observed": record.number(1) == record.number(11) && record.number(1) > 0,
                "attributes": attributes(&record, 6),
            })
        })
        .collect();
    json!({
        "resource": attributes(&resource_logs.message(1), 1),
        "scope": {"name": scope.text(1), "version": scope.text(2)},
        "records": records,
    })
}

fn attributes(message: &Message<'_>, field: u64) -> Value {
    message
        .all(field)
        .map(|bytes| {
            let entry = Message::read(bytes);
            let value = entry.message(2);
            let value = match value.fields.first() {
                Some((1, Field::Bytes(_))) => json!(value.text(1)),
                Some((4, Field::Number(bits))) => json!(f64::from_bits(*bits)),
                other => panic!("a value of another kind: {other:?}"),
            };
            (entry.text(1), value)
        })
        .collect()
}

#[derive(Debug)]
enum Field<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

/// The fields of a message, by number.
struct Message<'a> {
    fields: Vec<(u64, Field<'a>)>,
}

impl<'a> Message<'a> {
    fn read(mut rest: &'a [u8]) -> Self {
        fn take<'a>(rest: &mut &'a [u8], length: usize) -> &'a [u8] {
            let (taken, left) = rest.split_at(length);
            *rest = left;
            taken
        }
        fn varint(rest: &mut &[u8]) -> u64 {
            let mut number = 0;
            for shift in (0..).step_by(7) {
                let byte = take(rest, 1)[0];
                number |= u64::from(byte & 0x7f) << shift;
                if byte < 0x80 {
                    break;
                }
            }
            number
        }
        let mut fields = Vec::new();
        while !rest.is_empty() {
            let tag = varint(&mut rest);
            let field = match tag & 7 {
                0 => Field::Number(varint(&mut rest)),
                1 => Field::Number(u64::from_le_bytes(take(&mut rest, 8).try_into().unwrap())),
                2 => {
                    let length = varint(&mut rest);
                    Field::Bytes(take(&mut rest, length as usize))
                }
                5 => {
                    Field::Number(u32::from_le_bytes(take(&mut rest, 4).try_into().unwrap()).into())
                }
                other => panic!("wire type {other}"),
            };
            fields.push((tag >> 3, field));
        }
        Self { fields }
    }

    fn all(&self, number: u64) -> impl Iterator<Item = &'a [u8]> {
        self.fields.iter().filter(move |(known, _)| *known == number).map(move |(_, field)| {
            match field {
                Field::Bytes(bytes) => *bytes,
                Field::Number(_) => panic!("field {number} is a number"),
            }
        })
    }

    fn message(&self, number: u64) -> Self {
        Self::read(self.all(number).next().unwrap_or_default())
    }

    fn text(&self, number: u64) -> String {
        String::from_utf8(self.all(number).next().unwrap_or_default().to_vec()).unwrap()
    }

    fn hex(&self, number: u64) -> String {
        self.all(number).flatten().map(|byte| format!("{byte:02x}")).collect()
    }

    fn number(&self, number: u64) -> u64 {
        let mut numbers = self.fields.iter().filter(|(known, _)| *known == number);
        match numbers.next() {
            Some((_, Field::Number(value))) => *value,
            _ => 0,
        }
    }
}
