//! The bots that can be set up. Their channels declare the form of a token and the words for people;
//! this file makes the options and the questions of them.

use std::collections::BTreeMap;
use std::path::PathBuf;

use avocet_protocol::channel::BotForm;
use clap::{Arg, ArgMatches, Command, value_parser};

/// The bots of one channel.
#[derive(Debug, Clone, Copy)]
pub(super) struct KnownBot {
    /// The name of the channel, which is the key of its table.
    pub(super) channel: &'static str,
    pub(super) form: BotForm,
}

/// The bots of all channels.
#[derive(Debug, Clone)]
pub(super) struct KnownBots(Vec<KnownBot>);

/// The options about bots.
#[derive(Debug, Clone, Default)]
pub(super) struct BotOptions {
    pub(super) token_file: Option<(KnownBot, PathBuf)>,
    /// The addresses of the platforms' servers, by channel.
    urls: BTreeMap<&'static str, String>,
}

impl KnownBots {
    /// Makes the list of these bots.
    pub(super) fn new(bots: impl IntoIterator<Item = KnownBot>) -> Self {
        Self(bots.into_iter().collect())
    }

    /// Recognises the platform of a whole token.
    pub(super) fn find_by_token(&self, token: &str) -> Option<KnownBot> {
        self.0.iter().copied().find(|bot| (bot.form.is_token)(token))
    }

    /// Returns `true` if a text seems to be the token of a bot, perhaps without its beginning or end.
    pub(super) fn has_token_like(&self, text: &str) -> bool {
        self.0.iter().any(|bot| (bot.form.is_like_token)(text))
    }

    pub(super) fn token_question(&self) -> String {
        let sources = self.join(" or ", |form| form.token_source.to_owned());
        format!("Token of your bot, {sources} (it stays invisible; Enter for none):")
    }

    /// Returns the reply to an answer that has the form of no token.
    pub(super) fn no_token_text(&self) -> String {
        let token = |form: &BotForm| format!("a {} token ({})", form.label, form.token_form);
        format!("That is neither {}. Nothing was sent.\n", self.join(" nor ", token))
    }

    /// Returns the options that name a file with a token, each with its dashes.
    pub(super) fn token_options(&self) -> Vec<String> {
        self.0.iter().map(|bot| format!("--{}", bot.form.token_option)).collect()
    }

    fn join(&self, separator: &str, text: impl Fn(&BotForm) -> String) -> String {
        let texts: Vec<String> = self.0.iter().map(|bot| text(&bot.form)).collect();
        texts.join(separator)
    }

    /// Adds the options of each bot to the command. Two files with a token exclude each other.
    pub(super) fn add_options(&self, command: Command) -> Command {
        self.0.iter().fold(command, |command, KnownBot { form, .. }| {
            let others = self.0.iter().map(|bot| bot.form.token_option);
            let others = others.filter(|other| *other != form.token_option);
            let token = Arg::new(form.token_option)
                .long(form.token_option)
                .value_name("FILE")
                .value_parser(value_parser!(PathBuf))
                .conflicts_with_all(others)
                .help(format!("File with the token of a {} bot", form.label));
            let url = Arg::new(form.url_option)
                .long(form.url_option)
                .value_name("URL")
                .help(form.url_help);
            command.arg(token).arg(url)
        })
    }

    pub(super) fn read_options(&self, matches: &ArgMatches) -> BotOptions {
        let mut options = BotOptions::default();
        for bot in &self.0 {
            if let Some(path) = matches.get_one::<PathBuf>(bot.form.token_option) {
                options.token_file = Some((*bot, path.clone()));
            }
            if let Some(url) = matches.get_one::<String>(bot.form.url_option) {
                options.urls.insert(bot.channel, url.clone());
            }
        }
        options
    }
}

impl BotOptions {
    /// Returns the address of a platform's server; `None` for the usual one.
    pub(super) fn url_of(&self, channel: &str) -> Option<String> {
        self.urls.get(channel).cloned()
    }
}

#[cfg(test)]
#[path = "known_bots_tests.rs"]
mod tests;
