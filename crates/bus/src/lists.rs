//! The configuration's lists of one account: who may speak, who is an owner, and what is different
//! in a group.

use std::collections::{BTreeMap, BTreeSet};

use avocet_protocol::{ChatId, Role, SenderId};

/// Who may speak on one account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Allow {
    /// Whoever can reach it, as an owner: its door is guarded by the system (a terminal, the Unix
    /// socket).
    Local,
    /// These, and whoever was let in since.
    Listed(Lists),
}

/// Lists of the platform's ids. Empty ones mean nobody.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lists {
    /// Who may speak.
    pub users: BTreeSet<SenderId>,
    /// Who is an owner, named above or not.
    pub owners: BTreeSet<SenderId>,
    /// What is different in a group.
    pub groups: BTreeMap<ChatId, GroupRules>,
    /// Whether strangers who write in private are given a code.
    pub pairing: bool,
}

/// What is different in one group.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GroupRules {
    /// Who may speak there, in place of everybody who may on the account. Empty means nobody.
    pub allow: Option<BTreeSet<SenderId>>,
    /// Whether an owner has an owner's tools there.
    pub owner_tools: bool,
}

impl Lists {
    /// The role that the lists give.
    pub(crate) fn role(&self, sender: &SenderId) -> Option<Role> {
        if self.owners.contains(sender) {
            return Some(Role::Owner);
        }
        self.users.contains(sender).then_some(Role::User)
    }

    /// The role of somebody in a group who is `own` on the account: others read along, and what they
    /// write is read by the model too, so that nobody is more than a user unless it is wanted.
    pub(crate) fn role_in_group(
        &self,
        group: &ChatId,
        sender: &SenderId,
        own: Option<Role>,
    ) -> Option<Role> {
        let rules = self.groups.get(group);
        let listed = rules.and_then(|rules| rules.allow.as_ref());
        let speaks = listed.map_or(own.is_some(), |allow| allow.contains(sender));
        let owner_tools = rules.is_some_and(|rules| rules.owner_tools);
        let role = own.filter(|_| owner_tools).unwrap_or(Role::User);
        speaks.then_some(role)
    }

    /// Everybody who is named for the whole account.
    pub(crate) fn people(&self) -> Vec<(SenderId, Role)> {
        let named: BTreeSet<&SenderId> = self.users.iter().chain(&self.owners).collect();
        named.into_iter().filter_map(|one| Some((one.clone(), self.role(one)?))).collect()
    }
}
