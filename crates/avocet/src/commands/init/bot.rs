//! The bot and its owner: the token is tested on the platform, and the owner confirms who they are.

use std::sync::Arc;

use avocet_config::ConfigError;
use avocet_protocol::{BotIntroduction, BotSetup, Check, CheckState, OwnerCandidate, Secret};

use super::additions::{AddedBot, Additions};
use super::{InitRun, secret_from};
use crate::exit::{Exit, Failure};
use crate::output::print;
use crate::registry;

const QUESTION: &str = "Token of your bot, from @BotFather on Telegram or from Discord's developer portal \
    (it stays invisible; Enter for none):";
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
                Err(why) => print(&format!("{why}.\n"))?,
            }
            last = Some(bot);
            is_tested = true;
        };
        print(&format!("The bot is {}.\n", introduction.name))?;
        for hint in &introduction.hints {
            print(&format!("  {hint}\n"))?;
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
        Ok(Some(self.bot_of(channel, secret_from(path)?)))
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
        let token = questions.ask_secret(question).await?;
        Ok(match token.as_str() {
            "" => last,
            "-" => None,
            _ => Some(self.bot_of(channel_of(&token), token)),
        })
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
            let message = format!("{} cannot be set up here", bot.channel);
            return Err(Failure::new(Exit::Failed, message));
        };
        print(&format!("Asking {} about the bot...\n", bot.channel))?;
        let checks = channel.probe().await;
        let is_bad = |check: &&Check| check.state == CheckState::Bad;
        if let Some(Check { says, fix, .. }) = checks.iter().find(is_bad) {
            let fix = fix.as_ref().map_or_else(String::new, |fix| format!("; {fix}"));
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
            print(&format!("To become the owner, {invitation}\n"))?;
            print("Waiting for the message; Enter skips this.\n")?;
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
                    print(&format!("The bot has no owner yet: {why}.\n"))?;
                    return Ok(None);
                }
            };
            let OwnerCandidate { id, name, reason } = &candidate;
            print(&format!("{name}, id {id}, {reason}.\n"))?;
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

/// Recognises the platform of a token: those of Telegram begin with a number and a colon.
fn channel_of(token: &str) -> &'static str {
    let id = token.split_once(':').map(|(id, _)| id);
    let is_telegram = id.is_some_and(|id| !id.is_empty() && id.chars().all(|c| c.is_ascii_digit()));
    if is_telegram { "telegram" } else { "discord" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn channel_of_a_token_is_telegram_for_a_number_and_a_colon() {
        let table = [
            ("4711:AA-secret_1", "telegram"),
            ("MTIz.secret.token", "discord"),
            (":aa", "discord"),
            ("bot1:aa", "discord"),
        ];
        for (token, expected) in table {
            assert_eq!(channel_of(token), expected, "{token}");
        }
    }
}
