//! Export for Agenta: custom code for each of its interfaces, and the settings of a webhook.

use super::super::export::{Export, ExportError, Exporter, Job, text};

/// Custom code by version of the interface.
const CODE: [(&str, &str); 3] = [
    ("v1", include_str!("export_v1.py")),
    ("v2", include_str!("export_v2.py")),
    ("v3", include_str!("export_v3.py")),
];

const WEBHOOK: &str = "A webhook evaluator of Agenta (agenta:builtin:auto_webhook_test:v0), answered by `evaluator serve`. \
    Agenta calls https URLs of public addresses only, unless its services run with AGENTA_INSECURE_EGRESS_ALLOWED=true, and \
    sends no headers.";

/// Default address of `evaluator serve`.
const ADDRESS: &str = "http://127.0.0.1:8700";

pub(super) const EXPORTER: Exporter =
    Exporter { about: "Custom code for each of Agenta's interfaces, and a webhook", files };

fn files(job: &Job<'_>) -> Result<Export, ExportError> {
    let name = &job.program.name;
    let mut export = Export::default();
    for (version, code) in CODE {
        let file = format!("{}_agenta_{version}.py", text::identifier(name));
        export = export.file(file, text::fill(code, job));
    }
    let url = text::quoted(&format!("{ADDRESS}/evaluators/{}", percent_encoded(name)));
    let file = format!("{name}.agenta-webhook.yaml");
    let code_usage = "take one of the .py files as the code of a custom code evaluator whose `version` it names, where Agenta's \
                      runner is `local`";
    let webhook_usage = format!(
        "or serve the evaluator (`evaluator serve`) and take the URL of `{file}` for a webhook"
    );
    let webhook = text::yaml(job, WEBHOOK, &format!("parameters:\n  webhook_url: {url}\n"));
    Ok(export.file(file, webhook).usage(code_usage).usage(webhook_usage))
}

/// Returns a name as a segment of a URL path.
fn percent_encoded(name: &str) -> String {
    let encoded = |byte: u8| {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            char::from(byte).to_string()
        } else {
            format!("%{byte:02X}")
        }
    };
    name.bytes().map(encoded).collect()
}
