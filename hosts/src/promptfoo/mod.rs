//! promptfoo: its assertions call Python code, which makes an AgentV document of their arguments.

mod export;

use evaluator_protocol::Contract;

use super::ForeignHost;

pub(super) static HOST: ForeignHost = ForeignHost {
    name: "promptfoo",
    title: "promptfoo",
    contract: Contract::AgentV,
    foreign: None,
    suite: None,
    exporter: Some(export::EXPORTER),
};
