//! Templates: texts with `{{ item.NAME }}` where something of the graded item belongs.

/// What is wrong with a template, and where in it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Mistake {
    pub(super) message: String,
    pub(super) hint: &'static str,
}

const EXAMPLE: &str = "for example {{ item.actual_response }}";

/// How many references `text` has.
///
/// # Errors
///
/// The first place that looks like a reference and is none.
pub(super) fn references(text: &str) -> Result<usize, Mistake> {
    let mut count = 0;
    let mut rest = text;
    while let Some(start) = rest.find("{{") {
        let Some(length) = rest[start..].find("}}") else {
            return Err(Mistake { message: "has a `{{` without its `}}`".into(), hint: EXAMPLE });
        };
        let reference = &rest[start..start + length + 2];
        let path = reference[2..length].trim();
        if path == "sample" || path.starts_with("sample.") {
            let message = format!("refers to `{reference}`, but nothing is sampled");
            return Err(Mistake {
                message,
                hint: "the recorded answer is {{ item.actual_response }}",
            });
        }
        let mut names = path.split('.');
        if names.next() != Some("item") || !path.contains('.') || !names.all(is_name) {
            let message = format!("refers to `{reference}`, which is not a field of `item`");
            return Err(Mistake { message, hint: EXAMPLE });
        }
        count += 1;
        rest = &rest[start + length + 2..];
    }
    Ok(count)
}

fn is_name(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.chars().all(|c| c.is_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::references;

    #[test]
    fn references_are_counted() {
        for (text, expected) in [
            ("", 0),
            ("no { braces } here", 0),
            ("{{item.actual_response}}", 1),
            ("Is {{ item.actual_response }} as good as {{  item.expected_response }}?", 2),
            ("{{ item.a.b_1 }}", 1),
        ] {
            assert_eq!(references(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_reference_is_a_mistake() {
        for (text, expected) in [
            ("{{ item.x", "without its"),
            ("{{ item }}", "`{{ item }}`, which is not a field"),
            ("{{}}", "not a field"),
            ("{{ item. }}", "not a field"),
            ("{{ item.1 }}", "not a field"),
            ("{{ itme.x }}", "not a field"),
            ("{{ item.x | upper }}", "not a field"),
            ("{{ sample.output_text }}", "nothing is sampled"),
            ("{{ item.x }} {{ item.é y }}", "`{{ item.é y }}`"),
        ] {
            let mistake = references(text).unwrap_err();
            assert!(mistake.message.contains(expected), "{text}: {mistake:?}");
        }
    }
}
