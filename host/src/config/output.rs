//! Formats of the report.

/// Defines [`OutputFormat`] from one row per format: variant, name and description.
macro_rules! output_formats {
    ($($(#[$attribute:meta])* $variant:ident $name:literal $description:literal;)*) => {
        /// Format of the report.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub enum OutputFormat {
            $(#[doc = $description] $(#[$attribute])* $variant,)*
        }

        impl OutputFormat {
            /// All formats.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Returns the name in configurations and on the command line.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// Returns the description for the help of the command.
            pub fn description(self) -> &'static str {
                match self { $(Self::$variant => $description,)* }
            }
        }
    };
}

output_formats! {
    #[default] Table "table" "A table per conversation";
    Overview "overview" "A row per evaluator, then the worst conversations; the default on a terminal for more than 20 conversations";
    Json "json" "One JSON document";
    Summary "summary" "A line per metric";
    Junit "junit" "JUnit XML";
    Csv "csv" "A row per evaluation, comma-separated";
    OpenMetrics "openmetrics" "Numbers of each evaluator as OpenMetrics text";
    Markdown "markdown" "A Markdown table, failures and errors first";
    Html "html" "One HTML file to look at, also with the transcripts of what did not pass";
    Github "github" "Annotations for GitHub workflows; also appends a job summary to $GITHUB_STEP_SUMMARY";
}
