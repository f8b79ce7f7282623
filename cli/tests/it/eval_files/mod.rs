//! Eval files of AgentV: whole cases, and what the command line does with them.

mod cases;
mod command;
mod judge_server;
mod keys;
mod mutate;
mod outputs;
mod programs;
mod reports;
mod runs;
