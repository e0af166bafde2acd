//! The settings of a conversation for other programs: the choices of `/model`, `/think` and
//! `/mode`, with the values that they can have.

use std::sync::Arc;

use async_trait::async_trait;
use avocet_protocol::access::{PermissionMode, Role, Roles};
use avocet_protocol::chat::{Content, Inbound, Sender, SessionId};
use avocet_protocol::clock::within;
use avocet_protocol::ids::{DedupeKey, SenderId};
use avocet_protocol::model::Effort;
use avocet_protocol::session::{
    SessionOption, SessionOptionValue, SessionOptions, SessionSetting, SetOptionError,
    SetSessionOption,
};
use avocet_protocol::store::{SessionStatus, StoreError};
use avocet_text::end_sentence;

use crate::agents::Agents;
use crate::lane::Lanes;
use crate::model::LEARNING;

/// Heading above the default value in a list with headings.
const DEFAULT_GROUP: &str = "Default";

/// The settings of the conversations of a daemon.
#[derive(Debug)]
pub struct OptionDesk {
    lanes: Arc<Lanes>,
}

impl OptionDesk {
    pub(crate) fn from_lanes(lanes: &Arc<Lanes>) -> Self {
        Self { lanes: lanes.clone() }
    }

    /// Returns `true` if the chat commands of this sender in the chat are those of an owner.
    fn is_owner(&self, sender: &SenderId, session: &SessionId) -> bool {
        let Ok(key) = DedupeKey::parse("option") else { return false };
        let (chat, sender) = (session.address(), Sender::new(sender.clone()));
        let inbound = Inbound::new(chat, sender, key, Content::default());
        self.lanes.parts.bus.role(&inbound) >= Role::Owner
    }
}

#[async_trait]
impl SessionOptions for OptionDesk {
    async fn session_options(&self, session: &SessionId) -> Result<Vec<SessionOption>, StoreError> {
        let parts = &self.lanes.parts;
        let status = self.lanes.parts.with_retry(|| parts.query.session_status(session)).await?;
        let agents = parts.agents.now();
        let mut options = vec![model_option(&agents, session, &status)];
        let model = agents.for_session(session, &status).models.main;
        let facts = within(parts.clock.as_ref(), LEARNING, model.facts()).await;
        if facts.unwrap_or_default().thinking == Some(true) {
            options.push(effort_option(&agents, session, &status));
        }
        options.push(mode_option(status.permission_mode));
        Ok(options)
    }

    async fn set_session_option(
        &self,
        sender: &SenderId,
        change: &SetSessionOption,
    ) -> Result<Vec<SessionOption>, SetOptionError> {
        let SetSessionOption { session, option, value } = change;
        if !self.is_owner(sender, session) {
            let (sender, session) = (sender.clone(), session.clone());
            return Err(SetOptionError::NotOwner { sender, session, option: option.clone() });
        }
        let options = self.session_options(session).await?;
        let setting = setting_of(&options, option, value).map_err(SetOptionError::Unknown)?;
        let inbox = &self.lanes.parts.inbox;
        self.lanes.parts.with_retry(|| inbox.choose_setting(session, &setting)).await?;
        Ok(self.session_options(session).await?)
    }
}

/// Returns the models of the configuration, under the names of their providers if there are several.
fn model_option(agents: &Agents, session: &SessionId, status: &SessionStatus) -> SessionOption {
    let agent = agents.of_session(session, status);
    let is_usable = |name: &&str| agents.models.model(name, &agent.fallbacks).is_ok();
    let chosen = status.model.as_deref().filter(is_usable);
    let mut names = agents.models.configured();
    // `/model` takes models that the configuration does not name.
    if let Some(chosen) = chosen.filter(|chosen| !names.iter().any(|name| name == chosen)) {
        names.push(chosen.to_owned());
        names.sort();
    }
    let mut providers: Vec<&str> = names.iter().map(|name| split_name(name).0).collect();
    providers.dedup();
    let has_groups = providers.len() > 1;
    let own = agent.run.models.main.name();
    let default = default_value(Some(own));
    let group = has_groups.then(|| DEFAULT_GROUP.to_owned());
    let default = SessionOptionValue { group, ..default };
    let models = names.iter().map(|name| {
        let (provider, model) = split_name(name);
        SessionOptionValue {
            value: name.clone(),
            name: model.to_owned(),
            description: None,
            group: has_groups.then(|| provider.to_owned()),
        }
    });
    SessionOption {
        option: SessionOption::MODEL.to_owned(),
        value: chosen.unwrap_or(SessionOption::DEFAULT).to_owned(),
        values: std::iter::once(default).chain(models).collect(),
    }
}

/// Splits `provider/model`.
fn split_name(name: &str) -> (&str, &str) {
    name.split_once('/').unwrap_or(("", name))
}

fn effort_option(agents: &Agents, session: &SessionId, status: &SessionStatus) -> SessionOption {
    let configured = agents.of_session(session, status).run.effort;
    let levels = Effort::ALL.map(|effort| SessionOptionValue {
        value: effort.as_str().to_owned(),
        name: capitalised(effort.as_str()),
        ..SessionOptionValue::default()
    });
    let default = default_value(configured.map(Effort::as_str));
    SessionOption {
        option: SessionOption::EFFORT.to_owned(),
        value: status.effort.map_or(SessionOption::DEFAULT, Effort::as_str).to_owned(),
        values: std::iter::once(default).chain(levels).collect(),
    }
}

fn mode_option(mode: PermissionMode) -> SessionOption {
    let modes = PermissionMode::ALL.map(|mode| SessionOptionValue {
        value: mode.as_str().to_owned(),
        name: capitalised(mode.as_str()),
        description: Some(end_sentence(capitalised(mode.effect()))),
        group: None,
    });
    SessionOption {
        option: SessionOption::MODE.to_owned(),
        value: mode.as_str().to_owned(),
        values: modes.to_vec(),
    }
}

/// Returns the value that leaves a setting to the configuration, whose value is `configured`.
fn default_value(configured: Option<&str>) -> SessionOptionValue {
    let name = match configured {
        Some(configured) => format!("Default ({configured})"),
        None => "Default".to_owned(),
    };
    let value = SessionOption::DEFAULT.to_owned();
    SessionOptionValue { value, name, ..SessionOptionValue::default() }
}

fn capitalised(word: &str) -> String {
    let mut chars = word.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

/// Returns the setting with this value. The error lists what exists.
fn setting_of(
    options: &[SessionOption],
    option: &str,
    value: &str,
) -> Result<SessionSetting, String> {
    let Some(known) = options.iter().find(|known| known.option == option) else {
        let names: Vec<&str> = options.iter().map(|known| known.option.as_str()).collect();
        return Err(format!(
            "this conversation has no setting {option:?} now; it has {}",
            names.join(", ")
        ));
    };
    if !known.values.iter().any(|one| one.value == value) {
        let values = known.listed_values();
        return Err(format!("{value:?} is no value of {option}; choose one of {values}"));
    }
    let chosen = Some(value).filter(|value| *value != SessionOption::DEFAULT);
    Ok(match option {
        SessionOption::EFFORT => SessionSetting::Effort(chosen.and_then(|word| word.parse().ok())),
        SessionOption::MODE => SessionSetting::Permissions(value.parse().unwrap_or_default()),
        _ => SessionSetting::Model(chosen.map(str::to_owned)),
    })
}
