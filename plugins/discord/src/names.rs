//! The names of a server's channels and roles, and of its own emojis. Messages carry their ids, and the
//! model gets the names.

use avocet_channel_kit::discord::DiscordMark;
use serde_json::Value;

use crate::bounded::KnownMap;
use crate::channels::described_values;

/// Longest name in a text, in characters: above Discord's own limit of 100.
const MAX_NAME: usize = 100;

/// The last known names, by id.
#[derive(Debug, Default)]
pub(crate) struct KnownNames {
    channels: KnownMap<u64, String>,
    roles: KnownMap<u64, String>,
}

impl KnownNames {
    /// Learns the names that an event of a server, a channel or a role shows.
    pub(crate) fn learn_from(&mut self, event: &str, data: &Value) {
        if event.starts_with("GUILD_ROLE_") {
            learn_name(&mut self.roles, &data["role"]);
            return;
        }
        let roles = data["roles"].as_array().filter(|_| event.starts_with("GUILD_"));
        roles.into_iter().flatten().for_each(|role| learn_name(&mut self.roles, role));
        let is_server = event.starts_with("GUILD_");
        // The last of the described values of a server is the server itself.
        let channels = described_values(data).filter(|one| !is_server || !std::ptr::eq(*one, data));
        channels.for_each(|channel| learn_name(&mut self.channels, channel));
    }

    /// Replaces the ids of channels, roles and own emojis by their names. An id without a known name
    /// stays.
    pub(crate) fn with_names(&self, text: &str) -> String {
        let mut named = String::new();
        let mut rest = text;
        while let Some(at) = rest.find('<') {
            named.push_str(&rest[..at]);
            rest = &rest[at..];
            let mark = DiscordMark::read_leading(rest);
            let (length, name) =
                mark.map_or((1, None), |(mark, length)| (length, self.name_of_mark(mark)));
            named.push_str(name.as_deref().unwrap_or(&rest[..length]));
            rest = &rest[length..];
        }
        named + rest
    }

    fn name_of_mark(&self, mark: DiscordMark<'_>) -> Option<String> {
        match mark {
            DiscordMark::Channel(id) => self.channels.peek(&id).map(|name| format!("#{name}")),
            DiscordMark::Role(id) => self.roles.peek(&id).map(|name| format!("@{name}")),
            DiscordMark::Emoji(name) => Some(format!(":{name}:")),
            DiscordMark::Time => None,
        }
    }
}

fn learn_name(names: &mut KnownMap<u64, String>, described: &Value) {
    let id = described["id"].as_str().and_then(|id| id.parse().ok());
    let name = described["name"].as_str().filter(|name| !name.is_empty());
    if let (Some(id), Some(name)) = (id, name) {
        names.put(id, name.chars().take(MAX_NAME).collect());
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn with_names_replaces_the_ids_of_channels_roles_and_emojis() {
        let mut names = KnownNames::default();
        let server = json!({
            "id": "1", "name": "Home", "channels": [{ "id": "2", "name": "kitchen" }],
            "roles": [{ "id": "3", "name": "Cooks" }],
        });
        names.learn_from("GUILD_CREATE", &server);
        names.learn_from("CHANNEL_UPDATE", &json!({ "id": "4", "name": "garden" }));
        names.learn_from("GUILD_ROLE_UPDATE", &json!({ "role": { "id": "3", "name": "Chefs" } }));
        let table = [
            ("see <#2> and <#4>", "see #kitchen and #garden"),
            ("<@&3> please <:tea:17> <a:wave:18>", "@Chefs please :tea: :wave:"),
            ("<#9> <@&9> <#1> <b>", "<#9> <@&9> <#1> <b>"),
        ];
        for (text, expected) in table {
            assert_eq!(names.with_names(text), expected);
        }
    }
}
