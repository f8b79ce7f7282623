//! From what was written to a plan, or to every complaint about it at once.

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::{Attribute, Ident, Path, Type, TypeReference, Visibility, ext::IdentExt};

use crate::{
    complaints::Complaints,
    docs,
    function::Function,
    options::{Contract, Options},
    parameter,
    signature::{GenericParameter, Input, Signature, Typed},
    types::{config_that_borrows, is_target, mentions_impl, mentions_name, peel},
};

/// All that the expansion needs to know.
pub(crate) struct Plan<'a> {
    pub(crate) item: Item<'a>,
    pub(crate) krate: Option<&'a Path>,
    pub(crate) contract: Contract,
    pub(crate) name: String,
    pub(crate) docs: TokenStream,
    pub(crate) strict: bool,
    pub(crate) is_async: bool,
    pub(crate) arguments: Vec<Argument<'a>>,
    pub(crate) output: Output<'a>,
}

/// What is known of the type beside the function, whether or not the function is a good one.
pub(crate) struct Item<'a> {
    pub(crate) vis: &'a Visibility,
    pub(crate) ident: &'a Ident,
    /// Attributes of the function that hold for the type as well: `cfg`, `allow` and `deprecated`.
    pub(crate) attrs: Vec<&'a Attribute>,
    pub(crate) deprecated: bool,
}

/// One argument of the function.
pub(crate) struct Argument<'a> {
    /// What messages call it.
    pub(crate) name: String,
    pub(crate) ty: &'a Type,
    pub(crate) origin: Origin<'a>,
}

/// Where an argument comes from.
pub(crate) enum Origin<'a> {
    /// Its type says what of the document it is.
    Type,
    /// Its name does. With the type behind the `&`, if it is a reference.
    Name(Option<&'a Type>),
}

/// What the function returns.
pub(crate) enum Output<'a> {
    /// A type that can be named.
    Named(&'a Type),
    /// A type with an `impl Trait` in it, which cannot be repeated elsewhere.
    Opaque(&'a Type),
}

/// What is known of any function.
pub(crate) fn item(function: &Function) -> Item<'_> {
    const SHARED: [&str; 3] = ["cfg", "allow", "deprecated"];
    let is = |attr: &Attribute, name: &str| attr.path().is_ident(name);
    let attrs = function.attrs.iter();
    Item {
        vis: &function.vis,
        ident: &function.sig.ident,
        attrs: attrs.clone().filter(|attr| SHARED.iter().any(|name| is(attr, name))).collect(),
        deprecated: attrs.clone().any(|attr| is(attr, "deprecated")),
    }
}

/// Looks at the function whole.
pub(crate) fn check<'a>(function: &'a Function, options: &'a Options) -> syn::Result<Plan<'a>> {
    let sig = &function.sig;
    let mut complaints = Complaints::default();
    qualifiers(sig, &mut complaints);
    generics(sig, &mut complaints);
    runtime_attributes(&function.attrs, sig, &mut complaints);
    let arguments: Vec<Argument<'_>> = sig
        .inputs
        .iter()
        .filter_map(|input| argument(input, options.contract, &mut complaints))
        .collect();
    parameter::twice(sig, &arguments, &mut complaints);
    let output = output(sig, options.contract, &mut complaints);
    let plan = output.map(|output| Plan {
        item: item(function),
        krate: options.krate.as_ref(),
        contract: options.contract,
        name: options.name.clone().unwrap_or_else(|| sig.ident.unraw().to_string()),
        docs: docs::expression(&function.attrs),
        strict: options.strict,
        is_async: sig.asyncness.is_some(),
        arguments,
        output,
    });
    complaints.or(plan)
}

fn qualifiers(sig: &Signature, complaints: &mut Complaints) {
    if sig.ident == "main" {
        complaints.add(
            &sig.ident,
            "an evaluator cannot be called `main`: give it a name, and call `name::run()` in `fn main`",
        );
    }
    if let Some(token) = &sig.constness {
        complaints.add(token, "an evaluator cannot be a `const fn`: remove `const`");
    }
    if let Some(token) = &sig.abi {
        complaints.add(token, "an evaluator is a plain Rust function: remove the `extern`");
    }
    if let Some(token) = &sig.unsafety {
        complaints.add(
            token,
            "an evaluator cannot be unsafe to call: remove `unsafe`, and use an `unsafe` block in the body",
        );
    }
}

fn generics(sig: &Signature, complaints: &mut Complaints) {
    for parameter in &sig.generics {
        match parameter {
            GenericParameter::Lifetime(tokens) => complaints.add(
                tokens,
                "an evaluator needs no lifetime parameter: leave it out and write `&EvalInput`",
            ),
            GenericParameter::TypeOrConst(tokens) => complaints.add(
                tokens,
                "an evaluator cannot be generic, since a program reads one kind of document: write the type itself",
            ),
        }
    }
}

/// `#[tokio::main]` below `#[evaluator]` would make the function blocking after we took it for an async one.
fn runtime_attributes(attrs: &[Attribute], sig: &Signature, complaints: &mut Complaints) {
    let runtime = attrs.iter().find(|attr| {
        attr.path().segments.len() > 1
            && attr.path().segments.last().is_some_and(|last| last.ident == "main")
    });
    if let (Some(attr), Some(_)) = (runtime, &sig.asyncness) {
        complaints.add(
            attr,
            "`#[evaluator]` runs async functions itself: remove this attribute \
             (the sdk's feature `tokio` brings a tokio runtime)",
        );
    }
}

fn argument<'a>(
    input: &'a Input,
    contract: Contract,
    complaints: &mut Complaints,
) -> Option<Argument<'a>> {
    match input {
        Input::Receiver(tokens) => {
            let instead = match contract.parameters() {
                Some([first, ..]) => format!("`{first}`"),
                _ => format!("`{}`", contract.document()),
            };
            let message = format!(
                "an evaluator is a free function: move it out of the `impl` block and take {instead}"
            );
            complaints.add(tokens, &message);
            None
        }
        // Only `unsafe extern` functions may have it, and that is complained about already.
        Input::Variadic => None,
        Input::Typed(typed) => {
            argument_attributes(&typed.attrs, complaints);
            let name = argument_name(typed);
            // A model that the host offers is no part of the document, so there is no name for it.
            let named = contract.parameters().filter(|_| !is_target(&typed.ty));
            let (name, origin) = match named {
                None => {
                    argument_type(&typed.ty, contract, complaints);
                    (name, Origin::Type)
                }
                Some(known) => parameter::told(typed, contract, known, complaints),
            };
            Some(Argument { name, ty: &typed.ty, origin })
        }
    }
}

pub(crate) fn static_lifetime(reference: &TypeReference, complaints: &mut Complaints) {
    if let Some(lifetime) =
        reference.lifetime.as_ref().filter(|lifetime| lifetime.ident == "static")
    {
        complaints.add(
            lifetime,
            "the document lives as long as the call, not `'static`: write the `&` without a lifetime",
        );
    }
}

pub(crate) fn argument_name(argument: &Typed) -> String {
    match &argument.name {
        Some(name) => name.unraw().to_string(),
        // A pattern says less than the type it takes apart.
        None => argument.ty.to_token_stream().to_string().replace(' ', ""),
    }
}

fn argument_attributes(attrs: &[Attribute], complaints: &mut Complaints) {
    for attr in attrs {
        if attr.path().is_ident("cfg") || attr.path().is_ident("cfg_attr") {
            complaints.add(
                attr,
                "an argument of an evaluator cannot be conditional: put `#[cfg(..)]` on two versions of the function",
            );
        }
    }
}

fn argument_type(ty: &Type, contract: Contract, complaints: &mut Complaints) {
    let document = contract.document();
    if mentions_impl(ty) {
        complaints.add(
            ty,
            &format!("an argument of an evaluator needs a type of its own, such as `{document}` or `Config<Settings>`"),
        );
        return;
    }
    if contract != Contract::Agentevals && mentions_name(ty, "EvalInput") {
        return parameter::default_input(ty, contract, &format!("`{document}`"), complaints);
    }
    match peel(ty) {
        Type::Path(path) if config_that_borrows(path) => complaints.add(
            ty,
            "a config outlives the document it is read from: own its texts (`String` instead of `&str`) and leave the lifetime out",
        ),
        Type::Reference(reference) if reference.mutability.is_some() => complaints.add(
            ty,
            &format!(
                "an evaluator cannot change the document: take `{document}`, or `mut input: {}` to change a copy",
                document.trim_start_matches('&')
            ),
        ),
        Type::Reference(reference) => {
            static_lifetime(reference, complaints);
            match peel(&reference.elem) {
                Type::Slice(_) => complaints.add(
                    ty,
                    match contract {
                        Contract::Agentevals => {
                            "a slice is not a part of the document that can be told by its type: \
                             take `Invocations` or `Expected` for the turns"
                        }
                        _ => {
                            "a slice is not a part of the document that can be told by its type: \
                             take `&CodeJudgeInput` and read the field"
                        }
                    },
                ),
                Type::Path(path) if path.path.is_ident("str") => complaints.add(
                    ty,
                    match contract {
                        Contract::Agentevals => {
                            "a text is not a part of the document that can be told by its type: \
                             take `&EvalInput` and read the field, or `MetricName`"
                        }
                        _ => {
                            "a text is not a part of the document that can be told by its type: \
                             take `&CodeJudgeInput` and read the field"
                        }
                    },
                ),
                _ => {}
            }
        }
        _ => {}
    }
}

fn output<'a>(
    sig: &'a Signature,
    contract: Contract,
    complaints: &mut Complaints,
) -> Option<Output<'a>> {
    let nothing = format!(
        "an evaluator returns what it found: write `-> {}`, or `Score`, `f64`, `bool`, or a `Result` of one of these",
        contract.result()
    );
    let Some(ty) = &sig.output else {
        complaints.add(&sig.ident, &nothing);
        return None;
    };
    let found = match peel(ty) {
        Type::Never(_) => None,
        Type::Tuple(tuple) if tuple.elems.is_empty() => None,
        _ if mentions_impl(ty) => Some(Output::Opaque(ty)),
        _ => Some(Output::Named(ty)),
    };
    if found.is_none() {
        complaints.add(ty, &nothing);
    }
    found
}
