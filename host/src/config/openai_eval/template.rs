//! Templates of graders.

use evaluator_document::Field;

use crate::judging::grader::ItemTemplate;

/// Reads a template. A reference to what a turn does not have is a problem.
pub(super) fn template(field: Field<'_>) -> Option<ItemTemplate> {
    let Some(text) = field.node.as_str() else { return field.expected("text").none() };
    match ItemTemplate::parse(text) {
        Ok(template) => Some(template),
        Err(error) => {
            field.add(format!("`{}` {}", field.key, error.message)).hint(error.hint).none()
        }
    }
}
