//! The people with access to an account of a channel: users, owners, and rules for groups.

use std::collections::{BTreeMap, BTreeSet};

use crate::access::Role;
use crate::ids::{ChatId, SenderId};

/// The access rule of an account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Allow {
    /// Everyone who can reach the account, as an owner: the system protects it (a terminal, the
    /// Unix socket).
    Local,
    /// The listed people, and people admitted later.
    Listed(AllowLists),
}

/// Lists of platform ids. An empty list admits no one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AllowLists {
    /// People with access.
    pub users: BTreeSet<SenderId>,
    /// Owners, who may be missing from `users`.
    pub owners: BTreeSet<SenderId>,
    /// Roles of the platform whose members have access in groups, by role id.
    pub roles: BTreeMap<String, Role>,
    /// Rules for single groups.
    pub groups: BTreeMap<ChatId, GroupRules>,
    /// `true` if strangers in private chats get a pairing code.
    pub pairing: bool,
    /// `true` if its owners decide about questions of its own chats only, since a program that is not
    /// the daemon says who they are.
    pub decides_own_only: bool,
}

/// Exceptions from the account's rules in one group.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GroupRules {
    /// Replaces the account's list in this group. An empty list admits no one.
    pub allow: Option<BTreeSet<SenderId>>,
    /// `true` if owners keep their tools in this group.
    pub owner_tools: bool,
}

impl AllowLists {
    /// Returns the role that the lists give.
    #[must_use]
    pub fn role(&self, sender: &SenderId) -> Option<Role> {
        if self.owners.contains(sender) {
            return Some(Role::Owner);
        }
        self.users.contains(sender).then_some(Role::User)
    }

    /// Returns the role that the platform's roles of a group's member give.
    #[must_use]
    pub fn role_of_roles(&self, roles: &[String]) -> Option<Role> {
        roles.iter().filter_map(|role| self.roles.get(role)).max().copied()
    }

    /// Returns the role in a group of a person with the role `own` on the account. Other members
    /// read along and the model reads their texts, so everyone is a user unless configured
    /// otherwise.
    #[must_use]
    pub fn role_in_group(
        &self,
        group: &ChatId,
        sender: &SenderId,
        own: Option<Role>,
    ) -> Option<Role> {
        let rules = self.groups.get(group);
        let listed = rules.and_then(|rules| rules.allow.as_ref());
        let has_access = listed.map_or(own.is_some(), |allow| allow.contains(sender));
        let owner_tools = rules.is_some_and(|rules| rules.owner_tools);
        let role = own.filter(|_| owner_tools).unwrap_or(Role::User);
        has_access.then_some(role)
    }

    /// Returns the people listed for the whole account.
    #[must_use]
    pub fn people(&self) -> Vec<(SenderId, Role)> {
        let named: BTreeSet<&SenderId> = self.users.iter().chain(&self.owners).collect();
        named.into_iter().filter_map(|one| Some((one.clone(), self.role(one)?))).collect()
    }
}
