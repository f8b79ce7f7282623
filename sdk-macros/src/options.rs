//! The options of `#[evaluator(..)]`, and the table of contracts.

use proc_macro2::TokenStream;
use syn::{
    Ident, LitStr, Path, Token,
    ext::IdentExt,
    parse::{ParseStream, Parser},
};

/// The options of the attribute.
pub(crate) struct Options {
    /// Path of the sdk. Default: `::evaluator_sdk`.
    pub(crate) krate: Option<Path>,
    /// Name of the evaluator. Default: the name of the function.
    pub(crate) name: Option<String>,
    /// Whether documents of an unknown major version are refused.
    pub(crate) strict: bool,
    /// The contract the evaluator is written against.
    pub(crate) contract: &'static Contract,
}

/// A contract an evaluator can be written against.
pub(crate) struct Contract {
    /// Its name in the attribute.
    pub(crate) keyword: &'static str,
    /// Name of its type in the module `contract` of the sdk.
    pub(crate) type_name: &'static str,
    /// The whole document as an argument.
    pub(crate) document: &'static str,
    /// The result type.
    pub(crate) result: &'static str,
    /// Names of the arguments, if they are matched by name; otherwise they are matched by type.
    pub(crate) parameters: Option<&'static [&'static str]>,
    /// Name of the argument with the settings, if they are matched by name, too.
    pub(crate) settings: Option<&'static str>,
}

/// Every contract, the default first.
pub(crate) static CONTRACTS: &[Contract] = &[
    Contract {
        keyword: "agentevals",
        type_name: "Agentevals",
        document: "&EvalInput",
        result: "EvalResult",
        parameters: None,
        settings: None,
    },
    Contract {
        keyword: "agentv",
        type_name: "AgentV",
        document: "&CodeJudgeInput",
        result: "CodeJudgeResult",
        parameters: None,
        settings: None,
    },
    Contract {
        keyword: "adk",
        type_name: "Adk",
        document: "&EvalInput",
        result: "EvaluationResult",
        parameters: Some(&[
            "eval_metric",
            "actual_invocations",
            "expected_invocations",
            "conversation_scenario",
        ]),
        settings: None,
    },
    Contract {
        keyword: "agenta",
        type_name: "Agenta",
        document: "&EvalInput",
        result: "EvaluateResult",
        parameters: Some(&[
            "app_params",
            "inputs",
            "output",
            "correct_answer",
            "outputs",
            "trace",
            "parameters",
            "testcase",
        ]),
        settings: Some("app_params"),
    },
];

impl Contract {
    pub(crate) fn is_default(&self) -> bool {
        self.keyword == CONTRACTS[0].keyword
    }
}

const KNOWN: &str = "known options: `name = \"..\"`, `strict`, `contract = ..`, `crate = ..`";

/// Parses the options. Returns the valid ones next to the errors, since the expansion of an attribute with errors still
/// needs them.
pub(crate) fn parse(tokens: TokenStream) -> (Options, Option<syn::Error>) {
    let mut options = Options { krate: None, name: None, strict: false, contract: &CONTRACTS[0] };
    let mut seen = Vec::new();
    let mut complaints = Vec::new();
    let parsed = (|input: ParseStream<'_>| {
        while !input.is_empty() {
            parse_one(input, &mut options, &mut seen, &mut complaints)?;
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(())
    })
    .parse2(tokens);
    let error = complaints.into_iter().chain(parsed.err()).reduce(|mut all, error| {
        all.combine(error);
        all
    });
    (options, error)
}

/// Parses one option. After a complaint the parser continues with the next option; after an error it stops.
fn parse_one(
    input: ParseStream<'_>,
    options: &mut Options,
    seen: &mut Vec<Ident>,
    complaints: &mut Vec<syn::Error>,
) -> syn::Result<()> {
    if !input.peek(Ident::peek_any) {
        return Err(input.error(format!("expected an option; {KNOWN}")));
    }
    let key = input.call(Ident::parse_any)?;
    if seen.contains(&key) {
        complaints.push(syn::Error::new(key.span(), format!("`{key}` is given twice")));
    }
    seen.push(key.clone());
    match key.to_string().as_str() {
        "strict" => {
            if input.peek(Token![=]) {
                let message = "`strict` takes no value: write `strict`, or leave it out";
                return Err(input.error(message));
            }
            options.strict = true;
        }
        "name" => {
            value_follows(input, &key, "\"my_evaluator\"")?;
            if !input.peek(LitStr) {
                return Err(input.error("expected a string: `name = \"my_evaluator\"`"));
            }
            let name: LitStr = input.parse()?;
            let text = name.value();
            if text.trim().is_empty() || text.trim() != text || text.contains(char::is_control) {
                let message =
                    "a name has at least one character, no blanks around it and no line breaks";
                complaints.push(syn::Error::new(name.span(), message));
            }
            options.name = Some(text);
        }
        "contract" => {
            value_follows(input, &key, "agentevals")?;
            options.contract = parse_contract(input)?;
        }
        "crate" => {
            value_follows(input, &key, "path::to::evaluator_sdk")?;
            if input.peek(LitStr) {
                return Err(input
                    .error("expected a path without quotes: `crate = path::to::evaluator_sdk`"));
            }
            options.krate = Some(input.call(Path::parse_mod_style)?);
        }
        other => {
            return Err(syn::Error::new(key.span(), format!("unknown option `{other}`; {KNOWN}")));
        }
    }
    Ok(())
}

fn value_follows(input: ParseStream<'_>, key: &Ident, example: &str) -> syn::Result<()> {
    if input.peek(Token![=]) {
        input.parse::<Token![=]>()?;
        return Ok(());
    }
    Err(syn::Error::new(key.span(), format!("`{key}` needs a value: `{key} = {example}`")))
}

fn parse_contract(input: ParseStream<'_>) -> syn::Result<&'static Contract> {
    let known = || {
        let names = CONTRACTS.iter().map(|contract| format!("`{}`", contract.keyword));
        format!("known contracts: {}", names.collect::<Vec<_>>().join(", "))
    };
    if !input.peek(Ident::peek_any) {
        return Err(
            input.error(format!("expected the name of a contract, without quotes; {}", known()))
        );
    }
    let name = input.call(Ident::parse_any)?;
    CONTRACTS.iter().find(|contract| name == contract.keyword).ok_or_else(|| {
        syn::Error::new(name.span(), format!("unknown contract `{name}`; {}", known()))
    })
}
