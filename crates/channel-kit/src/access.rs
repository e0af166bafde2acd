//! The people with access to a bot, from the keys of its table.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;

use avocet_protocol::access::{Allow, AllowLists, GroupRules};
use avocet_protocol::ids::{ChatId, IdError, SenderId};

use crate::GroupConfig;

/// The keys of a bot's table that concern access. The ids are those of the platform.
#[derive(Debug, Clone, Copy)]
pub struct BotAccess<'c, Id> {
    /// People with access.
    pub allow: &'c [Id],
    /// Owners, who may be missing from `allow`.
    pub owners: &'c [u64],
    /// Settings of single groups, by group id.
    pub groups: &'c BTreeMap<String, GroupConfig>,
    /// `true` to send a pairing code to strangers in private chats.
    pub pairing: bool,
}

impl<Id: Display> BotAccess<'_, Id> {
    /// Returns the access rule of the bot.
    ///
    /// # Errors
    /// [`IdError`] if the id of a group is malformed.
    pub fn rule(self) -> Result<Allow, IdError> {
        let rules = |group: &GroupConfig| {
            let allow = group.allow.as_deref().map(parse_ids).transpose()?;
            Ok(GroupRules { allow, owner_tools: group.owner_tools })
        };
        let groups = self.groups.iter().map(|(id, group)| Ok((ChatId::parse(id)?, rules(group)?)));
        Ok(Allow::Listed(AllowLists {
            users: parse_ids(self.allow)?,
            owners: parse_ids(self.owners)?,
            roles: BTreeMap::new(),
            groups: groups.collect::<Result<_, IdError>>()?,
            decides_own_only: false,
            pairing: self.pairing,
        }))
    }
}

fn parse_ids(ids: &[impl Display]) -> Result<BTreeSet<SenderId>, IdError> {
    ids.iter().map(|id| SenderId::parse(&id.to_string())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rule_of_a_bot_has_the_ids_of_people_and_groups() {
        let group = GroupConfig { allow: Some(vec![3]), owner_tools: true, mention: true };
        let quiet = GroupConfig::default();
        let groups = [("-5".to_owned(), group), ("-6".to_owned(), quiet)].into();
        let access = BotAccess { allow: &[1, 2], owners: &[2], groups: &groups, pairing: true };
        let ids = |ids: &[&str]| ids.iter().map(|id| id.parse().unwrap()).collect();
        let rules = [
            ("-5".parse().unwrap(), GroupRules { allow: Some(ids(&["3"])), owner_tools: true }),
            ("-6".parse().unwrap(), GroupRules::default()),
        ];
        let (users, owners) = (ids(&["1", "2"]), ids(&["2"]));
        let lists = AllowLists {
            users,
            owners,
            groups: rules.into(),
            pairing: true,
            ..AllowLists::default()
        };
        assert_eq!(access.rule().unwrap(), Allow::Listed(lists));
        let groups = [(String::new(), GroupConfig::default())].into();
        assert!(BotAccess { groups: &groups, ..access }.rule().is_err());
    }
}
