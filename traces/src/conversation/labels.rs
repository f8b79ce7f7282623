//! Values of attributes that distinguish conversations: keys of cases, clusters and slices.

use super::{
    Conversation, Group, Labels,
    convention::keys::{AGENT_NAME, REQUEST_MODEL},
    group::name,
};
use crate::{
    json::Value,
    trace::{Span, Trace},
};

/// Maximum number of values of an attribute that are read.
const VALUES: usize = 16;

impl Conversation {
    /// Returns the values of attributes in the traces of the conversation, those of the earliest span first. Values on spans
    /// precede those on resources, which are read if no span has the attribute.
    ///
    /// The names of models and agents are found in all conventions, under their names in the GenAI conventions.
    pub fn find_labels<'k>(
        &self,
        group: &Group<'_>,
        attributes: impl IntoIterator<Item = &'k str>,
    ) -> Labels {
        let mut spans: Vec<&Span> = group.members().iter().flat_map(|it| &it.spans).collect();
        spans.sort_by(|a, b| (a.start_ns, &a.span_id).cmp(&(b.start_ns, &b.span_id)));
        let found = attributes.into_iter().filter_map(|attribute| {
            let on_spans = spans.iter().filter_map(|span| span.attributes.get(attribute));
            let on_resources = spans.iter().filter_map(|span| span.resource.get(attribute));
            let mut values = different(on_spans.flat_map(label_values));
            if values.is_empty() {
                values = different(on_resources.flat_map(label_values));
            }
            if values.is_empty() {
                values = self.known_by_conventions(attribute);
            }
            (!values.is_empty()).then(|| (attribute.to_owned(), values))
        });
        found.collect()
    }

    /// Returns the names of models or agents, which other conventions have under other names.
    fn known_by_conventions(&self, attribute: &str) -> Vec<String> {
        match attribute {
            REQUEST_MODEL => {
                let calls = self.turns.iter().flat_map(|turn| &turn.llm_calls);
                let model =
                    calls.filter_map(|it| it.request_model.as_ref().or(it.response_model.as_ref()));
                different(model.cloned())
            }
            AGENT_NAME => different(self.turns.iter().filter_map(|turn| turn.agent_name.clone())),
            _ => Vec::new(),
        }
    }
}

/// Returns the names of all attributes of the spans and resources of traces.
pub fn attribute_names<'t>(
    traces: impl IntoIterator<Item = &'t Trace>,
) -> impl Iterator<Item = &'t str> {
    let spans = traces.into_iter().flat_map(|trace| &trace.spans);
    spans.flat_map(|span| span.attributes.keys().chain(span.resource.keys()).map(|key| &**key))
}

/// Returns the values, each once.
fn different(values: impl Iterator<Item = String>) -> Vec<String> {
    let mut found = Vec::new();
    for value in values {
        if found.len() == VALUES {
            break;
        }
        if !found.contains(&value) {
            found.push(value);
        }
    }
    found
}

/// Returns the values that name something: texts as those that name conversations, truth values, and those in a list.
pub fn label_values(value: &Value) -> Vec<String> {
    match value {
        Value::Bool(value) => vec![value.to_string()],
        Value::Array(items) => items.iter().take(VALUES).filter_map(name).collect(),
        value => name(value).into_iter().collect(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::conversation::{Conventions, extract_group, testing::Recording};

    fn labels(trace: &Trace, attribute: &str) -> Vec<String> {
        let group = Group::new(vec![trace]);
        let conversation = extract_group(&group, Conventions::built_in());
        conversation.find_labels(&group, [attribute]).remove(attribute).unwrap_or_default()
    }

    #[test]
    fn the_earliest_span_counts_first_and_spans_before_resources() {
        let trace = Recording::default()
            .with_resource(json!({"tenant": "resource", "service.name": "shop"}))
            .span((1, 0), "late", (20, 30), json!({"tenant": "b", "tier": true}))
            .span((2, 0), "early", (10, 30), json!({"tenant": "a", "tags": ["x", 1, ""]}))
            .span((3, 0), "last", (40, 50), json!({"tenant": "a"}))
            .trace();
        assert_eq!(labels(&trace, "tenant"), ["a", "b"]);
        assert_eq!(labels(&trace, "service.name"), ["shop"]);
        assert_eq!(labels(&trace, "tier"), ["true"]);
        assert_eq!(labels(&trace, "tags"), ["x", "1"]);
        assert_eq!(labels(&trace, "other"), Vec::<String>::new());
    }

    #[test]
    fn a_span_of_many_values_has_the_first_ones() {
        let many: Vec<usize> = (0..40).collect();
        let trace = Recording::default().span((1, 0), "a", (1, 2), json!({"ids": many})).trace();
        assert_eq!(labels(&trace, "ids").len(), VALUES);
    }

    #[test]
    fn models_of_other_conventions_have_the_name_of_the_genai_conventions() {
        let trace = Recording::default().span(
            (1, 0),
            "call",
            (1, 2),
            json!({"openinference.span.kind": "LLM", "llm.model_name": "small",
                "llm.input_messages.0.message.role": "user", "llm.input_messages.0.message.content": "hi"}),
        ).trace();
        assert_eq!(labels(&trace, "gen_ai.request.model"), ["small"]);
    }
}
