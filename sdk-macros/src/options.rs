//! What stands between the parentheses of `#[evaluator(..)]`.

use proc_macro2::TokenStream;
use syn::{
    Ident, LitStr, Path, Token,
    ext::IdentExt,
    parse::{ParseStream, Parser},
};

/// What the attribute says.
#[derive(Default)]
pub(crate) struct Options {
    /// Path of the sdk, where it is not `::evaluator_sdk`.
    pub(crate) krate: Option<Path>,
    /// Name of the evaluator, where it is not that of the function.
    pub(crate) name: Option<String>,
    /// Whether documents of an unknown major version are refused.
    pub(crate) strict: bool,
    /// The document the evaluator is written against.
    pub(crate) contract: Contract,
}

/// The documents an evaluator can be written against.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Contract {
    #[default]
    Agentevals,
    AgentV,
    Adk,
    Agenta,
}

impl Contract {
    const ALL: [Self; 4] = [Self::Agentevals, Self::AgentV, Self::Adk, Self::Agenta];

    /// As it is written in the attribute.
    pub(crate) fn keyword(self) -> &'static str {
        match self {
            Self::Agentevals => "agentevals",
            Self::AgentV => "agentv",
            Self::Adk => "adk",
            Self::Agenta => "agenta",
        }
    }

    /// Name of its type in the sdk's module `contract`.
    pub(crate) fn type_name(self) -> &'static str {
        match self {
            Self::Agentevals => "Agentevals",
            Self::AgentV => "AgentV",
            Self::Adk => "Adk",
            Self::Agenta => "Agenta",
        }
    }

    /// What its functions may take, where arguments are told by their names; `None` where they are told by their types.
    pub(crate) fn parameters(self) -> Option<&'static [&'static str]> {
        match self {
            Self::Agentevals | Self::AgentV => None,
            Self::Adk => Some(&[
                "eval_metric",
                "actual_invocations",
                "expected_invocations",
                "conversation_scenario",
            ]),
            Self::Agenta => Some(&[
                "app_params",
                "inputs",
                "output",
                "correct_answer",
                "outputs",
                "trace",
                "parameters",
                "testcase",
            ]),
        }
    }

    /// What its functions return, for messages.
    pub(crate) fn result(self) -> &'static str {
        match self {
            Self::Agentevals => "EvalResult",
            Self::AgentV => "CodeJudgeResult",
            Self::Adk => "EvaluationResult",
            Self::Agenta => "EvaluateResult",
        }
    }

    /// What its functions take as a whole, for messages.
    pub(crate) fn document(self) -> &'static str {
        match self {
            Self::AgentV => "&CodeJudgeInput",
            _ => "&EvalInput",
        }
    }
}

const KNOWN: &str = "known options: `name = \"..\"`, `strict`, `contract = ..`, `crate = ..`";

/// Reads as many options as can be read. The errors come apart from them, since the expansion of a wrong attribute
/// still needs the right options in it.
pub(crate) fn parse(tokens: TokenStream) -> (Options, Option<syn::Error>) {
    let mut options = Options::default();
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

/// Reads one option. A complaint lets the parser go on behind it; an error does not.
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

fn parse_contract(input: ParseStream<'_>) -> syn::Result<Contract> {
    let known = || {
        let names: Vec<String> =
            Contract::ALL.iter().map(|contract| format!("`{}`", contract.keyword())).collect();
        format!("known contracts: {}", names.join(", "))
    };
    if !input.peek(Ident::peek_any) {
        return Err(
            input.error(format!("expected the name of a contract, without quotes; {}", known()))
        );
    }
    let name = input.call(Ident::parse_any)?;
    Contract::ALL.into_iter().find(|contract| name == contract.keyword()).ok_or_else(|| {
        syn::Error::new(name.span(), format!("unknown contract `{name}`; {}", known()))
    })
}
