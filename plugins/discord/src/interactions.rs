//! Slash commands and buttons: their registration, their text, and the first answer, which Discord
//! requires within three seconds.

use std::time::Duration;

use avocet_protocol::{CommandHelp, Content, DedupeKey, IdError, Inbound, within};
use reqwest::Method;
use serenity::builder::{
    CreateAllowedMentions, CreateCommand, CreateCommandOption, CreateInteractionResponse,
    CreateInteractionResponseMessage,
};
use serenity::model::application::{
    CommandDataOption, CommandDataOptionValue, CommandInteraction, CommandOptionType, CommandType,
    ComponentInteraction, ComponentInteractionDataKind, Interaction,
};
use serenity::model::guild::Member;
use serenity::model::id::{ApplicationId, ChannelId, InteractionId};
use serenity::model::user::User;

use crate::Discord;
use crate::convert::{BotIdentity, kind, person};
use crate::fault::RestError;
use crate::places::ChannelPlace;
use crate::routes::Route;

/// Time for the first answer to an interaction (Discord API, "Responding to an Interaction").
const ANSWER_LIMIT: Duration = Duration::from_secs(3);
/// Longest description of a command or an argument, in characters.
const MAX_DESCRIPTION: usize = 100;
/// Longest name of a command, in characters.
const MAX_NAME: usize = 32;

/// A pressed button, or a called command.
#[derive(Debug)]
pub(crate) struct Called<'a> {
    pub(crate) id: InteractionId,
    pub(crate) token: &'a str,
    pub(crate) channel: ChannelId,
    /// Its text, as if the user had typed it.
    says: String,
    user: &'a User,
    member: Option<&'a Member>,
    pub(crate) answer: CreateInteractionResponse,
}

impl<'a> Called<'a> {
    /// Reads an interaction. Returns `None` for kinds that are never offered.
    pub(crate) fn read(interaction: &'a Interaction) -> Option<Self> {
        match interaction {
            Interaction::Component(pressed) => Self::pressed(pressed),
            Interaction::Command(called) if called.data.kind == CommandType::ChatInput => {
                Some(Self::command(called))
            }
            _ => None,
        }
    }

    fn pressed(pressed: &'a ComponentInteraction) -> Option<Self> {
        matches!(pressed.data.kind, ComponentInteractionDataKind::Button).then(|| Self {
            id: pressed.id,
            token: &pressed.token,
            channel: pressed.channel_id,
            says: pressed.data.custom_id.clone(),
            user: &pressed.user,
            member: pressed.member.as_ref(),
            answer: CreateInteractionResponse::Acknowledge,
        })
    }

    fn command(called: &'a CommandInteraction) -> Self {
        let mut says = format!("/{}", called.data.name);
        for value in called.data.options.iter().filter_map(text_of) {
            says.push(' ');
            says.push_str(&value);
        }
        // Only the user sees this; without it Discord says that the application did not respond.
        let heard = CreateInteractionResponseMessage::new()
            .content("…")
            .ephemeral(true)
            .allowed_mentions(CreateAllowedMentions::new());
        Self {
            id: called.id,
            token: &called.token,
            channel: called.channel_id,
            says,
            user: &called.user,
            member: called.member.as_deref(),
            answer: CreateInteractionResponse::Message(heard),
        }
    }

    /// Converts the interaction to a message for the agent.
    ///
    /// # Errors
    /// [`IdError`] for an invalid id.
    pub(crate) fn inbound(
        &self,
        bot: &BotIdentity<'_>,
        place: ChannelPlace,
    ) -> Result<Inbound, IdError> {
        let nick = self.member.and_then(|member| member.nick.as_deref());
        let (sender, key) = (person(self.user, nick)?, DedupeKey::parse(&format!("i{}", self.id))?);
        let address = bot.address(self.channel, place)?;
        let said = Inbound::new(address, sender, key, Content::text(&self.says));
        Ok(Inbound { chat: kind(place), from_platform: true, ..said })
    }
}

fn text_of(option: &CommandDataOption) -> Option<String> {
    match &option.value {
        CommandDataOptionValue::String(text) => Some(text.clone()),
        CommandDataOptionValue::Integer(number) => Some(number.to_string()),
        CommandDataOptionValue::Number(number) => Some(number.to_string()),
        CommandDataOptionValue::Boolean(flag) => Some(flag.to_string()),
        _ => None,
    }
}

impl Discord {
    /// Sends the first answer to an interaction. Failures are only logged, because the text is
    /// committed already.
    pub(crate) async fn answer(
        &self,
        clock: &dyn avocet_protocol::Clock,
        interaction_id: InteractionId,
        token: &str,
        answer: &CreateInteractionResponse,
    ) {
        let route = Route::InteractionResponse { interaction_id, token };
        let answering = self.rest.send(Method::POST, route, answer);
        match within(clock, ANSWER_LIMIT, answering).await {
            Ok(Ok(_)) => {}
            Ok(Err(fault)) => tracing::debug!(error = %fault, "an interaction was not answered"),
            Err(elapsed) => tracing::debug!(error = %elapsed, "an interaction was not answered"),
        }
    }

    /// Registers the commands, so that the platform completes them.
    ///
    /// # Errors
    /// [`RestError`] if the request fails.
    pub(crate) async fn offer(
        &self,
        application_id: ApplicationId,
        commands: &[CommandHelp],
    ) -> Result<(), RestError> {
        let offered: Vec<CreateCommand> = commands.iter().filter_map(slash_command).collect();
        let route = Route::Commands { application_id };
        self.rest.send(Method::PUT, route, &offered).await.map(|_| ())
    }
}

/// Returns `None` for a name that the platform would refuse, because it would refuse all commands
/// then.
fn slash_command(command: &CommandHelp) -> Option<CreateCommand> {
    let CommandHelp { name, argument, help } = command;
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_');
    if name.is_empty() || name.len() > MAX_NAME || !name.chars().all(allowed) {
        return None;
    }
    let slash = CreateCommand::new(*name).description(description(help, name));
    let kind = CommandOptionType::String;
    Some(match argument.is_empty() {
        true => slash,
        false => {
            let text = description(argument, name);
            slash.add_option(CreateCommandOption::new(kind, "argument", text))
        }
    })
}

/// Returns a description that is neither empty nor too long.
fn description(text: &str, name: &str) -> String {
    let text = if text.is_empty() { name } else { text };
    text.chars().take(MAX_DESCRIPTION).collect()
}
