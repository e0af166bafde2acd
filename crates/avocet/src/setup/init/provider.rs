//! The provider and its model: asked for, and tested by a request for the list of models.

use avocet_text::{Secret, nearest};

use super::additions::{AddedProvider, section_names};
use super::local::LocalServer;
use super::offer::NoList;
use super::presets::{PRESETS, Preset};
use super::questions::print_lines;
use super::{InitRun, secret_from};
use crate::exit::{Exit, Failure};

const WITHOUT_PROVIDER: &str =
    "Without a provider, the model is offline/commands, which runs tools from plain commands.\n";

const TOKEN_AS_KEY: &str = "That looks like the token of a bot, which comes after the model. This question is for \
    the key of your model provider. Nothing was sent.\n";
const SECRET_AS_PROVIDER: &str = "That looks like a key or a token, so it was not used. The token of the bot comes \
    after the model. This question is for the name of the provider.\n";

/// The answer to the question for a key.
enum KeyAnswer {
    Key(String),
    Local(LocalServer),
    None,
}

impl InitRun<'_> {
    /// Adds a provider and a model of it.
    pub(super) async fn add_provider(&mut self) -> Result<(), Failure> {
        let is_open = self.args.provider.is_none() && self.args.base_url.is_none();
        let mut key = self.args.api_key_file.as_deref().map(secret_from).transpose()?;
        let local = if is_open && key.is_none() { self.local_servers().await } else { Vec::new() };
        let mut is_retry = false;
        loop {
            let answer = match key.take() {
                Some(key) => KeyAnswer::Key(key),
                None => self.ask_key(&local).await?,
            };
            let found = match answer {
                KeyAnswer::None if is_open => return print_lines(WITHOUT_PROVIDER),
                KeyAnswer::None => self.provider_of(None, is_retry).await?,
                KeyAnswer::Local(server) => Some(server.provider),
                KeyAnswer::Key(key) => self.provider_of(Some(key), is_retry).await?,
            };
            let Some(provider) = found else { continue };
            print_lines(&format!("Asking {} for its models...\n", provider.name))?;
            let offered = match self.offered(&provider).await {
                Ok(models) => Ok(models),
                Err(NoList::Missing) => Ok(Vec::new()),
                Err(fault) => Err(fault),
            };
            let fault = match offered {
                Ok(models) => self.choose_model(&provider, &models).await?,
                Err(fault) => Some(fault),
            };
            let Some(fault) = fault else { return Ok(()) };
            self.report_fault(&provider, &fault)?;
            is_retry = true;
        }
    }

    /// Asks for a key, or for a server of this machine.
    async fn ask_key(&mut self, local: &[LocalServer]) -> Result<KeyAnswer, Failure> {
        let Some(questions) = &mut self.questions else {
            let Some(first) = local.first() else { return Ok(KeyAnswer::None) };
            let LocalServer { label, port, .. } = first;
            print_lines(&format!("Using {label} on this machine, port {port}.\n"))?;
            return Ok(KeyAnswer::Local(first.clone()));
        };
        for (place, LocalServer { label, port, models, .. }) in local.iter().enumerate() {
            let (number, count) = (place + 1, models.len());
            print_lines(&format!(
                "  {number}  {label} on this machine, port {port}, {count} models\n"
            ))?;
        }
        let otherwise = match local {
            [] => "; Enter for none):".to_owned(),
            [one] => format!("), or Enter for {}:", one.label),
            _ => "), or the number of a server above:".to_owned(),
        };
        let question = format!("API key of your model provider (it stays invisible{otherwise}");
        loop {
            let answer = questions.ask_secret(&question).await?;
            if questions.is_like_token(&answer) {
                print_lines(TOKEN_AS_KEY)?;
                continue;
            }
            let number = if answer.is_empty() { Some(1) } else { answer.parse().ok() };
            match number.map(|number: usize| local.get(number.wrapping_sub(1))) {
                Some(Some(server)) => return Ok(KeyAnswer::Local(server.clone())),
                Some(None) if answer.is_empty() => return Ok(KeyAnswer::None),
                Some(None) if answer.len() < 3 => {
                    print_lines("There is no server of this number.\n")?;
                }
                _ => return Ok(KeyAnswer::Key(answer)),
            }
        }
    }

    /// Finds the provider by the options, by the key, or by a question. `None` for another key.
    async fn provider_of(
        &mut self,
        key: Option<String>,
        is_retry: bool,
    ) -> Result<Option<AddedProvider>, Failure> {
        let preset = match &self.args.provider {
            Some(name) => Preset::named(name),
            None => key.as_deref().and_then(Preset::of_key),
        };
        let is_named = self.args.provider.is_some() || self.args.base_url.is_some();
        let preset = match preset {
            // Several providers have keys of the same form.
            Some(guess) if is_retry && !is_named => self.ask_preset(Some(guess)).await?,
            Some(preset) => Some(preset),
            None => match (&self.args.base_url, &self.args.provider) {
                (Some(url), name) => {
                    return self.own_server(name.clone(), url.clone(), key).map(Some);
                }
                (None, Some(name)) => return Err(unknown_provider(name)),
                (None, None) => self.ask_preset(None).await?,
            },
        };
        let url = self.args.base_url.clone();
        Ok(preset.map(|preset| AddedProvider {
            name: self.free_name(preset.name),
            kind: preset.kind.to_owned(),
            base_url: url.or_else(|| preset.base_url.map(str::to_owned)),
            api_key: key.map(Secret::new),
        }))
    }

    /// Returns a server with OpenAI's API.
    fn own_server(
        &self,
        name: Option<String>,
        url: String,
        key: Option<String>,
    ) -> Result<AddedProvider, Failure> {
        let name = name.unwrap_or_else(|| "server".to_owned());
        let is_name = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
        if name.is_empty() || !name.chars().all(is_name) {
            let message = format!("--provider: {name:?} is not a name of letters, digits, - and _");
            return Err(Failure::new(Exit::Usage, message));
        }
        let kind = "openai".to_owned();
        let api_key = key.map(Secret::new);
        Ok(AddedProvider { name: self.free_name(&name), kind, base_url: Some(url), api_key })
    }

    /// Returns the name with a number, if the configuration has it already.
    fn free_name(&self, name: &str) -> String {
        let taken = section_names(&self.file.text, "providers");
        let numbered = (2..).map(|number| format!("{name}{number}"));
        let mut names = [name.to_owned()].into_iter().chain(numbered);
        names.find(|name| !taken.contains(name)).unwrap_or_default()
    }

    /// Asks for the provider of a key. `None` for another key.
    async fn ask_preset(
        &mut self,
        guess: Option<&'static Preset>,
    ) -> Result<Option<&'static Preset>, Failure> {
        let known = || PRESETS.iter().map(|preset| preset.name).collect::<Vec<_>>().join(", ");
        let Some(questions) = &mut self.questions else {
            let message = format!("the key has no known form; give --provider: {}", known());
            return Err(Failure::new(Exit::Usage, message));
        };
        let default = guess.map_or("another key", |guess| guess.name);
        loop {
            let question = format!("Provider of the key ({}; Enter: {default}):", known());
            let answer = questions.ask(&question).await?;
            match (Preset::named(&answer), guess) {
                (Some(preset), _) => return Ok(Some(preset)),
                (None, guess) if answer.is_empty() => return Ok(guess),
                _ if questions.is_like_secret(&answer) => print_lines(SECRET_AS_PROVIDER)?,
                _ => print_lines(&format!("{}\n", unknown_provider(&answer).error))?,
            }
        }
    }

    /// Shows why a provider cannot be used. Without a terminal, this is the end.
    fn report_fault(&self, provider: &AddedProvider, fault: &NoList) -> Result<(), Failure> {
        let name = &provider.name;
        let (exit, message) = match fault {
            NoList::Key(detail) => (
                Exit::Failed,
                format!(
                    "{name} refuses the key: {}; copy the key again",
                    detail.trim_end_matches('.')
                ),
            ),
            NoList::Missing => (Exit::Failed, format!("{name} has no list of models")),
            NoList::Failed(detail) => {
                let place = provider.base_url.as_deref();
                let place = place.map_or_else(String::new, |url| format!(" at {url}"));
                (
                    Exit::TryLater,
                    format!(
                        "cannot ask {name}{place} for its models: {}",
                        detail.trim_end_matches('.')
                    ),
                )
            }
        };
        if self.questions.is_none() {
            return Err(Failure::new(exit, format!("{message}; nothing was written")));
        }
        print_lines(&format!("{message}.\n"))
    }
}

fn unknown_provider(name: &str) -> Failure {
    let known: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
    let meant = nearest(name, known.iter().copied());
    let meant = meant.map_or_else(String::new, |name| format!("did you mean {name}? "));
    let message = format!(
        "there is no provider {name:?}; {meant}The known ones are {}; for another server, give \
         --base-url",
        known.join(", ")
    );
    Failure::new(Exit::Usage, message)
}
