//! `avocet init`: asks for a model provider, a bot and its owner, tests each answer at once, and writes
//! the configuration. The file is written once, after the last answer.

mod additions;
mod bot;
mod known_bots;
mod local;
mod model_choice;
mod offer;
mod presets;
mod provider;
mod questions;
mod secret_forms;

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use avocet_config::{ConfigDocument, ConfigSettings};
use avocet_protocol::daemon::ConfigFileError;
use avocet_supervise::Group;
use avocet_text::plain_io;
use clap::{ArgMatches, Args, Command, FromArgMatches};

use crate::components::config_file::FileText;
use crate::components::places::config_place;
use crate::configuration::{Configuration, ConfigurationUse};
use crate::connection::connect_daemon;
use crate::context::CommandContext;
use crate::environment::{absolute_path, home_directory, read_variable};
use crate::exit::{Exit, Failure};
use crate::input::text_or_stdin;
use crate::redaction;
use crate::registry;
use crate::setup::service::{self, ServiceInstall};

use additions::{Additions, section_names};
use known_bots::{BotOptions, KnownBot, KnownBots};
use local::LocalPorts;
use questions::{Questions, print_lines};

/// The beginning of a setup.
const FIRST_LINES: &str = "4 questions: the key of your model provider, the model, your bot, its owner. Each answer is \
    tested. Ctrl-C writes nothing.";

/// The reply to Ctrl-C before the file is written.
const LEFT: &str = "left before the end; nothing was written";

/// The way to a service for root, whose own service would have all rights.
const FOR_ROOT: &str = "You are root. For a service with an account of its own, copy the program to \
     /usr/local/bin and the configuration to /etc/avocet/config.toml, write its secrets as references such as \
     \"${credential:token}\" (LoadCredential= in a drop-in), and run `avocet service install --system`.\n";

#[derive(Debug, Args)]
pub(crate) struct InitArgs {
    /// Provider of the model: anthropic, cerebras, deepseek, gemini, groq, mistral, ollama, openai,
    /// openrouter or xai; with --base-url, any name. Default: recognised from the key.
    #[arg(long, value_name = "NAME")]
    provider: Option<String>,
    /// File with the API key of the provider; - for stdin.
    #[arg(long, value_name = "FILE")]
    api_key_file: Option<PathBuf>,
    /// Address of the provider, for a server with OpenAI's API or that of --provider.
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,
    /// Model of the provider. Default: its newest usual one.
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    #[command(flatten)]
    bot: BotOptions,
    /// Numeric user id of the bot's owner.
    #[arg(long, value_name = "ID")]
    owner: Option<u64>,
    /// Install the daemon as a service of your user, and start it.
    #[arg(long)]
    service: bool,
    /// Ask no question: use the options, and the default of everything else.
    #[arg(long)]
    yes: bool,
    /// Ports on which model servers of this machine are looked for: of Ollama, llama.cpp and
    /// LM Studio.
    #[arg(long, value_name = "PORTS", default_value_t, hide = true)]
    local_ports: LocalPorts,
}

/// Returns the bots of the channels in the registry.
fn registered_bots() -> KnownBots {
    // The last of the list comes first, as it always has in the shown texts.
    KnownBots::new(registry::CHANNELS.iter().rev().filter_map(|kind| {
        let form = kind.bot?;
        Some(KnownBot { channel: kind.name, form })
    }))
}

/// Starts to ask on the terminal.
pub(super) fn start_questions(group: &Group) -> io::Result<Questions> {
    Questions::start(group, registered_bots())
}

impl Args for BotOptions {
    fn augment_args(command: Command) -> Command {
        registered_bots().add_options(command)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for BotOptions {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        Ok(registered_bots().read_options(matches))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// The state of a setup.
struct InitRun<'c> {
    context: &'c CommandContext,
    args: InitArgs,
    file: FileText,
    /// `None` without a terminal, or with `--yes`.
    questions: Option<Questions>,
    additions: Additions,
}

/// The end of a setup.
#[derive(Debug)]
pub(crate) enum InitEnd {
    Done(Exit),
    /// The person wants the daemon to run in this terminal.
    RunDaemon,
}

pub(crate) async fn run(context: &CommandContext, args: InitArgs) -> Result<InitEnd, Failure> {
    let file = configuration_file(context)?;
    // A faulty file is not worth a single question.
    if file.path.exists() {
        Configuration::load(context, ConfigurationUse::Check)?;
        file.check_private().map_err(unusable_failure)?;
    }
    let is_asking = io::stdin().is_terminal() && !args.yes;
    let questions = is_asking.then(|| start_questions(&context.root)).transpose()?;
    let mut setup = InitRun { context, args, file, questions, additions: Additions::default() };
    tokio::select! {
        // Ctrl-C is noticed from the first question on.
        biased;
        pressed = tokio::signal::ctrl_c() => {
            pressed?;
            print_lines("\n")?;
            return Err(Failure::new(Exit::Failed, LEFT));
        }
        gathered = setup.gather() => gathered?,
    }
    if setup.additions.is_empty() {
        if setup.args.service {
            let installed = service::install_service(context, ServiceInstall::default())?;
            return Ok(InitEnd::Done(installed));
        }
        print_lines("Nothing was changed.\n")?;
        return Ok(InitEnd::Done(Exit::Done));
    }
    setup.write()?;
    setup.finish().await
}

/// Reads the configuration file, which has to be writable.
fn configuration_file(context: &CommandContext) -> Result<FileText, Failure> {
    let place = config_place(&context.cli).ok_or_else(|| {
        let message = "there is no home directory for the configuration; give --config FILE";
        Failure::new(Exit::Configuration, message)
    })?;
    let file = FileText::read(absolute_path(&place)?).map_err(unusable_failure)?;
    file.check_writable().map_err(unusable_failure)?;
    Ok(file)
}

fn unusable_failure(error: ConfigFileError) -> Failure {
    Failure { exit: Exit::Configuration, error: error.into() }
}

impl InitRun<'_> {
    /// Asks for everything that the options leave open.
    async fn gather(&mut self) -> Result<(), Failure> {
        let parts = self.parts().await?;
        if parts.provider {
            self.add_provider().await?;
        }
        if parts.bot {
            self.add_bot().await?;
        }
        // A service alone needs a configuration that exists.
        let has_aim = self.args.service && self.file.path.exists();
        if self.questions.is_none() && self.additions.is_empty() && !has_aim {
            let bots = registered_bots().token_options().join(" or ");
            let message = format!(
                "there is nothing to set up, and no terminal to ask on; give --api-key-file, \
                 --base-url, {bots}"
            );
            return Err(Failure::new(Exit::Usage, message));
        }
        Ok(())
    }

    /// Decides what to add. With a configuration, shows it and asks.
    async fn parts(&mut self) -> Result<Parts, Failure> {
        let args = &self.args;
        let given = Parts {
            provider: args.provider.is_some()
                || args.api_key_file.is_some()
                || args.base_url.is_some(),
            bot: args.bot.token_file.is_some(),
        };
        let is_new = self.file.text.trim().is_empty();
        let Some(questions) = &mut self.questions else {
            return Ok(Parts { provider: given.provider || is_new, ..given });
        };
        if is_new {
            if !given.provider && !given.bot {
                let path = shown_path(&self.file.path);
                print_lines(&format!("{FIRST_LINES} The answers go into {path}.\n"))?;
            }
            return Ok(Parts { provider: true, bot: true });
        }
        print_lines(&existing_text(&self.file))?;
        if given.provider || given.bot {
            return Ok(given);
        }
        loop {
            let question = "Add a provider (p) or a bot (b)? Enter leaves.";
            match questions.ask(question).await?.to_lowercase().as_str() {
                "" => return Ok(Parts { provider: false, bot: false }),
                "p" | "provider" => return Ok(Parts { provider: true, bot: false }),
                "b" | "bot" => return Ok(Parts { provider: false, bot: true }),
                _ => print_lines("Answer p, b, or nothing.\n")?,
            }
        }
    }

    /// Parses the configuration with all additions so far.
    fn candidate(
        &self,
        additions: &Additions,
    ) -> Result<(ConfigDocument, ConfigSettings), Failure> {
        let text = additions.added_to(&self.file.text).map_err(|why| self.refused_failure(&why))?;
        let references = ConfigurationUse::Check.used_references();
        let path = Some(self.file.path.clone());
        let document = ConfigDocument::parse_with(text, path, &read_variable, references)?;
        redaction::learn_secrets(document.secrets());
        let settings = document.table("")?;
        Ok((document, settings))
    }

    fn refused_failure(&self, why: &str) -> Failure {
        let path = shown_path(&self.file.path);
        let message = format!("cannot add to {path}: {why}; nothing was changed");
        Failure::new(Exit::Configuration, message)
    }

    fn write(&self) -> Result<(), Failure> {
        let text =
            self.additions.added_to(&self.file.text).map_err(|why| self.refused_failure(&why))?;
        self.file.replace(self.context, &text).map_err(unusable_failure)
    }

    /// Gets the daemon to run, and names the next steps.
    async fn finish(&mut self) -> Result<InitEnd, Failure> {
        let path = &self.file.path;
        print_lines(&format!("\nThe configuration is in {}.\n", shown_path(path)))?;
        let configuration = Configuration::load(self.context, ConfigurationUse::Daemon)?;
        let is_running = connect_daemon(self.context, &configuration).await?.is_some();
        if is_running {
            print_lines("The running daemon uses the configuration within a few seconds.\n")?;
        } else if self.wants_service().await? {
            service::install_service(self.context, ServiceInstall::default())?;
        } else if self.wants_daemon().await? {
            print_lines(&self.next_steps())?;
            print_lines("The daemon runs here until Ctrl-C.\n")?;
            return Ok(InitEnd::RunDaemon);
        } else {
            print_lines("Start the daemon: avocet run\n")?;
        }
        print_lines(&self.next_steps())?;
        Ok(InitEnd::Done(Exit::Done))
    }

    /// Names what works once the daemon runs.
    fn next_steps(&self) -> String {
        let bot = self.additions.bot.as_ref();
        let invitation = bot.map(|bot| {
            let platform = bot.known.form.label;
            let name = bot.name.as_deref().map(|name| format!(" {name}")).unwrap_or_default();
            let owner = match bot.owner {
                Some(_) => "",
                None => {
                    " It answers strangers with a code: avocet pair approve CODE --owner makes you \
                     its owner."
                }
            };
            format!("Write to your bot{name} on {platform}.{owner}\n")
        });
        format!(
            "{}Chat here: avocet. In a browser: avocet web.\nTest all of it: avocet doctor\n",
            invitation.unwrap_or_default()
        )
    }

    /// Asks whether to install the service, if this user has a manager of services.
    async fn wants_service(&mut self) -> Result<bool, Failure> {
        if self.questions.is_none() || self.args.service {
            return Ok(self.args.service);
        }
        if rustix::process::getuid().is_root() {
            print_lines(FOR_ROOT)?;
        }
        if !has_user_services() {
            return Ok(false);
        }
        self.confirm("Install the daemon as a service, and start it now?").await
    }

    /// Asks whether to run the daemon in this terminal.
    async fn wants_daemon(&mut self) -> Result<bool, Failure> {
        self.confirm("Start the daemon now, in this terminal?").await
    }

    /// Asks after the configuration is written, so that Ctrl-C is a no to this question and all later
    /// ones. Without a terminal, the answer is no.
    async fn confirm(&mut self, question: &str) -> Result<bool, Failure> {
        let Some(questions) = &mut self.questions else { return Ok(false) };
        tokio::select! {
            // A Ctrl-C before this is awaited would be lost, so it comes before the question.
            biased;
            pressed = tokio::signal::ctrl_c() => {
                pressed?;
                print_lines("\n")?;
                self.questions = None;
                Ok(false)
            }
            answer = questions.is_yes(question) => answer,
        }
    }
}

/// Returns `true` if systemd runs services of this user.
fn has_user_services() -> bool {
    read_variable("XDG_RUNTIME_DIR").is_some_and(|run| Path::new(&run).join("systemd").is_dir())
}

/// The parts of a configuration to add.
#[derive(Debug, Clone, Copy)]
struct Parts {
    provider: bool,
    bot: bool,
}

/// Describes the configuration that is there.
fn existing_text(file: &FileText) -> String {
    let list =
        |names: Vec<String>| if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    format!(
        "{} has these providers: {}; channels: {}.\n",
        shown_path(&file.path),
        list(section_names(&file.text, "providers")),
        list(section_names(&file.text, "channels")),
    )
}

/// Reads a secret from a file, or from stdin.
fn secret_from(path: &Path) -> Result<String, Failure> {
    let read = if path == Path::new("-") {
        text_or_stdin(Some("-".to_owned()))
    } else {
        std::fs::read_to_string(path).map_err(|error| {
            let message = format!("cannot read {}: {}", path.display(), plain_io(&error));
            Failure::new(Exit::Usage, message)
        })
    };
    let secret = read?.trim().to_owned();
    if secret.is_empty() {
        let message = format!("{} is empty", path.display());
        return Err(Failure::new(Exit::Usage, message));
    }
    Ok(secret)
}

/// Formats a path for people: below the home directory, with `~`.
fn shown_path(path: &Path) -> String {
    let below = home_directory().and_then(|home| path.strip_prefix(home).ok().map(Path::to_owned));
    below.map_or_else(|| path.display().to_string(), |below| format!("~/{}", below.display()))
}
