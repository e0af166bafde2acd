//! Slash commands and buttons: their registration, their text, and the acknowledgement of a press,
//! which Discord requires within three seconds.

use std::time::Duration;

use avocet_channel_kit::is_personal_command;
use avocet_protocol::channel::{CommandAccess, CommandHelp};
use avocet_protocol::chat::{Content, Inbound};
use avocet_protocol::clock::within;
use avocet_protocol::ids::{IdError, PlatformId};
use reqwest::Method;
use serde_json::{Value, json};
use serenity::builder::{CreateCommand, CreateCommandOption, CreateInteractionResponse};
use serenity::model::Permissions;
use serenity::model::application::{
    AuthorizingIntegrationOwner, AuthorizingIntegrationOwners, CommandDataOption,
    CommandDataOptionValue, CommandInteraction, CommandOptionType, CommandType,
    ComponentInteraction, ComponentInteractionDataKind, Interaction, InteractionContext,
};
use serenity::model::channel::MessageFlags;
use serenity::model::guild::Member;
use serenity::model::id::{ApplicationId, ChannelId, InteractionId, MessageId, RoleId};
use serenity::model::user::User;

use crate::Discord;
use crate::channels::DiscordChannel;
use crate::convert::{BotIdentity, chat_kind, key_of_interaction, read_sender};
use crate::fault::RestError;
use crate::routes::Route;

/// Time for the first response to an interaction (Discord API, "Responding to an Interaction").
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(3);
/// Longest description of a command or an argument, in characters.
const MAX_DESCRIPTION: usize = 100;
/// The places of a command (Discord API, "Interaction Context Types").
const SERVER: u8 = 0;
const BOT_CHAT: u8 = 1;
const CHAT_OF_OTHERS: u8 = 2;
/// Longest name of a command, in characters.
const MAX_NAME: usize = 32;
/// A pressed button, a chosen option of a menu, or a called command.
#[derive(Debug)]
pub(crate) struct UserInteraction<'a> {
    pub(crate) id: InteractionId,
    pub(crate) token: &'a str,
    pub(crate) channel: ChannelId,
    /// The text that the user would have typed.
    text: String,
    /// The message with the button, if the bot can change it.
    pressed: Option<MessageId>,
    /// `true` if the text is that of a button or an option.
    by_button: bool,
    user: &'a User,
    member: Option<&'a Member>,
    pub(crate) kind: InteractionKind,
    /// `true` in a chat of other people or a server in which the bot itself is not a member. It can
    /// only answer in place of the interaction there.
    pub(crate) is_among_others: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InteractionKind {
    /// A pressed button or a chosen option. The message with it is not changed.
    Press {
        /// `true` if the button has a command, whose answer concerns only the presser. Any other text
        /// is for the agent.
        is_command: bool,
    },
    /// A called command, whose answer is the response to it. Also a press in a place where the bot
    /// is not a member.
    Command {
        /// `true` if the answer concerns only the caller.
        is_personal: bool,
    },
}

impl<'a> UserInteraction<'a> {
    /// Reads an interaction. Returns `None` for kinds that are never offered.
    pub(crate) fn read(interaction: &'a Interaction) -> Option<Self> {
        match interaction {
            Interaction::Component(pressed) => Self::button(pressed),
            Interaction::Command(called) if called.data.kind == CommandType::ChatInput => {
                Some(Self::command(called))
            }
            _ => None,
        }
    }

    /// Reads a pressed button, or the chosen option of a menu.
    fn button(pressed: &'a ComponentInteraction) -> Option<Self> {
        let text = match &pressed.data.kind {
            ComponentInteractionDataKind::Button => &pressed.data.custom_id,
            ComponentInteractionDataKind::StringSelect { values } => values.first()?,
            _ => return None,
        };
        let is_among_others =
            is_among_others(pressed.context, &pressed.authorizing_integration_owners);
        let personal = InteractionKind::Command { is_personal: true };
        let flags = pressed.message.flags.unwrap_or_default();
        let is_command = text.starts_with('/');
        let is_lasting = !is_among_others && !flags.contains(MessageFlags::EPHEMERAL);
        Some(Self {
            pressed: is_lasting.then_some(pressed.message.id),
            by_button: true,
            id: pressed.id,
            token: &pressed.token,
            channel: pressed.channel_id,
            text: text.clone(),
            user: &pressed.user,
            member: pressed.member.as_ref(),
            kind: if is_among_others { personal } else { InteractionKind::Press { is_command } },
            is_among_others,
        })
    }

    fn command(called: &'a CommandInteraction) -> Self {
        let mut text = format!("/{}", called.data.name);
        for value in called.data.options.iter().filter_map(text_of) {
            text.push(' ');
            text.push_str(&value);
        }
        let is_personal = is_personal_command(&called.data.name, !called.data.options.is_empty());
        Self {
            pressed: None,
            by_button: false,
            id: called.id,
            token: &called.token,
            channel: called.channel_id,
            text,
            user: &called.user,
            member: called.member.as_deref(),
            kind: InteractionKind::Command { is_personal },
            is_among_others: is_among_others(
                called.context,
                &called.authorizing_integration_owners,
            ),
        }
    }

    /// Returns the roles of the user in the server.
    pub(crate) fn roles(&self) -> &[RoleId] {
        self.member.map(|member| &member.roles[..]).unwrap_or_default()
    }

    /// Returns `true` if only the caller may see the answer.
    pub(crate) fn is_ephemeral(&self, channel_type: DiscordChannel) -> bool {
        let is_personal = match self.kind {
            InteractionKind::Press { is_command } => is_command,
            InteractionKind::Command { is_personal } => is_personal,
        };
        self.is_among_others || (is_personal && channel_type != DiscordChannel::Direct)
    }

    /// Converts the interaction to a message for the agent.
    ///
    /// # Errors
    /// [`IdError`] for an invalid id.
    pub(crate) fn inbound(
        &self,
        bot: &BotIdentity<'_>,
        channel_type: DiscordChannel,
        roles: Vec<String>,
    ) -> Result<Inbound, IdError> {
        let nick = self.member.and_then(|member| member.nick.as_deref());
        let sender = read_sender(self.user, nick)?;
        let key = key_of_interaction(self.id, self.is_ephemeral(channel_type))?;
        let address = bot.address(self.channel, channel_type)?;
        let mut content = Content::text(&self.text);
        content.author_roles = roles;
        content.pressed = self.pressed.and_then(|id| PlatformId::parse(&id.to_string()).ok());
        content.by_button = self.by_button;
        let is_command = matches!(self.kind, InteractionKind::Command { .. });
        if is_command || self.is_ephemeral(channel_type) {
            content.reply_to = Some(key.clone());
        }
        let inbound = Inbound::new(address, sender, key, content);
        Ok(Inbound { chat: chat_kind(channel_type), from_platform: true, ..inbound })
    }
}

/// Returns `true` if the bot is not a member of the place: only the caller has installed it.
fn is_among_others(
    context: Option<InteractionContext>,
    owners: &AuthorizingIntegrationOwners,
) -> bool {
    let is_user = |owner: &_| matches!(owner, AuthorizingIntegrationOwner::UserInstall(_));
    match context {
        Some(InteractionContext::PrivateChannel) => true,
        Some(InteractionContext::Guild) => !owners.0.is_empty() && owners.0.iter().all(is_user),
        _ => false,
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
    /// Sends the first response to an interaction. Failures are only logged, because the text is
    /// committed already.
    pub(crate) async fn respond(
        &self,
        clock: &dyn avocet_protocol::clock::Clock,
        interaction_id: InteractionId,
        token: &str,
        response: &CreateInteractionResponse,
    ) {
        let route = Route::InteractionResponse { interaction_id, token };
        let responding = self.rest.send(Method::POST, route, response);
        match within(clock, RESPONSE_TIMEOUT, responding).await {
            Ok(Ok(_)) => {}
            Ok(Err(fault)) => tracing::debug!(error = %fault, "cannot respond to an interaction"),
            Err(elapsed) => tracing::debug!(error = %elapsed, "cannot respond to an interaction"),
        }
    }

    /// Registers the commands, so that the platform completes them.
    ///
    /// # Errors
    /// [`RestError`] if the request fails.
    pub(crate) async fn register_commands(
        &self,
        application_id: ApplicationId,
        commands: &[CommandHelp],
    ) -> Result<(), RestError> {
        let commands =
            commands.iter().filter_map(|command| Some((command.access, slash_command(command)?)));
        let commands: Vec<Value> = commands
            .filter_map(|(access, command)| Some((access, serde_json::to_value(command).ok()?)))
            .map(|(access, command)| in_contexts(command, access, self.settings.user_install))
            .collect();
        let route = Route::Commands { application_id };
        self.rest.send(Method::PUT, route, &commands).await.map(|_| ())
    }
}

/// Offers a command where it works, and also to people who have installed the bot for themselves
/// (Discord API, "Interaction Contexts"). In a server, Discord offers commands of owners to people who
/// may manage the server; the server's settings can change that. The daemon checks each call anyway.
fn in_contexts(mut command: Value, access: CommandAccess, user_install: bool) -> Value {
    command["contexts"] = match access {
        CommandAccess::OwnersInPrivate => json!([BOT_CHAT]),
        _ if user_install => json!([SERVER, BOT_CHAT, CHAT_OF_OTHERS]),
        _ => json!([SERVER, BOT_CHAT]),
    };
    if access == CommandAccess::Owners {
        command["default_member_permissions"] = json!(Permissions::MANAGE_GUILD.bits().to_string());
    }
    if user_install {
        command["integration_types"] = json!([0, 1]);
    }
    command
}

/// Returns `None` for a name that the platform would refuse, because it would refuse all commands
/// then.
fn slash_command(command: &CommandHelp) -> Option<CreateCommand> {
    let CommandHelp { name, argument, choices, help, .. } = command;
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_');
    if name.is_empty() || name.len() > MAX_NAME || !name.chars().all(allowed) {
        return None;
    }
    let slash = CreateCommand::new(*name).description(description(help, name));
    let kind = CommandOptionType::String;
    if argument.is_empty() {
        return Some(slash);
    }
    let option = CreateCommandOption::new(kind, "argument", description(argument, name));
    let option =
        choices.iter().fold(option, |option, choice| option.add_string_choice(*choice, *choice));
    Some(slash.add_option(option))
}

/// Returns a description that is neither empty nor too long.
fn description(text: &str, name: &str) -> String {
    let text = if text.is_empty() { name } else { text };
    text.chars().take(MAX_DESCRIPTION).collect()
}
