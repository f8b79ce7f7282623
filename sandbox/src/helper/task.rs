//! What the helper has to do, and with what.

use std::os::fd::OwnedFd;

use super::{listener::HandOver, start::Start};
use crate::order::Order;

/// Task of the helper.
pub(super) struct Task {
    pub(super) order: Order,
    pub(super) start: Start,
    /// Can be read when a child has ended.
    pub(super) child_ended: OwnedFd,
    /// Can be read when the host has ended.
    pub(super) host: OwnedFd,
    /// Connection to the host's receiver of listening sockets, if the policy has a listener.
    pub(super) hand_over: Option<HandOver>,
}
