//! The instructions and the tools of an agent, as a span records them.

use crate::{
    conversation::{
        ToolDeclaration,
        message::{Message, is_placeholder, json_or_text, parts_of_content, text_of},
        recorded::parse_json,
    },
    json::{Object, Value, parse_literal},
};

/// The instructions and the tools of an agent, while conventions fill them.
///
/// What is filled is never replaced.
#[derive(Debug, Default)]
pub struct Setup {
    /// Text of the instructions, and the attribute or event from which it comes.
    pub(in crate::conversation) instructions: Option<(String, &'static str)>,
    /// Declarations of tools, and the attribute or event from which they come.
    pub(in crate::conversation) tools: Option<(Vec<ToolDeclaration>, &'static str)>,
}

impl Setup {
    /// Fills the instructions from a text, a list of parts, or Google's content object; a structure may be JSON text.
    pub fn fill_instructions(&mut self, value: Option<&Value>, source: &'static str) {
        if self.instructions.is_some() {
            return;
        }
        let structure = value.map(structure);
        let parts = structure.as_ref().map(parts_of_content).unwrap_or_default();
        if let Some(text) = text_of(&[Message::new("system", parts)]) {
            self.instructions = Some((text, source));
        }
    }

    /// Fills the tools from a list of declarations in the form of any provider, or of names. The list may be JSON text.
    pub fn fill_tools(&mut self, value: Option<&Value>, source: &'static str) {
        if self.tools.is_some() {
            return;
        }
        let list = match value.map(json_or_text) {
            Some(Value::String(text)) => parse_literal(&text),
            other => other,
        };
        let items = list.as_ref().and_then(Value::as_array).unwrap_or_default();
        let tools: Vec<ToolDeclaration> = items.iter().flat_map(declarations).collect();
        if !tools.is_empty() {
            self.tools = Some((tools, source));
        }
    }
}

/// Returns the structure in JSON text; other text stays text, and numbers and the like are what was written.
fn structure(value: &Value) -> Value {
    match value {
        Value::String(text) if is_placeholder(text) => Value::Null,
        Value::String(text) if text.trim_start().starts_with(['[', '{']) => {
            parse_json(text).unwrap_or_else(|| value.clone())
        }
        other => other.clone(),
    }
}

/// Returns the declarations in an item of a list of tools, of which Google's holds several.
fn declarations(item: &Value) -> Vec<ToolDeclaration> {
    let item = json_or_text(item);
    let object = match &item {
        Value::String(name) if is_name(name) => {
            return vec![ToolDeclaration { name: name.clone(), ..ToolDeclaration::default() }];
        }
        Value::Object(object) => object,
        _ => return Vec::new(),
    };
    let several = ["function_declarations", "functionDeclarations"];
    if let Some(several) = several.iter().find_map(|key| object.get(*key)) {
        let items = several.as_array().unwrap_or_default();
        return items.iter().filter_map(Value::as_object).filter_map(declaration).collect();
    }
    // OpenAI's chat completions and Bedrock's Converse API wrap the declaration.
    let wrapped = ["function", "toolSpec"].iter().find_map(|key| object.get(*key)?.as_object());
    declaration(wrapped.unwrap_or(object)).into_iter().collect()
}

/// Returns true unless the text describes an object of the program.
fn is_name(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.:/".contains(&byte);
    !text.is_empty() && text.bytes().all(is_part)
}

fn declaration(object: &Object) -> Option<ToolDeclaration> {
    const SCHEMAS: [&str; 5] = [
        "parameters",
        "parameters_json_schema",
        "parametersJsonSchema",
        "input_schema",
        "inputSchema",
    ];
    let name = object.get("name").and_then(Value::as_str).filter(|name| !name.is_empty())?;
    let text = object.get("description").and_then(Value::as_str);
    let schema = SCHEMAS.iter().filter_map(|key| object.get(*key)).find(|value| !value.is_null());
    let parameters = schema.map(json_or_text).unwrap_or_default();
    Some(ToolDeclaration {
        name: name.to_owned(),
        description: text.filter(|text| !text.is_empty()).map(str::to_owned),
        // Bedrock's schemas are a member themselves.
        parameters: parameters.get("json").cloned().unwrap_or(parameters),
    })
}
