//! The ends of chunks that are abandoned, with the notices about them.

use std::sync::Arc;

use avocet_protocol::channel::Channel;
use avocet_protocol::chat::{Content, Delivery, Planned};
use avocet_protocol::store::{Head, SendEnd};

use crate::ChannelRegistry;
use crate::closed_chats::ClosedChats;
use crate::rules;

/// Returns the end of a chunk that the platform refused. A closed chat gets no notice.
pub(crate) fn refused_end(
    channel: &Arc<dyn Channel>,
    head: &Head,
    error: String,
    (closed, channels): (&ClosedChats, &Arc<ChannelRegistry>),
) -> SendEnd {
    if !channel.is_closed(&head.delivery.address) {
        return dead_end(channel, head, error, closed);
    }
    warn_abandoned(head, "refused", &error);
    SendEnd::Dead { notice: closed.plan_notice(channels, head, &error), error }
}

pub(crate) fn dead_end(
    channel: &Arc<dyn Channel>,
    head: &Head,
    error: String,
    owners: &ClosedChats,
) -> SendEnd {
    warn_abandoned(head, "refused", &error);
    let is_for_owner = owners.is_owners_chat(&head.delivery.address);
    let content = rules::dead_notice(&head.delivery.content, &error, is_for_owner);
    SendEnd::Dead { notice: plan_notice(channel, head, &content), error }
}

pub(crate) fn unconfirmed_end(channel: &Arc<dyn Channel>, head: &Head, error: String) -> SendEnd {
    warn_abandoned(head, "unconfirmed", &error);
    let content = rules::unconfirmed_notice(&head.delivery.content);
    SendEnd::Unconfirmed { notice: plan_notice(channel, head, &content), error }
}

/// A notice gets no warning of its own: its cause was logged with the message that it is about.
fn warn_abandoned(head: &Head, state: &'static str, error: &str) {
    let Delivery { id, address, .. } = &head.delivery;
    if head.notice {
        tracing::info!(delivery = %id, chat = %address, state, error, "notice abandoned");
    } else {
        tracing::warn!(delivery = %id, chat = %address, state, error, "delivery abandoned");
    }
}

/// Returns the notice for the chat; `None` if the failed message was itself a notice.
fn plan_notice(channel: &Arc<dyn Channel>, head: &Head, content: &Content) -> Option<Planned> {
    let address = head.delivery.address.clone();
    (!head.notice).then(|| Planned { address, chunks: channel.plan(content) })
}
