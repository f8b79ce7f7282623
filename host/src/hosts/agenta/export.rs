//! For Agenta: custom code for each of its interfaces, and the settings of a webhook.

use super::{Export, ExportedFile, Origin, Program, program::CommandLine, template, text};

/// The interfaces and their code.
const CODE: [(&str, &str); 3] = [
    ("v1", include_str!("templates/agenta_v1.py")),
    ("v2", include_str!("templates/agenta_v2.py")),
    ("v3", include_str!("templates/agenta_v3.py")),
];

const WEBHOOK: &str = "A webhook evaluator of Agenta (agenta:builtin:auto_webhook_test:v0), answered by `evaluator serve`. \
    Agenta calls https URLs of public addresses only, unless its services run with AGENTA_INSECURE_EGRESS_ALLOWED=true, and \
    sends no headers.";

/// Where `evaluator serve` listens unless it is told otherwise.
const ADDRESS: &str = "http://127.0.0.1:8700";

pub(super) fn export(program: &Program, command: &CommandLine, origin: &Origin) -> Export {
    let name = &program.name;
    let code = CODE.iter().map(|(version, code)| {
        let file = format!("{}_agenta_{version}.py", text::identifier(name));
        ExportedFile::new(file, template::fill(code, command, origin))
    });
    let webhook = format!(
        "{}{}parameters:\n  webhook_url: {}\n",
        text::comment(origin.line()),
        text::comment(WEBHOOK),
        text::quoted(&format!("{ADDRESS}/evaluators/{}", percent_encoded(name))),
    );
    let file = format!("{name}.agenta-webhook.yaml");
    let usage = vec![
        "take one of the .py files as the code of a custom code evaluator whose `version` it names, where Agenta's runner is `local`"
            .to_owned(),
        format!("or serve the evaluator (`evaluator serve`) and take the URL of `{file}` for a webhook"),
    ];
    Export { files: code.chain([ExportedFile::new(file, webhook)]).collect(), usage }
}

/// A name as a part of a path.
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
