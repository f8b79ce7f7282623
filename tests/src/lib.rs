//! Programs, recordings and measurements for the benchmarks in `benches/` and for the tests under real hosts.

pub mod bench;

/// The examples of the README and of the pages are compiled, and run where they are not programs.
#[cfg(doctest)]
pub mod pages {
    macro_rules! page {
        ($name:ident, $path:literal) => {
            #[doc = include_str!(concat!("../../", $path))]
            #[derive(Debug)]
            pub struct $name;
        };
    }

    page!(Readme, "README.md");
    page!(FirstRust, "docs/start/first-rust.md");
    page!(FromAgenta, "docs/start/from-agenta.md");
    page!(TypedSettings, "docs/guides/typed-settings.md");
    page!(Several, "docs/guides/several.md");
    page!(Embedding, "docs/guides/embedding.md");
    page!(Contracts, "docs/explanation/contracts.md");
    page!(ModelsForPrograms, "docs/reference/models-for-programs.md");
    page!(Sdk, "docs/reference/sdk.md");
}
