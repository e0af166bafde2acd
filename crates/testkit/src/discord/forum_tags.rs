//! The tags of forums.

use serde_json::{Value, json};

/// The flag of a forum that refuses posts without a tag (`REQUIRE_TAG`).
const REQUIRE_TAG: u64 = 1 << 4;

/// The tags of a forum, and those of its posts.
#[derive(Debug, Default)]
pub(super) struct Forum {
    pub(super) tags: Vec<(u64, String)>,
    pub(super) posts: Vec<(u64, Vec<u64>)>,
    pub(super) requires_tag: bool,
}

impl Forum {
    pub(super) fn flags(&self) -> u64 {
        if self.requires_tag { REQUIRE_TAG } else { 0 }
    }

    pub(super) fn described_tags(&self) -> Value {
        let tags = self.tags.iter().map(|(id, name)| {
            json!({ "id": id.to_string(), "name": name, "moderated": false, "emoji_id": null,
                "emoji_name": null })
        });
        tags.collect()
    }
}
