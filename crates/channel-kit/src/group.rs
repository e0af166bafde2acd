//! The part of a channel's configuration that concerns groups.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Deserialize;

/// Settings of one group.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct GroupConfig {
    /// Numeric user ids of the people who have access in this group, owners included. The list
    /// replaces those of the account; an empty list admits no one. Default: the people with access
    /// to the account.
    pub allow: Option<Vec<i64>>,
    /// `true` to let owners use their own tools in this group, although other members read along.
    /// Default: `false`.
    pub owner_tools: bool,
    /// `true` to answer only messages that mention the bot, reply to it or are commands. Default:
    /// `true`.
    pub mention: bool,
}

impl Default for GroupConfig {
    fn default() -> Self {
        Self { allow: None, owner_tools: false, mention: true }
    }
}

/// The ids of the configured groups.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupIds<I> {
    /// Every group with a table.
    pub named: BTreeSet<I>,
    /// Groups in which the bot answers without a mention.
    pub unmentioned: BTreeSet<I>,
}

impl<I: Ord + Copy> GroupIds<I> {
    /// Parses the ids, which the platform's `parse` recognises.
    ///
    /// # Errors
    /// The first invalid id.
    pub fn parse(
        groups: &BTreeMap<String, GroupConfig>,
        parse: impl Fn(&str) -> Option<I>,
    ) -> Result<Self, String> {
        let mut ids = Self { named: BTreeSet::new(), unmentioned: BTreeSet::new() };
        for (text, group) in groups {
            let id = parse(text).ok_or_else(|| text.clone())?;
            ids.named.insert(id);
            if !group.mention {
                ids.unmentioned.insert(id);
            }
        }
        Ok(ids)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn group_ids_parse_collects_unmentioned_groups_and_names_an_invalid_id() {
        let parse = |ids: &[(&str, bool)]| {
            let group = |mention| GroupConfig { mention, ..GroupConfig::default() };
            let groups = ids.iter().map(|(id, mention)| ((*id).to_owned(), group(*mention)));
            GroupIds::parse(&groups.collect(), |id| id.parse::<u8>().ok())
        };
        let ids = parse(&[("1", true), ("2", false)]).unwrap();
        assert_eq!((ids.named, ids.unmentioned), (BTreeSet::from([1, 2]), BTreeSet::from([2])));
        assert_eq!(parse(&[("1", true), ("x", true)]), Err("x".to_owned()));
    }
}
