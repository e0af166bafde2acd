//! The settings of a session as the editor shows them: options of the configuration, and modes for
//! editors that know no options.

use agent_client_protocol::Error;
use agent_client_protocol::v1::Responder;
use agent_client_protocol::v1::schema::{
    LoadSessionResponse, NewSessionResponse, ResumeSessionResponse, SessionConfigOption,
    SessionConfigOptionCategory, SessionConfigSelectGroup, SessionConfigSelectOption,
    SessionConfigSelectOptions, SessionId, SessionMode, SessionModeState,
    SetSessionConfigOptionResponse, SetSessionModeResponse,
};
use avocet_protocol::session::{SessionOption, SessionOptionValue};

/// The settings that the editor has been told; empty if the daemon does not tell them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ShownOptions(pub(crate) Vec<SessionOption>);

/// The answer to a request that changes a setting.
#[derive(Debug)]
pub(crate) enum OptionResponder {
    /// `session/set_config_option`.
    Config(Responder<SetSessionConfigOptionResponse>),
    /// `session/set_mode`.
    Mode(Responder<SetSessionModeResponse>),
}

impl OptionResponder {
    pub(crate) fn refuse_change(self, error: Error) -> Result<(), Error> {
        match self {
            Self::Config(responder) => responder.respond_with_error(error),
            Self::Mode(responder) => responder.respond_with_error(error),
        }
    }
}

impl ShownOptions {
    /// The answer to `session/new`.
    pub(crate) fn new_session(id: SessionId, options: &Self) -> NewSessionResponse {
        let answer = NewSessionResponse::new(id).modes(options.modes());
        answer.config_options(options.config_options())
    }

    /// The answer to `session/load`.
    pub(crate) fn loaded_session(_: SessionId, options: &Self) -> LoadSessionResponse {
        let answer = LoadSessionResponse::new().modes(options.modes());
        answer.config_options(options.config_options())
    }

    /// The answer to `session/resume`.
    pub(crate) fn resumed_session(_: SessionId, options: &Self) -> ResumeSessionResponse {
        let answer = ResumeSessionResponse::new().modes(options.modes());
        answer.config_options(options.config_options())
    }

    /// Returns the options for the editor; `None` if there are none.
    pub(crate) fn config_options(&self) -> Option<Vec<SessionConfigOption>> {
        let options: Vec<_> = self.0.iter().map(config_option).collect();
        (!options.is_empty()).then_some(options)
    }

    /// Returns the modes for an editor without options; `None` if there are none.
    pub(crate) fn modes(&self) -> Option<SessionModeState> {
        let mode = self.0.iter().find(|one| one.option == SessionOption::MODE)?;
        let modes = mode.values.iter().map(|one| {
            SessionMode::new(one.value.clone(), one.name.clone())
                .description(one.description.clone())
        });
        Some(SessionModeState::new(mode.value.clone(), modes.collect()))
    }

    /// Returns the value of the mode.
    pub(crate) fn mode(&self) -> Option<&str> {
        let mode = self.0.iter().find(|one| one.option == SessionOption::MODE)?;
        Some(mode.value.as_str())
    }
}

/// Returns the name for people, the description and the category of a setting. A setting of a later
/// daemon has its own name only.
fn labels(option: &str) -> Option<(&'static str, &'static str, SessionConfigOptionCategory)> {
    use SessionConfigOptionCategory::{Mode, Model, ThoughtLevel};
    match option {
        SessionOption::MODEL => Some(("Model", "The model that answers in this session", Model)),
        SessionOption::EFFORT => {
            Some(("Thinking", "How much the model thinks before it answers", ThoughtLevel))
        }
        SessionOption::MODE => {
            Some(("Mode", "What the agent may do in this session without asking", Mode))
        }
        _ => None,
    }
}

fn config_option(option: &SessionOption) -> SessionConfigOption {
    let SessionOption { option: id, value, values } = option;
    let labels = labels(id);
    let name = labels.as_ref().map_or(id.as_str(), |(name, ..)| name);
    let shown = SessionConfigOption::select(id.clone(), name, value.clone(), select(values));
    match labels {
        Some((_, text, category)) => shown.description(text.to_owned()).category(category),
        None => shown,
    }
}

/// Returns the values, in groups if they have headings.
fn select(values: &[SessionOptionValue]) -> SessionConfigSelectOptions {
    let mut groups: Vec<SessionConfigSelectGroup> = Vec::new();
    for one in values {
        let Some(heading) = &one.group else {
            return SessionConfigSelectOptions::Ungrouped(
                values.iter().map(select_option).collect(),
            );
        };
        let value = select_option(one);
        match groups.last_mut().filter(|group| group.name == *heading) {
            Some(group) => group.options.push(value),
            None => groups.push(SessionConfigSelectGroup::new(
                heading.clone(),
                heading.clone(),
                vec![value],
            )),
        }
    }
    SessionConfigSelectOptions::Grouped(groups)
}

fn select_option(one: &SessionOptionValue) -> SessionConfigSelectOption {
    SessionConfigSelectOption::new(one.value.clone(), one.name.clone())
        .description(one.description.clone())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn value(value: &str, group: Option<&str>) -> SessionOptionValue {
        SessionOptionValue {
            value: value.to_owned(),
            name: value.to_uppercase(),
            description: None,
            group: group.map(str::to_owned),
        }
    }

    fn option(name: &str, values: Vec<SessionOptionValue>) -> SessionOption {
        let (option, value) = (name.to_owned(), values[0].value.clone());
        SessionOption { option, value, values }
    }

    #[test]
    fn config_options_have_categories_and_groups() {
        let shown = ShownOptions(vec![
            option(
                "model",
                vec![value("x/a", Some("x")), value("x/b", Some("x")), value("y/c", Some("y"))],
            ),
            option("effort", vec![value("low", None)]),
            option("later", vec![value("on", None)]),
        ]);
        let json = json!(shown.config_options().unwrap());
        let fields = |place: usize| -> Vec<&Value> {
            ["id", "category", "type", "currentValue"].map(|key| &json[place][key]).to_vec()
        };
        assert_eq!(json!(fields(0)), json!(["model", "model", "select", "x/a"]));
        assert_eq!(json!(fields(1)), json!(["effort", "thought_level", "select", "low"]));
        assert_eq!(json!(fields(2)), json!(["later", null, "select", "on"]));
        assert_eq!(json[2]["name"], "later");
        let groups = json!([
            { "group": "x", "name": "x", "options": [
                { "value": "x/a", "name": "X/A" }, { "value": "x/b", "name": "X/B" },
            ] },
            { "group": "y", "name": "y", "options": [{ "value": "y/c", "name": "Y/C" }] },
        ]);
        assert_eq!(json[0]["options"], groups);
        assert_eq!(json[1]["options"], json!([{ "value": "low", "name": "LOW" }]));
    }

    #[test]
    fn modes_are_those_of_the_option_and_nothing_is_offered_without_options() {
        let shown =
            ShownOptions(vec![option("mode", vec![value("ask", None), value("read", None)])]);
        let expected = json!({
            "currentModeId": "ask",
            "availableModes": [{ "id": "ask", "name": "ASK" }, { "id": "read", "name": "READ" }],
        });
        assert_eq!(json!(shown.modes().unwrap()), expected);
        let none = ShownOptions::default();
        assert_eq!((none.modes(), none.config_options(), none.mode()), (None, None, None));
    }
}
