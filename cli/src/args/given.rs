//! Options that are on the command line.

use clap::{ArgMatches, Args, Command, Error, FromArgMatches, parser::ValueSource};

/// Ids of the options that decide which evaluators run and how. None of them contains a secret.
const DECIDING: &str = "config no_config eval_set metric evaluator format judge_model judge_samples judge_cassette judge_mode \
                        targets outputs test_id target grader_target max_retries threshold trajectory_match_type group_by \
                        case_key cluster strict_matching retries repeat locked contain";

/// Options on the command line of a command, without defaults. The first field of its arguments: the fields before it would have
/// taken their values.
#[derive(Clone, Debug, Default)]
pub(crate) struct Given {
    ids: Vec<String>,
    /// Those that decide which evaluators run and how, as they can be parsed again, for the run file.
    pub(crate) deciding: Vec<String>,
}

impl Given {
    /// Returns the first of these options that is given, as it is written; `ids` is a list with blanks.
    pub(crate) fn first_of(&self, ids: &str) -> Option<String> {
        ids.split(' ').find(|id| self.ids.iter().any(|it| it == id)).map(option)
    }
}

fn option(id: &str) -> String {
    format!("--{}", id.replace('_', "-"))
}

/// Returns an option as it can be parsed again.
fn parseable(id: &str, matches: &ArgMatches) -> Vec<String> {
    if let Ok(Some(_)) = matches.try_get_one::<bool>(id) {
        return vec![option(id)];
    }
    let values = matches.get_raw(id).into_iter().flatten();
    values.map(|value| format!("{}={}", option(id), value.to_string_lossy())).collect()
}

impl FromArgMatches for Given {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let is_given = |id: &&str| matches.value_source(id) == Some(ValueSource::CommandLine);
        let ids = matches.ids().map(|id| id.as_str()).filter(is_given).map(str::to_owned);
        let mut given = Self { ids: ids.collect(), deciding: Vec::new() };
        let deciding = DECIDING.split(' ').filter(|id| given.ids.iter().any(|it| it == id));
        given.deciding = deciding.flat_map(|id| parseable(id, matches)).collect();
        Ok(given)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for Given {
    fn augment_args(command: Command) -> Command {
        command
    }

    fn augment_args_for_update(command: Command) -> Command {
        command
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::args::{Cli, OF_BASELINES, eval_file};

    #[test]
    fn every_option_that_is_asked_for_is_one_of_run() {
        let command = Cli::command();
        let run = command.find_subcommand("run").unwrap();
        let ids: Vec<_> = run.get_arguments().map(|it| it.get_id().as_str()).collect();
        let lists = [DECIDING, OF_BASELINES, eval_file::OF_EVAL_FILES, eval_file::OF_TRACES];
        for id in lists.iter().flat_map(|ids| ids.split_whitespace()) {
            assert!(ids.contains(&id), "{id}");
        }
    }
}
