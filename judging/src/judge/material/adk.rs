//! Rubrics and scenarios as ADK writes them, in camel case or snake case.

use evaluator_json::{Object, Value};

use super::{Rubric, Scenario};

pub(in crate::judge) type Read<T> = Result<T, String>;

/// Returns a member by its name in camel case or in snake case; `None` if it is missing or `null`.
pub(in crate::judge) fn member<'v>(object: &'v Object, key: &str) -> Option<&'v Value> {
    let snake = snake_case(key);
    object.get(key).or_else(|| object.get(&snake)).filter(|value| !value.is_null())
}

/// Converts a key to snake case.
pub(super) fn snake_case(key: &str) -> String {
    let mut snake = String::with_capacity(key.len());
    for character in key.chars() {
        if character.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(character.to_ascii_lowercase());
    }
    snake
}

pub(in crate::judge) fn object<'v>(value: &'v Value, what: &str) -> Read<&'v Object> {
    value.as_object().ok_or_else(|| format!("{what} must be an object, not {}", value.kind()))
}

pub(in crate::judge) fn text(object: &Object, key: &str) -> Read<Option<String>> {
    let Some(value) = member(object, key) else { return Ok(None) };
    let text = value.as_str().ok_or_else(|| format!("`{key}` must be a string"))?;
    Ok(Some(text.to_owned()))
}

/// Reads a list; a missing one is empty.
pub(in crate::judge) fn list<T>(
    object: &Object,
    key: &str,
    read: impl Fn(&Value) -> Read<T>,
) -> Read<Vec<T>> {
    let Some(value) = member(object, key) else { return Ok(Vec::new()) };
    let items = value.as_array().ok_or_else(|| format!("`{key}` must be a list"))?;
    items.iter().map(read).collect()
}

pub(in crate::judge) fn optional<T>(
    object: &Object,
    key: &str,
    read: fn(&Value) -> Read<T>,
) -> Read<Option<T>> {
    member(object, key).map(read).transpose()
}

impl Rubric {
    /// Reads a rubric of ADK.
    ///
    /// # Errors
    ///
    /// It has no id, or a part has the wrong type.
    pub fn from_adk(rubric: &Value) -> Result<Self, String> {
        let fields = object(rubric, "a rubric")?;
        let content = member(fields, "rubricContent")
            .map(|content| text(object(content, "`rubricContent`")?, "textProperty"));
        Ok(Self {
            id: text(fields, "rubricId")?.ok_or("a rubric has no `rubricId`")?,
            text: content.transpose()?.flatten(),
            kind: text(fields, "type")?,
        })
    }
}

impl Scenario {
    /// Reads a conversation scenario of ADK.
    ///
    /// # Errors
    ///
    /// A part has the wrong type.
    pub fn from_adk(scenario: &Value) -> Result<Self, String> {
        let fields = object(scenario, "a scenario")?;
        let take = |key| Ok::<_, String>(text(fields, key)?.unwrap_or_default());
        Ok(Self {
            starting_prompt: take("startingPrompt")?,
            conversation_plan: take("conversationPlan")?,
            persona: optional(fields, "userPersona", persona)?.unwrap_or_default(),
        })
    }
}

fn persona(value: &Value) -> Read<String> {
    let fields = object(value, "`userPersona`")?;
    let mut lines = vec![text(fields, "description")?.unwrap_or_default()];
    for behavior in list(fields, "behaviors", |behavior| {
        list(object(behavior, "a behavior")?, "violationRubrics", |rubric| {
            Ok(rubric.as_str().map_or_else(|| evaluator_json::to_python(rubric), str::to_owned))
        })
    })? {
        lines.extend(behavior);
    }
    Ok(lines.join("\n"))
}
