//! Checks a function and its options: the result is a plan for the expansion, or every complaint at once.

use proc_macro2::{Span, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::{
    Attribute, Expr, ExprLit, Ident, Lit, Meta, Path, Type, TypePath, TypeReference, Visibility,
    ext::IdentExt,
};

use crate::{
    nearest::nearest,
    options::{Contract, Options},
    signature::{Function, GenericParameter, Input, Signature, Typed},
};

/// The input of the expansion.
pub(crate) struct Plan<'a> {
    pub(crate) item: Item<'a>,
    pub(crate) krate: Option<&'a Path>,
    pub(crate) contract: &'static Contract,
    pub(crate) name: String,
    pub(crate) docs: TokenStream,
    pub(crate) strict: bool,
    pub(crate) is_async: bool,
    pub(crate) arguments: Vec<Argument<'a>>,
    pub(crate) output: Output<'a>,
}

/// The generated type, which exists even if the function has errors.
pub(crate) struct Item<'a> {
    pub(crate) vis: &'a Visibility,
    pub(crate) ident: &'a Ident,
    /// Attributes of the function that apply to the type as well: `cfg`, `allow` and `deprecated`.
    pub(crate) attrs: Vec<&'a Attribute>,
    pub(crate) deprecated: bool,
}

/// One argument of the function.
pub(crate) struct Argument<'a> {
    /// Name in messages.
    pub(crate) name: String,
    pub(crate) ty: &'a Type,
    pub(crate) origin: Origin<'a>,
}

/// How an argument is matched to the document.
pub(crate) enum Origin<'a> {
    /// By its type.
    Type,
    /// By its name. For a reference, with the type behind the `&`.
    Name(Option<&'a Type>),
}

/// The return type.
pub(crate) enum Output<'a> {
    /// A type that can be named.
    Named(&'a Type),
    /// A type that contains `impl Trait`, which cannot be repeated elsewhere.
    Opaque(&'a Type),
}

/// Returns the generated type of any function.
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

/// Checks the whole function.
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
    repeated_parameters(sig, &arguments, &mut complaints);
    let output = output(sig, options.contract, &mut complaints);
    let plan = output.map(|output| Plan {
        item: item(function),
        krate: options.krate.as_ref(),
        contract: options.contract,
        name: options.name.clone().unwrap_or_else(|| sig.ident.unraw().to_string()),
        docs: doc_text(&function.attrs),
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

/// Refuses `#[tokio::main]` below `#[evaluator]`, which would make the function blocking after the macro saw it as async.
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
    contract: &'static Contract,
    complaints: &mut Complaints,
) -> Option<Argument<'a>> {
    match input {
        Input::Receiver(tokens) => {
            let instead = match contract.parameters {
                Some([first, ..]) => format!("`{first}`"),
                _ => format!("`{}`", contract.document),
            };
            let message = format!(
                "an evaluator is a free function: move it out of the `impl` block and take {instead}"
            );
            complaints.add(tokens, &message);
            None
        }
        // Only `unsafe extern` functions may have it, which are refused already.
        Input::Variadic => None,
        Input::Typed(typed) => {
            argument_attributes(&typed.attrs, complaints);
            let name = argument_name(typed);
            // The host's model is not a part of the document and has no name.
            let named = contract.parameters.filter(|_| !is_target(&typed.ty));
            let (name, origin) = match named {
                None => {
                    argument_type(&typed.ty, contract, complaints);
                    (name, Origin::Type)
                }
                Some(known) => named_parameter(typed, contract, known, complaints),
            };
            Some(Argument { name, ty: &typed.ty, origin })
        }
    }
}

fn static_lifetime(reference: &TypeReference, complaints: &mut Complaints) {
    if let Some(lifetime) =
        reference.lifetime.as_ref().filter(|lifetime| lifetime.ident == "static")
    {
        complaints.add(
            lifetime,
            "the document lives as long as the call, not `'static`: write the `&` without a lifetime",
        );
    }
}

fn argument_name(argument: &Typed) -> String {
    match &argument.name {
        Some(name) => name.unraw().to_string(),
        // The type is clearer than a pattern that destructures it.
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

fn argument_type(ty: &Type, contract: &'static Contract, complaints: &mut Complaints) {
    let document = contract.document;
    if mentions_impl(ty) {
        complaints.add(
            ty,
            &format!("an argument of an evaluator needs a type of its own, such as `{document}` or `Config<Settings>`"),
        );
        return;
    }
    if !contract.is_default() && mentions_name(ty, "EvalInput") {
        return default_input(ty, contract, &format!("`{document}`"), complaints);
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
            let (part, instead) = match peel(&reference.elem) {
                Type::Slice(_) => ("slice", "`Invocations` or `Expected` for the turns"),
                Type::Path(path) if path.path.is_ident("str") => {
                    ("text", "`&EvalInput` and read the field, or `MetricName`")
                }
                _ => return,
            };
            let own = format!("`{document}` and read the field");
            let instead = if contract.is_default() { instead } else { &own };
            let message = format!(
                "a {part} is not a part of the document that can be recognized by its type: take {instead}"
            );
            complaints.add(ty, &message);
        }
        _ => {}
    }
}

fn output<'a>(
    sig: &'a Signature,
    contract: &'static Contract,
    complaints: &mut Complaints,
) -> Option<Output<'a>> {
    let nothing = format!(
        "an evaluator returns what it found: write `-> {}`, or `Score`, `f64`, `bool`, or a `Result` of one of these",
        contract.result
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

/// Returns the name of an argument in messages, and its origin, for contracts that match arguments by name.
fn named_parameter<'a>(
    typed: &'a Typed,
    contract: &'static Contract,
    known: &[&str],
    complaints: &mut Complaints,
) -> (String, Origin<'a>) {
    if let Some(name) = written(typed).filter(|name| known.contains(&name.as_str())) {
        return (name, Origin::Name(referred(&typed.ty, complaints)));
    }
    // No argument has this name, so the type decides. The type checker verifies that it is the sdk's.
    if is_config(&typed.ty) {
        if let Some(settings) = contract.settings {
            let keyword = contract.keyword;
            let message = format!(
                "evaluators of the contract `{keyword}` take their settings by name: write `{settings}: Settings`"
            );
            complaints.add(&typed.ty, &message);
        }
        return (argument_name(typed), Origin::Type);
    }
    unknown(typed, contract, known, complaints);
    (argument_name(typed), Origin::Name(None))
}

/// Returns its name without the leading `_` of unused variables.
fn written(typed: &Typed) -> Option<String> {
    let name = typed.name.as_ref()?.unraw().to_string();
    Some(name.strip_prefix('_').unwrap_or(&name).to_owned())
}

fn unknown(
    typed: &Typed,
    contract: &'static Contract,
    known: &[&str],
    complaints: &mut Complaints,
) {
    let names: Vec<String> = known.iter().map(|name| format!("`{name}`")).collect();
    let (names, keyword) = (names.join(", "), contract.keyword);
    let Some((ident, name)) = typed.name.as_ref().zip(written(typed)) else {
        let message = format!(
            "arguments of the contract `{keyword}` are matched by name: give this one of the names {names}"
        );
        return complaints.add(&typed.ty, &message);
    };
    if mentions_name(&typed.ty, "EvalInput") {
        return default_input(
            &typed.ty,
            contract,
            &format!("the arguments it has: {names}"),
            complaints,
        );
    }
    let hint = match nearest(&name, known) {
        Some(near) => format!(" (did you mean `{near}`?)"),
        None => String::new(),
    };
    complaints.add(
        ident,
        &format!("evaluators of the contract `{keyword}` take no `{name}`{hint}: their arguments are {names}"),
    );
}

/// Reports the document of the default contract under another contract.
fn default_input(
    ty: &Type,
    contract: &'static Contract,
    instead: &str,
    complaints: &mut Complaints,
) {
    let keyword = contract.keyword;
    let message = format!(
        "`EvalInput` is what evaluators of the default contract take, which serve {keyword} as well: leave \
         `contract = {keyword}` out, or take {instead}"
    );
    complaints.add(ty, &message);
}

/// Reports arguments that are the same, such as `output` and `_output`. The compiler reports equal names.
fn repeated_parameters(sig: &Signature, arguments: &[Argument<'_>], complaints: &mut Complaints) {
    let named = arguments.iter().filter(|argument| matches!(argument.origin, Origin::Name(_)));
    let typed = || {
        sig.inputs.iter().filter_map(|input| match input {
            Input::Typed(Typed { name: Some(ident), .. }) => Some(ident),
            _ => None,
        })
    };
    for Argument { name, .. } in named {
        let is_it = |ident: &&Ident| {
            let ident = ident.unraw().to_string();
            ident.strip_prefix('_').unwrap_or(&ident) == name
        };
        let first = typed().find(is_it);
        let again = first.and_then(|first| typed().filter(is_it).find(|ident| *ident != first));
        if let Some(ident) = again {
            complaints.add(ident, &format!("`{name}` is taken twice: leave one of the two out"));
            return;
        }
    }
}

/// Returns the type behind the `&` of an argument.
fn referred<'a>(ty: &'a Type, complaints: &mut Complaints) -> Option<&'a Type> {
    if mentions_impl(ty) {
        complaints.add(
            ty,
            "an argument of an evaluator needs a type of its own, such as `String` or `Vec<T>`",
        );
        return None;
    }
    let Type::Reference(reference) = peel(ty) else {
        optional_reference(ty, complaints);
        return None;
    };
    if reference.mutability.is_some() {
        complaints.add(
            ty,
            "an evaluator cannot change the document: take the argument by value, with `mut` before its name, to change a \
             copy",
        );
    }
    static_lifetime(reference, complaints);
    Some(&*reference.elem)
}

/// Recognizes `Option` by its name, which is enough: the check only replaces a worse error of the compiler.
fn optional_reference(ty: &Type, complaints: &mut Complaints) {
    let Type::Path(path) = peel(ty) else { return };
    let Some(last) = path.path.segments.last().filter(|last| last.ident == "Option") else {
        return;
    };
    let has_reference =
        |token: &TokenTree| matches!(token, TokenTree::Punct(punct) if punct.as_char() == '&');
    if mentions(last.arguments.to_token_stream(), &has_reference) {
        complaints.add(
            ty,
            "what is behind an `Option` is owned: write `Vec<T>` instead of `&[T]` and `String` instead of `&str`, or put the \
             `&` before the `Option`",
        );
    }
}

/// The complaints about a function so far.
#[derive(Default)]
struct Complaints(Option<syn::Error>);

impl Complaints {
    fn add(&mut self, tokens: impl ToTokens, message: &str) {
        let error = syn::Error::new_spanned(tokens, message);
        match &mut self.0 {
            Some(all) => all.combine(error),
            none => *none = Some(error),
        }
    }

    /// Returns the value, or the complaints. Without a value there must be complaints.
    fn or<T>(self, value: Option<T>) -> syn::Result<T> {
        match (self.0, value) {
            (None, Some(value)) => Ok(value),
            (Some(error), _) => Err(error),
            (None, None) => {
                Err(syn::Error::new(Span::call_site(), "this function cannot be an evaluator"))
            }
        }
    }
}

/// Returns an expression of type `&'static str`: the lines of all doc comments.
///
/// `#[doc = include_str!("..")]` is only known to the compiler, hence an expression and not a string.
fn doc_text(attrs: &[Attribute]) -> TokenStream {
    let lines = attrs.iter().filter_map(|attr| match &attr.meta {
        Meta::NameValue(pair) if pair.path.is_ident("doc") => Some(line(&pair.value)),
        _ => None,
    });
    quote!(::core::concat!(#(#lines, "\n"),*))
}

fn line(value: &Expr) -> TokenStream {
    match value {
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => {
            let text = text.value();
            quote!(#text)
        }
        other => quote!(#other),
    }
}

/// Returns true if the type contains `impl Trait`.
fn mentions_impl(ty: &Type) -> bool {
    mentions_name(ty, "impl")
}

/// Returns true if any token, at any depth, is wanted.
fn mentions(tokens: TokenStream, wanted: &dyn Fn(&TokenTree) -> bool) -> bool {
    tokens.into_iter().any(|token| match &token {
        TokenTree::Group(group) => mentions(group.stream(), wanted),
        token => wanted(token),
    })
}

/// Returns the type without parentheses, including the invisible ones of `macro_rules!`.
fn peel(ty: &Type) -> &Type {
    match ty {
        Type::Group(group) => peel(&group.elem),
        Type::Paren(paren) => peel(&paren.elem),
        other => other,
    }
}

/// Returns true if the type contains the name.
fn mentions_name(ty: &Type, name: &str) -> bool {
    mentions(ty.to_token_stream(), &|token| matches!(token, TokenTree::Ident(word) if word == name))
}

/// Returns true if the type is the client of the host's model. The type checker verifies that it is the sdk's.
fn is_target(ty: &Type) -> bool {
    mentions_name(ty, "TargetClient")
}

/// Returns true if the type contains `Config<..>`.
fn is_config(ty: &Type) -> bool {
    fn is_in(tokens: TokenStream) -> bool {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let is_inside =
            |token: &TokenTree| matches!(token, TokenTree::Group(group) if is_in(group.stream()));
        tokens.iter().any(is_inside)
            || tokens.windows(2).any(|pair| {
                matches!(pair, [TokenTree::Ident(word), TokenTree::Punct(angle)]
                    if word == "Config" && angle.as_char() == '<')
            })
    }
    is_in(ty.to_token_stream())
}

/// Recognizes a `Config` with a lifetime by its name, which is enough: the check only replaces a worse error of the compiler.
fn config_that_borrows(ty: &TypePath) -> bool {
    ty.path.segments.last().is_some_and(|last| {
        last.ident == "Config" && mentions(last.arguments.to_token_stream(), &is_lifetime)
    })
}

fn is_lifetime(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == '\'')
}
