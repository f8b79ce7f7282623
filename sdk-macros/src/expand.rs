//! Code generation.
//!
//! Generated code is spanned `mixed_site`, so that the author's variables and lints do not apply to it, and located at the
//! type it is about, so that the compiler's errors point there. Every path is anchored. `EVALUATOR` contains closures
//! instead of functions, because an item there could shadow one of the author's.

use proc_macro2::{Group, Span, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::{Ident, Path, spanned::Spanned};

use crate::{
    check::{self, Argument, Origin, Output, Plan},
    options::Options,
    signature::Function,
};

/// Returns the function as it was written, and the generated items.
pub(crate) fn program(plan: &Plan<'_>, original: &TokenStream) -> TokenStream {
    let paths = Paths::new(plan.krate);
    let support = &paths.support;
    let Plan { name, docs, strict, .. } = plan;
    let contract = Ident::new(plan.contract.type_name, Span::mixed_site());
    let krate = &paths.krate;
    let contract = quote_spanned!(Span::mixed_site()=> #krate::contract::#contract);
    let call = call(plan, &contract, &paths);
    let schema = schema(&plan.arguments, &paths);
    let evaluator = quote_spanned! {Span::mixed_site()=>
        #support::evaluator::<#contract>(#name, #docs, #strict, #call, #schema)
    };
    let items = items(&plan.item, &paths, &evaluator);
    quote!(#original #items)
}

/// Returns the function as it was written, the errors, and items like those of a function without errors.
pub(crate) fn stub(
    function: &Function,
    original: &TokenStream,
    options: &Options,
    error: &syn::Error,
) -> TokenStream {
    let errors = error.to_compile_error();
    if function.is_method() {
        return quote!(#original #errors);
    }
    if function.is_main() {
        // As the entry point it would cause further errors.
        return quote_spanned! {Span::mixed_site()=>
            #errors
            #[allow(dead_code)]
            const _: () = { #original };
            #[allow(dead_code)]
            fn main() {}
        };
    }
    let paths = Paths::new(options.krate.as_ref());
    let support = &paths.support;
    let evaluator = quote_spanned!(Span::mixed_site()=> #support::stub());
    let items = items(&check::item(function), &paths, &evaluator);
    quote!(#original #errors #items)
}

/// Paths of the sdk.
struct Paths {
    krate: TokenStream,
    /// The module for this macro. Its name contains the version, so that versions are never mixed.
    support: TokenStream,
}

impl Paths {
    fn new(krate: Option<&Path>) -> Self {
        let krate = krate.map_or_else(
            || quote_spanned!(Span::mixed_site()=> ::evaluator_sdk),
            ToTokens::to_token_stream,
        );
        let support = quote_spanned!(Span::mixed_site()=> #krate::__private_0_1);
        Self { krate, support }
    }
}

/// Generates the type with the name of the function, which is in another namespace, and its members.
fn items(item: &check::Item<'_>, paths: &Paths, evaluator: &TokenStream) -> TokenStream {
    let check::Item { attrs, ident, deprecated, .. } = item;
    let krate = &paths.krate;
    let vis = respan(item.vis.to_token_stream());
    let mut name = Ident::clone(ident);
    name.set_span(generated_at(ident.span()));
    let about = format!("The evaluator `{ident}` as a program.");
    // If the function is deprecated, so is the type; that concerns users, not this code.
    let quiet = deprecated.then(|| quote_spanned!(Span::mixed_site()=> #[allow(deprecated)]));
    quote_spanned! {Span::mixed_site()=>
        #(#attrs)*
        #[doc = #about]
        #vis enum #name {}

        #(#attrs)*
        #quiet
        impl #name {
            /// The evaluator as a value, to be run together with others or tested.
            #vis const EVALUATOR: #krate::Evaluator = #evaluator;

            /// Runs the program: reads a document from standard input, writes the answer to standard output.
            ///
            /// Returns only if nothing failed; after a failure it ends the process with the code of that failure.
            #vis fn run() -> ::std::process::ExitCode {
                #krate::run_any(&[Self::EVALUATOR])
            }
        }
    }
}

/// Generates the closure from a document to the outcome of the function.
fn call(plan: &Plan<'_>, contract: &TokenStream, paths: &Paths) -> TokenStream {
    let Paths { krate, support } = paths;
    let (context, turns) = (local("context"), local("turns"));
    let evaluator = &plan.name;
    let variables: Vec<Ident> =
        (0..plan.arguments.len()).map(|index| local(&format!("argument_{index}"))).collect();
    // A single argument may take the document itself.
    let (method, access) = match plan.arguments.len() {
        1 => ("from_only_input", quote_spanned!(Span::mixed_site()=> &mut #context)),
        _ => ("from_input", quote_spanned!(Span::mixed_site()=> &#context)),
    };
    let extractions = plan.arguments.iter().zip(&variables).map(|(argument, variable)| {
        let Argument { name, ty, origin } = argument;
        let span = generated_at(ty.span());
        match origin {
            Origin::Type => {
                let method = Ident::new(method, span);
                quote_spanned! {span=>
                    let #variable = #support::argument(
                        #name,
                        <#ty as #krate::FromInput<'_, #contract>>::#method(#access),
                    )?;
                }
            }
            Origin::Name(None) => quote_spanned! {span=>
                let #variable = #support::parameter::<#contract, #ty>(#name, &#context)?;
            },
            Origin::Name(Some(referred)) => quote_spanned! {generated_at(referred.span())=>
                let #variable = #support::parameter::<
                    #contract,
                    <#referred as #support::Referred>::Owned,
                >(#name, &#context)?;
            },
        }
    });
    let outcome = outcome(plan, &variables, contract, paths);
    quote_spanned! {Span::mixed_site()=>
        |#context| {
            #[allow(unused_mut)]
            let mut #context = #support::context::<#contract>(#context, #evaluator)?;
            let #turns = #support::turns::<#contract>(&#context);
            #(#extractions)*
            #support::answer::<#contract>(#outcome, #turns)
        }
    }
}

/// Calls the function with the extracted arguments and converts what it returns.
fn outcome(
    plan: &Plan<'_>,
    variables: &[Ident],
    contract: &TokenStream,
    Paths { krate, support }: &Paths,
) -> TokenStream {
    let passed =
        plan.arguments.iter().zip(variables).map(|(argument, variable)| match &argument.origin {
            Origin::Name(Some(referred)) => quote_spanned! {generated_at(argument.ty.span())=>
                ::core::borrow::Borrow::<#referred>::borrow(&#variable)
            },
            _ => variable.to_token_stream(),
        });
    let function = plan.item.ident;
    let mut output = quote_spanned!(Span::mixed_site()=> #function(#(#passed),*));
    if plan.is_async {
        output = quote_spanned!(Span::mixed_site()=> #support::block_on(#output));
    }
    match &plan.output {
        Output::Named(ty) => quote_spanned! {generated_at(ty.span())=>
            <#ty as #krate::IntoOutcome<#contract, _>>::into_outcome(#output)
        },
        Output::Opaque(ty) => quote_spanned! {generated_at(ty.span())=>
            #krate::IntoOutcome::<#contract, _>::into_outcome(#output)
        },
    }
}

/// Generates the closure that returns the schema of the config, of the first argument that has one.
fn schema(arguments: &[Argument<'_>], paths: &Paths) -> TokenStream {
    let support = &paths.support;
    let types = arguments.iter().map(|argument| argument.ty);
    quote_spanned! {Span::mixed_site()=>
        || {
            // An inherent method of `Probe`, which exists only for types with a schema, takes precedence over the trait's.
            #[allow(unused_imports)]
            use #support::WithoutSchema as _;
            ::core::option::Option::None
                #(.or_else(|| #support::Probe::<#types>::NEW.config_schema()))*
        }
    }
}

/// Returns the span of generated code that belongs to `span`.
fn generated_at(span: Span) -> Span {
    Span::mixed_site().located_at(span)
}

/// Returns a name that does not collide with a `const` or `static` of the author's, from which hygiene does not protect
/// patterns.
fn local(name: &str) -> Ident {
    format_ident!("__evaluator_{name}", span = Span::mixed_site())
}

/// Returns the tokens with spans of generated code.
fn respan(tokens: TokenStream) -> TokenStream {
    tokens
        .into_iter()
        .map(|mut token| {
            let span = generated_at(token.span());
            if let TokenTree::Group(group) = &token {
                token = Group::new(group.delimiter(), respan(group.stream())).into();
            }
            token.set_span(span);
            token
        })
        .collect()
}
