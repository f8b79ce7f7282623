//! The request that exports traces by OTLP.
//!
//! One in JSON stays as it is, down to its spans, so that nothing is lost that this program does not know. One in protobuf is
//! written as JSON first.

mod json;
mod protobuf;

use serde_json::value::RawValue;

pub(crate) use self::{
    json::{Members, hex},
    protobuf::{numbered, push_bytes},
};

/// The spans of a request that have one resource. Objects and spans are JSON.
#[derive(Debug)]
pub(crate) struct OfResource {
    /// The members of the object but its scopes.
    pub(crate) members: Members,
    pub(crate) scopes: Vec<OfScope>,
}

/// The spans of a resource that have one scope.
#[derive(Debug)]
pub(crate) struct OfScope {
    /// The members of the object but its spans.
    pub(crate) members: Members,
    pub(crate) spans: Vec<Box<RawValue>>,
}

/// Reads a request in JSON. An empty one has no spans.
///
/// # Errors
///
/// It is not such a request. Unknown members are permitted, but a document that has nothing else is another one.
pub(crate) fn from_json(body: &[u8]) -> Result<Vec<OfResource>, String> {
    let mut request: Members = serde_json::from_slice(body).map_err(|error| error.to_string())?;
    if !request.is_empty() && !request.has("resourceSpans") {
        return Err("missing field `resourceSpans`".to_owned());
    }
    let resource = |mut members: Members| {
        let scope = |mut members: Members| {
            let spans = members.take_list("spans")?;
            members.check_object("scope")?;
            Ok(OfScope { members, spans })
        };
        let scopes = members.take_list("scopeSpans")?.into_iter().map(scope);
        let scopes = scopes.collect::<Result<_, String>>()?;
        members.check_object("resource")?;
        Ok(OfResource { members, scopes })
    };
    request.take_list("resourceSpans")?.into_iter().map(resource).collect()
}

/// Reads a request in protobuf. Returns also why spans of it cannot be decoded.
///
/// # Errors
///
/// It is not such a request.
pub(crate) fn from_protobuf(body: &[u8]) -> Result<(Vec<OfResource>, Vec<String>), String> {
    let (text, undecoded) = protobuf::to_json(body)?;
    Ok((from_json(text.as_bytes())?, undecoded))
}
