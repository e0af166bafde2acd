//! Slash commands and buttons: how they are offered, what they say, and that Discord is told within
//! its three seconds that they were heard.

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
use crate::convert::{Bot, kind, person};
use crate::fault::Fault;
use crate::places::Place;
use crate::routes::Route;

/// How long an interaction can be answered for the first time (Discord API, "Responding to an
/// Interaction").
const ANSWER_LIMIT: Duration = Duration::from_secs(3);
/// Characters of a command's or an argument's description.
const MAX_DESCRIPTION: usize = 100;
/// Characters of a command's name.
const MAX_NAME: usize = 32;

/// Something that was pressed or called.
#[derive(Debug)]
pub(crate) struct Called<'a> {
    pub(crate) id: InteractionId,
    pub(crate) token: &'a str,
    pub(crate) channel: ChannelId,
    /// What it says, as if that had been typed.
    says: String,
    user: &'a User,
    member: Option<&'a Member>,
    pub(crate) answer: CreateInteractionResponse,
}

impl<'a> Called<'a> {
    /// Reads an interaction. None if it is of another kind: none that we offer.
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
        // Nobody else sees it; without it Discord says that the application did not respond.
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

    /// What it says to the agent.
    ///
    /// # Errors
    /// [`IdError`] for an id that is none.
    pub(crate) fn inbound(&self, bot: &Bot<'_>, place: Place) -> Result<Inbound, IdError> {
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
    /// Tells the platform that an interaction was heard. What it said is committed, whatever becomes
    /// of this.
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

    /// Offers the commands, so that the platform completes them.
    ///
    /// # Errors
    /// [`Fault`].
    pub(crate) async fn offer(
        &self,
        application_id: ApplicationId,
        commands: &[CommandHelp],
    ) -> Result<(), Fault> {
        let offered: Vec<CreateCommand> = commands.iter().filter_map(slash_command).collect();
        let route = Route::Commands { application_id };
        self.rest.send(Method::PUT, route, &offered).await.map(|_| ())
    }
}

/// None if the platform would refuse its name, and with it all of them.
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

/// A description that is there and not too long.
fn description(text: &str, name: &str) -> String {
    let text = if text.is_empty() { name } else { text };
    text.chars().take(MAX_DESCRIPTION).collect()
}
