//! The bot and its owner: the token is tested on the platform, and the owner confirms who they are.

use std::sync::Arc;

use avocet_config::ConfigError;
use avocet_protocol::{BotIntroduction, BotSetup, Check, CheckState, OwnerCandidate, Secret};

use super::additions::{AddedBot, Additions};
use super::questions::say;
use super::secret_forms::channel_of;
use super::{InitRun, secret_from};
use crate::exit::{Exit, Failure};
use crate::registry;

const QUESTION: &str = "Token of your bot, from @BotFather on Telegram or from Discord's developer portal \
    (it stays invisible; Enter for none):";
const NO_TOKEN: &str = "That is neither a Telegram token (123456:ABC...) nor a Discord token (three parts with dots). \
    Nothing was sent.\n";
const AGAIN: &str = "Token of your bot (Enter tests the last one again, - for none):";

impl InitRun<'_> {
    /// Adds a bot, if one is wanted.
    pub(super) async fn add_bot(&mut self) -> Result<(), Failure> {
        let mut last = self.given_token()?;
        let mut is_tested = false;
        let (mut bot, setup, introduction) = loop {
            let bot = match last.take() {
                Some(bot) if !is_tested => bot,
                last => match self.ask_bot(last).await? {
                    Some(bot) => bot,
                    None => return Ok(()),
                },
            };
            match self.introduced(&bot).await? {
                Ok((setup, introduction)) => break (bot, setup, introduction),
                Err(why) if self.questions.is_none() => {
                    let message = format!("{why}; nothing was written");
                    return Err(Failure::new(Exit::Failed, message));
                }
                Err(why) => say(&format!("{why}.\n"))?,
            }
            last = Some(bot);
            is_tested = true;
        };
        say(&format!("The bot is {}.\n", introduction.name))?;
        for hint in &introduction.hints {
            say(&format!("  {hint}\n"))?;
        }
        bot.owner = self.owner(setup.as_ref(), &introduction).await?;
        bot.name = Some(introduction.name);
        self.additions.bot = Some(bot);
        Ok(())
    }

    /// Returns the bot of the command line.
    fn given_token(&self) -> Result<Option<AddedBot>, Failure> {
        let args = &self.args;
        let (channel, path) = match (&args.telegram_token_file, &args.discord_token_file) {
            (Some(path), _) => ("telegram", path),
            (None, Some(path)) => ("discord", path),
            (None, None) => return Ok(None),
        };
        let token = secret_from(path)?;
        if channel_of(&token) != Some(channel) {
            let form =
                if channel == "telegram" { "123456:ABC..." } else { "three parts with dots" };
            let message = format!(
                "{} does not contain a token of {} ({form}); nothing was sent",
                path.display(),
                label(channel)
            );
            return Err(Failure::new(Exit::Usage, message));
        }
        Ok(Some(self.bot_of(channel, token)))
    }

    fn bot_of(&self, channel: &'static str, token: String) -> AddedBot {
        let api_url = match channel {
            "telegram" => self.args.telegram_api_url.clone(),
            _ => self.args.discord_api_url.clone(),
        };
        AddedBot { channel, token: Secret::new(token), api_url, name: None, owner: None }
    }

    /// Asks for a token. `last` is the bot whose token has failed.
    async fn ask_bot(&mut self, last: Option<AddedBot>) -> Result<Option<AddedBot>, Failure> {
        let Some(questions) = &mut self.questions else { return Ok(None) };
        let question = if last.is_some() { AGAIN } else { QUESTION };
        loop {
            let token = questions.ask_secret(question).await?;
            match (token.as_str(), channel_of(&token)) {
                ("", _) => return Ok(last),
                ("-", _) => return Ok(None),
                (_, Some(channel)) => return Ok(Some(self.bot_of(channel, token))),
                (_, None) => say(NO_TOKEN)?,
            }
        }
    }

    /// Tests a token on its platform. The inner error is the reason why the bot cannot be used, as a
    /// sentence.
    async fn introduced(
        &self,
        bot: &AddedBot,
    ) -> Result<Result<(Arc<dyn BotSetup>, BotIntroduction), String>, Failure> {
        let additions = Additions { bot: Some(bot.clone()), ..self.additions.clone() };
        let made = self.candidate(&additions).and_then(|(document, settings)| {
            Ok(registry::channels(&document, &settings, &self.context.clock)?)
        });
        let channels = match made {
            Ok(made) => made.channels,
            Err(failure) if self.questions.is_none() => return Err(failure),
            Err(failure) => return Ok(Err(without_place(&failure))),
        };
        let is_it = |one: &&registry::ConfiguredChannel| {
            one.channel.name().as_str() == bot.channel && one.setup.is_some()
        };
        let found = channels.iter().find(is_it);
        let Some((channel, Some(setup))) = found.map(|one| (&one.channel, &one.setup)) else {
            let message = format!("{} cannot be set up here", label(bot.channel));
            return Err(Failure::new(Exit::Failed, message));
        };
        say(&format!("Asking {} about the bot...\n", label(bot.channel)))?;
        let checks = channel.probe().await;
        let is_bad = |check: &&Check| check.state == CheckState::Bad;
        if let Some(Check { says, fix, .. }) = checks.iter().find(is_bad) {
            // The remedy is written for the file, which does not exist yet.
            let file = format!(", put it into [channels.{}]", bot.channel);
            let here = if self.questions.is_some() { " and paste it here" } else { "" };
            let fix = fix.as_ref().map(|fix| format!("; {}", fix.replace(&file, here)));
            let fix = fix.unwrap_or_default();
            return Ok(Err(format!("{says}{fix}")));
        }
        let introduction = setup.introduction().await;
        Ok(introduction.map(|introduction| (setup.clone(), introduction)))
    }

    /// Finds the owner: from the options, or the person who says so. `None` if nobody does.
    async fn owner(
        &mut self,
        setup: &dyn BotSetup,
        introduction: &BotIntroduction,
    ) -> Result<Option<OwnerCandidate>, Failure> {
        if let Some(id) = self.args.owner {
            let (name, reason) = (String::new(), String::new());
            return Ok(Some(OwnerCandidate { id, name, reason }));
        }
        let Some(questions) = &mut self.questions else { return Ok(None) };
        if let Some(invitation) = &introduction.invitation {
            say(&format!("To become the owner, {invitation}\n"))?;
            say("Waiting for the message; Enter skips this.\n")?;
        }
        let mut refused = Vec::new();
        loop {
            let found = tokio::select! {
                found = setup.owner(&refused) => found,
                skipped = questions.line() => {
                    skipped?;
                    return Ok(None);
                }
            };
            let candidate = match found {
                Ok(candidate) => candidate,
                Err(why) => {
                    say(&format!("The bot has no owner yet: {why}.\n"))?;
                    return Ok(None);
                }
            };
            let OwnerCandidate { id, name, reason } = &candidate;
            say(&format!("{name}, id {id}, {reason}.\n"))?;
            if questions.is_yes("Is this you, the owner of the bot?").await? {
                return Ok(Some(candidate));
            }
            refused.push(*id);
        }
    }
}

/// Returns the reason of a failure. A place in a file that is not written yet would mislead.
fn without_place(Failure { error, .. }: &Failure) -> String {
    let config = error.downcast_ref::<ConfigError>();
    config.map_or_else(|| format!("{error:#}"), |config| config.message.clone())
}

/// The name of a channel for people.
fn label(channel: &str) -> &'static str {
    if channel == "telegram" { "Telegram" } else { "Discord" }
}
