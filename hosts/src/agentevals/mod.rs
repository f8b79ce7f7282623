//! agentevals: the host of the default contract.

mod conform;
mod export;

use evaluator_protocol::Contract;

use super::ForeignHost;

pub(super) static HOST: ForeignHost = ForeignHost {
    name: "agentevals",
    title: "agentevals",
    contract: Contract::Agentevals,
    foreign: None,
    suite: Some(conform::SUITE),
    exporter: Some(export::EXPORTER),
};
