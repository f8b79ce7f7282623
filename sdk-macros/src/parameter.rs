//! Arguments that are told by their names, as those of Python functions are.

use proc_macro2::TokenTree;
use quote::ToTokens;
use syn::{Type, ext::IdentExt};

use crate::{
    check::{Argument, Origin, argument_name, static_lifetime},
    complaints::Complaints,
    nearest::nearest,
    options::Contract,
    signature::{Input, Signature, Typed},
    types::{is_config, mentions, mentions_impl, mentions_name, peel},
};

/// What messages call an argument, and where it comes from.
pub(crate) fn told<'a>(
    typed: &'a Typed,
    contract: Contract,
    known: &[&str],
    complaints: &mut Complaints,
) -> (String, Origin<'a>) {
    if let Some(name) = written(typed).filter(|name| known.contains(&name.as_str())) {
        return (name, Origin::Name(referred(&typed.ty, complaints)));
    }
    // No argument has such a name, so that it is the type that tells; and the type itself says whether it is the sdk's.
    if is_config(&typed.ty) {
        if contract == Contract::Agenta {
            complaints.add(
                &typed.ty,
                "evaluators of the contract `agenta` take their settings by name: write `app_params: Settings`",
            );
        }
        return (argument_name(typed), Origin::Type);
    }
    unknown(typed, contract, known, complaints);
    (argument_name(typed), Origin::Name(None))
}

/// Its name. It may begin with `_`, as names of what is not used do.
fn written(typed: &Typed) -> Option<String> {
    let name = typed.name.as_ref()?.unraw().to_string();
    Some(name.strip_prefix('_').unwrap_or(&name).to_owned())
}

fn unknown(typed: &Typed, contract: Contract, known: &[&str], complaints: &mut Complaints) {
    let names: Vec<String> = known.iter().map(|name| format!("`{name}`")).collect();
    let (names, keyword) = (names.join(", "), contract.keyword());
    let Some((ident, name)) = typed.name.as_ref().zip(written(typed)) else {
        let message = format!(
            "arguments of the contract `{keyword}` are told by their names: give this one the name it has there, one of {names}"
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

/// Complains about the document of the default contract under another one.
pub(crate) fn default_input(
    ty: &Type,
    contract: Contract,
    instead: &str,
    complaints: &mut Complaints,
) {
    let keyword = contract.keyword();
    let message = format!(
        "`EvalInput` is what evaluators of the default contract take, which serve {keyword} as well: leave \
         `contract = {keyword}` out, or take {instead}"
    );
    complaints.add(ty, &message);
}

/// Complains about arguments that are one, such as `output` and `_output`. Of the very same name the compiler knows.
pub(crate) fn twice(sig: &Signature, arguments: &[Argument<'_>], complaints: &mut Complaints) {
    let named = arguments.iter().filter(|argument| matches!(argument.origin, Origin::Name(_)));
    let typed = || {
        sig.inputs.iter().filter_map(|input| match input {
            Input::Typed(Typed { name: Some(ident), .. }) => Some(ident),
            _ => None,
        })
    };
    for Argument { name, .. } in named {
        let is_it = |ident: &&syn::Ident| {
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

/// What is behind the `&` of an argument.
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

/// Only spares the author the compiler's words for it, so it is enough to know `Option` by its name.
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
