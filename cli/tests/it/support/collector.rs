//! A collector of OTLP over HTTP, and enough protobuf to read its requests.

use evaluator_test_support::server::{Server, response};
use serde_json::{Value, json};

/// Starts a collector that gives every request the same status.
pub(crate) fn collector(status: &str) -> Server {
    Server::always(response(status, &[], if status.starts_with('2') { "" } else { "nope" }))
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
