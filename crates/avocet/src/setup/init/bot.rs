//! The bot and its owner: the token is tested on the platform, and the owner confirms who they are.

use std::sync::Arc;

use avocet_config::ConfigError;
use avocet_protocol::channel::{BotIntroduction, BotSetup, OwnerCandidate};
use avocet_protocol::daemon::{Check, CheckState};
use avocet_text::Secret;

use super::additions::{AddedBot, Additions};
use super::known_bots::KnownBot;
use super::questions::print_lines;
use super::{InitRun, registered_bots, secret_from};
use crate::exit::{Exit, Failure};
use crate::registry;

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
            match self.introduce_bot(&bot).await? {
                Ok((setup, introduction)) => break (bot, setup, introduction),
                Err(why) if self.questions.is_none() => {
                    let message = format!("{why}; nothing was written");
                    return Err(Failure::new(Exit::Failed, message));
                }
                Err(why) => print_lines(&format!("{why}.\n"))?,
            }
            last = Some(bot);
            is_tested = true;
        };
        print_lines(&format!("The bot is {}.\n", introduction.name))?;
        for hint in &introduction.hints {
            print_lines(&format!("  {hint}\n"))?;
        }
        bot.owner = self.owner(setup.as_ref(), &introduction).await?;
        bot.name = Some(introduction.name);
        self.additions.bot = Some(bot);
        Ok(())
    }

    /// Returns the bot of the command line.
    fn given_token(&self) -> Result<Option<AddedBot>, Failure> {
        let Some((bot, path)) = &self.args.bot.token_file else { return Ok(None) };
        let (form, token) = (bot.form, secret_from(path)?);
        if !(form.is_token)(&token) {
            let message = format!(
                "{} does not contain a token of {} ({}); nothing was sent",
                path.display(),
                form.label,
                form.token_form
            );
            return Err(Failure::new(Exit::Usage, message));
        }
        Ok(Some(self.bot_with_token(*bot, token)))
    }

    fn bot_with_token(&self, bot: KnownBot, token: String) -> AddedBot {
        let api_url = self.args.bot.url_of(bot.channel);
        AddedBot { known: bot, token: Secret::new(token), api_url, name: None, owner: None }
    }

    /// Asks for a token. `last` is the bot whose token has failed.
    async fn ask_bot(&mut self, last: Option<AddedBot>) -> Result<Option<AddedBot>, Failure> {
        let Some(questions) = &mut self.questions else { return Ok(None) };
        let bots = registered_bots();
        let question = if last.is_some() { AGAIN.to_owned() } else { bots.token_question() };
        loop {
            let token = questions.ask_secret(&question).await?;
            match (token.as_str(), bots.find_by_token(&token)) {
                ("", _) => return Ok(last),
                ("-", _) => return Ok(None),
                (_, Some(bot)) => return Ok(Some(self.bot_with_token(bot, token))),
                (_, None) => print_lines(&bots.no_token_text())?,
            }
        }
    }

    /// Tests a token on its platform. The inner error is the reason why the bot cannot be used, as a
    /// sentence.
    async fn introduce_bot(
        &self,
        bot: &AddedBot,
    ) -> Result<Result<(Arc<dyn BotSetup>, BotIntroduction), String>, Failure> {
        let additions = Additions { bot: Some(bot.clone()), ..self.additions.clone() };
        let made = self.candidate(&additions).and_then(|(document, settings)| {
            Ok(registry::make_channels(&document, &settings, &self.context.clock)?)
        });
        let channels = match made {
            Ok(made) => made.channels,
            Err(failure) if self.questions.is_none() => return Err(failure),
            Err(failure) => return Ok(Err(without_place(&failure))),
        };
        let is_it = |one: &&registry::ConfiguredChannel| {
            one.channel.name().as_str() == bot.known.channel && one.setup.is_some()
        };
        let (label, found) = (bot.known.form.label, channels.iter().find(is_it));
        let Some((channel, Some(setup))) = found.map(|one| (&one.channel, &one.setup)) else {
            let message = format!("{label} cannot be set up here");
            return Err(Failure::new(Exit::Failed, message));
        };
        print_lines(&format!("Asking {label} about the bot...\n"))?;
        let checks = channel.probe().await;
        let is_bad = |check: &&Check| check.state == CheckState::Bad;
        if let Some(Check { says, fix, .. }) = checks.iter().find(is_bad) {
            // The remedy is written for the file, which does not exist yet.
            let file = format!(", put it into [channels.{}]", bot.known.channel);
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
            print_lines(&format!("To become the owner, {invitation}\n"))?;
            print_lines("Waiting for the message; Enter skips this.\n")?;
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
                    print_lines(&format!("The bot has no owner yet: {why}.\n"))?;
                    return Ok(None);
                }
            };
            let OwnerCandidate { id, name, reason } = &candidate;
            print_lines(&format!("{name}, id {id}, {reason}.\n"))?;
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
