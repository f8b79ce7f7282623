//! Whether evaluation events were asked for.

use super::Variables;

const ENABLE: &str = "AGENTEVALS_EVALUATION_EVENTS";
const EXPLANATION: &str = "AGENTEVALS_EVALUATION_EVENTS_EXPLANATION";

/// What evaluation events are to be sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventSwitches {
    /// Whether they carry the evaluator's explanation, which may quote the conversation; not by default.
    pub explanation: bool,
}

/// A variable that is neither true nor false.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{variable} must be one of true/false/1/0/yes/no/on/off (got: {value:?})")]
pub struct BadSwitch {
    /// Its name.
    pub variable: &'static str,
    /// Its value.
    pub value: String,
}

impl EventSwitches {
    /// The switches, or `None` when there are to be no events: because nobody asked for them (`asked`, or
    /// `AGENTEVALS_EVALUATION_EVENTS`), or because `OTEL_SDK_DISABLED` or `OTEL_LOGS_EXPORTER=none` silences everything.
    ///
    /// # Errors
    ///
    /// A variable of agentevals is neither true nor false, whether it matters or not.
    pub fn read(asked: bool, variables: Variables<'_>) -> Result<Option<Self>, BadSwitch> {
        let enabled = flag(ENABLE, variables)?;
        let explanation = flag(EXPLANATION, variables)?;
        let standard = |name: &str| variables(name).unwrap_or_default().trim().to_lowercase();
        // Other programs set these as well, in whichever way; what is not understood there does not count.
        let silenced = truth(&standard("OTEL_SDK_DISABLED")) == Some(true)
            || standard("OTEL_LOGS_EXPORTER") == "none";
        Ok(((asked || enabled) && !silenced).then_some(Self { explanation }))
    }
}

fn flag(variable: &'static str, variables: Variables<'_>) -> Result<bool, BadSwitch> {
    let value = variables(variable).unwrap_or_default();
    match value.trim().to_lowercase().as_str() {
        "" => Ok(false),
        text => truth(text).ok_or(BadSwitch { variable, value }),
    }
}

fn truth(text: &str) -> Option<bool> {
    match text {
        "1" | "true" | "yes" | "on" => Some(true),
        "0" | "false" | "no" | "off" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(asked: bool, set: &[(&str, &str)]) -> Result<Option<EventSwitches>, BadSwitch> {
        EventSwitches::read(asked, &|name| {
            set.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn events_are_sent_when_asked_for_and_not_silenced() {
        let on = Ok(Some(EventSwitches { explanation: false }));
        let off = Ok(None);
        assert_eq!(read(false, &[]), off);
        assert_eq!(read(true, &[]), on);
        assert_eq!(read(false, &[(ENABLE, " Yes ")]), on);
        assert_eq!(read(true, &[(ENABLE, "0")]), on);
        assert_eq!(read(true, &[("OTEL_SDK_DISABLED", "True")]), off);
        assert_eq!(read(true, &[("OTEL_SDK_DISABLED", "maybe")]), on);
        assert_eq!(read(true, &[("OTEL_LOGS_EXPORTER", "None")]), off);
        assert_eq!(read(true, &[("OTEL_LOGS_EXPORTER", "otlp")]), on);
        let explained = Ok(Some(EventSwitches { explanation: true }));
        assert_eq!(read(true, &[(EXPLANATION, "on")]), explained);
        assert_eq!(read(false, &[(EXPLANATION, "on")]), off);
    }

    #[test]
    fn own_switches_that_say_nothing_are_errors_even_when_unused() {
        for variable in [ENABLE, EXPLANATION] {
            let error = read(false, &[(variable, "2"), ("OTEL_SDK_DISABLED", "1")]).unwrap_err();
            assert_eq!(
                error.to_string(),
                format!("{variable} must be one of true/false/1/0/yes/no/on/off (got: \"2\")")
            );
        }
    }
}
