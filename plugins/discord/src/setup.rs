//! The first contact with a bot, for `avocet init`. Discord knows the owner of an application, so
//! the owner need not write to the bot.

use async_trait::async_trait;
use avocet_protocol::channel::{BotIntroduction, BotSetup, OwnerCandidate};
use avocet_protocol::clock::within;
use serde_json::Value;

use crate::Discord;
use crate::rest::REQUEST_TIMEOUT;
use crate::routes::Route;

/// The permissions that the bot uses in a server (Discord API, "Permissions").
const PERMISSIONS: [u64; 9] = [
    1 << 6,  // ADD_REACTIONS
    1 << 10, // VIEW_CHANNEL
    1 << 11, // SEND_MESSAGES
    1 << 14, // EMBED_LINKS
    1 << 15, // ATTACH_FILES
    1 << 16, // READ_MESSAGE_HISTORY
    1 << 31, // USE_APPLICATION_COMMANDS
    1 << 35, // CREATE_PUBLIC_THREADS
    1 << 38, // SEND_MESSAGES_IN_THREADS
];

#[async_trait]
impl BotSetup for Discord {
    async fn introduction(&self) -> Result<BotIntroduction, String> {
        let application = self.application().await?;
        let name = application["name"].as_str().unwrap_or_default().to_owned();
        let link = invite_link(application["id"].as_str().unwrap_or_default());
        let hints = vec![format!("to add it to a server, open {link}")];
        Ok(BotIntroduction { name, hints, invitation: None })
    }

    async fn owner(&self, refused: &[u64]) -> Result<OwnerCandidate, String> {
        let application = self.application().await?;
        let owner = owner_of(&application).filter(|owner| !refused.contains(&owner.id));
        owner.ok_or_else(|| "Discord names no other owner of the application".to_owned())
    }
}

impl Discord {
    async fn application(&self) -> Result<Value, String> {
        let request = self.rest.get::<Value>(Route::Oauth2ApplicationCurrent);
        match within(self.clock.as_ref(), REQUEST_TIMEOUT, request).await {
            Ok(answered) => answered.map_err(|fault| fault.to_string()),
            Err(_) => Err("Discord does not answer".to_owned()),
        }
    }
}

/// Returns the page on which a person adds the bot to a server (Discord API, "Bot Authorization
/// Flow").
fn invite_link(application: &str) -> String {
    let permissions = PERMISSIONS.iter().fold(0, |all, one| all | one);
    format!(
        "https://discord.com/oauth2/authorize?client_id={application}&scope=bot+applications.commands\
         &permissions={permissions}"
    )
}

/// Returns the owner of an application. A team has an owner, too (Discord API, "Team Object").
fn owner_of(application: &Value) -> Option<OwnerCandidate> {
    let team = &application["team"];
    let user = match team["owner_user_id"].as_str() {
        None => &application["owner"],
        Some(id) => {
            let members = team["members"].as_array()?;
            members.iter().map(|member| &member["user"]).find(|user| user["id"] == id)?
        }
    };
    let id = user["id"].as_str()?.parse().ok()?;
    let name = user["username"].as_str().unwrap_or_default().to_owned();
    let reason = match team["name"].as_str() {
        None => "owns the application".to_owned(),
        Some(team) => format!("owns the team {team:?} of the application"),
    };
    Some(OwnerCandidate { id, name, reason })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn owner_of_an_application_is_its_owner_or_that_of_its_team() {
        let user = |id: &str, name: &str| json!({ "id": id, "username": name });
        let candidate = |id, name: &str, reason: &str| {
            let (name, reason) = (name.to_owned(), reason.to_owned());
            Some(OwnerCandidate { id, name, reason })
        };
        let members = json!([{ "user": user("7", "ada") }, { "user": user("8", "bob") }]);
        let team = json!({ "owner_user_id": "8", "name": "birds", "members": members });
        let table = [
            (
                json!({ "owner": user("7", "ada"), "team": null }),
                candidate(7, "ada", "owns the application"),
            ),
            (
                json!({ "owner": user("9", "team9"), "team": team }),
                candidate(8, "bob", "owns the team \"birds\" of the application"),
            ),
            (json!({ "owner": user("no", "ada") }), None),
            (json!({}), None),
        ];
        for (application, expected) in table {
            assert_eq!(owner_of(&application), expected, "{application}");
        }
    }

    #[test]
    fn invite_link_names_the_scopes_and_the_permissions() {
        let link = invite_link("42");
        assert!(link.contains("client_id=42&scope=bot+applications.commands&"), "{link}");
        assert!(link.ends_with("permissions=311385246784"), "{link}");
    }
}
