//! The context of a turn beside its record in the log.

use std::sync::Arc;

use avocet_protocol::access::{Asker, Grant, PermissionMode, Role, Roles};
use avocet_protocol::chat::{ChatAddress, ChatKind, Inbound, LoggedInbound};
use avocet_protocol::tool::{ChoiceBits, Place, SkillCall};
use avocet_protocol::turn::TurnRecord;
use tokio_util::sync::CancellationToken;

use crate::JobPlan;

/// The context of a turn: its chat, its senders' roles, its cancellation.
#[derive(Debug, Clone)]
pub struct TurnContext {
    /// The destination of the reply; `None` for a turn without a chat, such as a child's.
    pub chat: Option<ChatAddress>,
    /// Fires when the turn is cancelled.
    pub cancel: CancellationToken,
    /// For a child: the messages that the turn at the root works on.
    pub asked_by: Vec<LoggedInbound>,
    /// The name of the agent that answers.
    pub agent: String,
    /// For a child: the profiles of its ancestors.
    pub within: Vec<String>,
    /// For a child: the calls of each ancestor that may have loaded a skill. Their limits on tools
    /// apply as well.
    pub skills_above: Arc<[Vec<SkillCall>]>,
    /// Looks up the roles of senders.
    pub roles: Arc<dyn Roles>,
    /// The permissions that a person has granted for the session.
    pub grants: Arc<[Grant]>,
    /// For a child: the bits that its choices may tell without a question.
    pub bits: Option<ChoiceBits>,
    /// The mode of the turn, which can narrow the policy.
    pub mode: PermissionMode,
    /// The program's own steps in a job; empty for other turns.
    pub job: JobPlan,
}

impl TurnContext {
    /// Returns the lowest role among the senders of the turn's messages. Roles are looked up now,
    /// since the turn may have been steered, or a sender removed, after it began. Without a sender:
    /// a user's role.
    pub(crate) fn role(&self, turn: &TurnRecord) -> Role {
        let roles = self.asking(turn).map(|message| self.roles.role(&message.message.inbound));
        roles.min().unwrap_or_default()
    }

    /// Returns the place at which the root turn was asked. It counts as a group if one of its
    /// messages came from a group.
    pub(crate) fn place(&self, turn: &TurnRecord) -> Place {
        let within = self.within.clone();
        let is_editor = turn.session.is_of_editor();
        let mut place = Place { channel: None, chat: ChatKind::Private, is_editor, within };
        for Inbound { address, chat, .. } in self.asking(turn).map(|one| &one.message.inbound) {
            place.channel = Some(address.channel.clone());
            if *chat == ChatKind::Group {
                place.chat = ChatKind::Group;
            }
        }
        place
    }

    /// Returns the author of the last message.
    pub(crate) fn asker(&self, turn: &TurnRecord) -> Option<Asker> {
        self.roles.asker(&self.asking(turn).last()?.message.inbound)
    }

    /// Returns the authors of the messages that the turn works on.
    pub(crate) fn list_askers(&self, turn: &TurnRecord) -> Vec<Asker> {
        let messages = self.asking(turn).map(|message| &message.message.inbound);
        messages.filter_map(|inbound| self.roles.asker(inbound)).collect()
    }

    /// Returns the messages whose text the turn works on.
    fn asking<'a>(&'a self, turn: &'a TurnRecord) -> impl Iterator<Item = &'a LoggedInbound> {
        let steered = turn.steps.iter().flat_map(|step| &step.steered);
        self.asked_by.iter().chain(turn.origin.messages()).chain(steered)
    }
}
