//! The kinds of channels, and the configured accounts of each.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use avocet_bus::Admission;
use avocet_config::{ConfigDocument, ConfigError, ConfigSettings};
use avocet_protocol::access::Allow;
use avocet_protocol::channel::{
    Attach, BotForm, BotSetup, Channel, ChannelAccounts, ChannelConfig, ChannelWebhook,
    ProgramConfig, WEB_CHANNEL, Webhook,
};
use avocet_protocol::clock::Clock;
use avocet_protocol::ids::{AccountName, ChannelName, IdError};
use avocet_web::{KeptFiles, Web};
use serde_json::Value;

use super::services::{HTTP, has_http, opened_hosts};
use super::{CHANNELS, key_error};
use crate::environment;
use crate::exit::Failure;
use crate::parts::{describe_left_out, is_left_out};
use crate::registry::ChildAccess;

/// Makes one account of a channel.
type MakeChannel =
    fn(&ConfigDocument, &AccountTable, Arc<dyn Clock>) -> Result<ConfiguredChannel, ConfigError>;

/// Finds the directory of an account through which an operator speaks.
type FindDirectory =
    fn(&ConfigDocument, &AccountTable) -> Result<Option<ChannelDirectory>, ConfigError>;

/// A kind of channel, made from its configuration's type.
pub(crate) struct ChannelKind {
    pub(crate) name: &'static str,
    /// The form of the bots that `avocet init` can set up.
    pub(crate) bot: Option<BotForm>,
    accounts: ChannelAccounts,
    make: MakeChannel,
    directory: FindDirectory,
    /// The schema of its table.
    pub(crate) schema: fn() -> Value,
    #[cfg(test)]
    pub(crate) table: fn() -> super::DeclaredTable,
}

impl ChannelKind {
    pub(super) const fn for_config<C: ChannelConfig>() -> Self {
        Self {
            name: C::NAME,
            bot: C::BOT,
            accounts: C::ACCOUNTS,
            make: make_channel::<C>,
            directory: channel_directory::<C>,
            schema: avocet_config::schema::<C>,
            #[cfg(test)]
            table: super::DeclaredTable::for_type::<C>,
        }
    }
}

/// An account: the channel, and the login on it.
pub(crate) type AccountId = (ChannelName, AccountName);

/// An account of a channel, and the path of its table.
struct AccountTable {
    account: AccountName,
    path: String,
}

/// One account of a channel, and its other roles.
pub(crate) struct ConfiguredChannel {
    pub(crate) channel: Arc<dyn Channel>,
    /// Set for channels that clients attach to.
    pub(crate) attach: Option<Arc<dyn Attach>>,
    /// Set for bots that `avocet init` can set up.
    pub(crate) setup: Option<Arc<dyn BotSetup>>,
    /// Set for accounts whose platform posts updates.
    pub(crate) webhook: Option<Arc<dyn Webhook>>,
    /// Set for accounts that a child of the daemon serves.
    pub(crate) program: Option<ChannelProgram>,
    pub(crate) allow: Allow,
    pub(crate) table: ConfiguredTable,
}

/// The table of an account.
#[derive(Debug, Clone)]
pub(crate) struct ConfiguredTable {
    /// Its path: `channels.telegram.work`.
    pub(crate) path: String,
    /// The patterns of keys that only decide about access.
    pub(crate) access_keys: &'static [&'static str],
    /// `true` if an operator speaks through the files of a directory.
    pub(crate) has_directory: bool,
}

impl ConfiguredChannel {
    pub(crate) fn id(&self) -> AccountId {
        (self.channel.name(), self.channel.account())
    }

    /// Returns `true` if other parts of the daemon were made for this account at the start: its
    /// endpoint, its program, its clients, or the protection of its directory.
    pub(crate) fn is_bound(&self) -> bool {
        self.webhook.is_some()
            || self.program.is_some()
            || self.attach.is_some()
            || self.table.has_directory
    }
}

/// The program of an account, and its access to the system.
#[derive(Debug, Clone)]
pub(crate) struct ChannelProgram {
    pub(crate) channel: ChannelName,
    pub(crate) account: AccountName,
    /// The program and its arguments.
    pub(crate) command: Vec<String>,
    pub(crate) access: ChildAccess,
}

/// The channels of a configuration, and their admission lists.
pub(crate) struct Channels {
    pub(crate) channels: Vec<ConfiguredChannel>,
    pub(crate) admission: Admission,
}

/// Returns the channel of the web console. Everyone who is signed in to the console is an owner.
pub(crate) fn web_channel(files: Option<KeptFiles>) -> Result<ConfiguredChannel, IdError> {
    let channel = Arc::new(Web::new(files)?);
    Ok(ConfiguredChannel {
        channel,
        attach: None,
        setup: None,
        webhook: None,
        program: None,
        allow: Allow::Local,
        table: ConfiguredTable {
            path: format!("channels.{WEB_CHANNEL}"),
            access_keys: &[],
            has_directory: false,
        },
    })
}

/// Returns the endpoints of these channels.
pub(crate) fn channel_webhooks(channels: &[ConfiguredChannel]) -> Vec<ChannelWebhook> {
    let webhook = |one: &ConfiguredChannel| {
        let (channel, account) = (one.channel.name(), one.channel.account());
        Some(ChannelWebhook { channel, account, endpoint: one.webhook.clone()? })
    };
    channels.iter().filter_map(webhook).collect()
}

fn channel_names() -> Vec<&'static str> {
    CHANNELS.iter().map(|kind| kind.name).chain([WEB_CHANNEL]).collect()
}

/// Refuses a table `[tools.channels.NAME]` for an unknown channel.
fn check_tool_tables(
    document: &ConfigDocument,
    settings: &ConfigSettings,
) -> Result<(), ConfigError> {
    let known = channel_names();
    match settings.tools.channels.keys().find(|name| !known.contains(&name.as_str())) {
        Some(name) => Err(document.unknown_key(&format!("tools.channels.{name}"), &known)),
        None => Ok(()),
    }
}

/// Makes the configured channels, and those that always exist. The web console has no uploads yet.
pub(crate) fn make_channels(
    document: &ConfigDocument,
    settings: &ConfigSettings,
    clock: &Arc<dyn Clock>,
) -> Result<Channels, ConfigError> {
    check_tool_tables(document, settings)?;
    let known: Vec<_> = CHANNELS.iter().map(|kind| kind.name).collect();
    let is_unknown =
        |name: &&String| !known.contains(&name.as_str()) && !is_program(document, name);
    if let Some(name) = settings.channels.keys().find(is_unknown) {
        let path = format!("channels.{name}");
        if is_left_out(name) {
            return Err(document.error_at(&path, describe_left_out(name)));
        }
        return Err(document.unknown_key(&path, &known));
    }
    let mut channels = Vec::new();
    let mut admission = Admission::default();
    for kind in CHANNELS {
        for table in account_tables(document, kind)? {
            let configured = (kind.make)(document, &table, clock.clone())?;
            let channel = &configured.channel;
            admission =
                admission.with_account(channel.name(), channel.account(), configured.allow.clone());
            channels.push(configured);
        }
    }
    check_tokens(document, &channels)?;
    let web =
        web_channel(None).map_err(|error| document.error_at("channels", error.to_string()))?;
    admission =
        admission.with_account(web.channel.name(), web.channel.account(), web.allow.clone());
    channels.push(web);
    Ok(Channels { channels, admission })
}

/// Refuses two accounts of a channel with the same token: each would take messages of the other.
fn check_tokens(
    document: &ConfigDocument,
    channels: &[ConfiguredChannel],
) -> Result<(), ConfigError> {
    let mut known: BTreeMap<(ChannelName, &str), &ConfiguredChannel> = BTreeMap::new();
    for one in channels {
        let path = format!("{}.token", one.table.path);
        let Some(token) = document.get(&path).and_then(Value::as_str) else { continue };
        // References without a value here would all be equal.
        if document.is_unresolved(&path) {
            continue;
        }
        // Discord takes its tokens in both forms.
        let token = token.trim().trim_start_matches("Bot ");
        if let Some(other) = known.insert((one.channel.name(), token), one) {
            let (account, other) = (one.channel.account(), other.channel.account());
            let message = format!(
                "`{path}`: the accounts {other} and {account} have the same token; each account \
                    needs a bot of its own"
            );
            return Err(document.error_at(&path, message));
        }
    }
    Ok(())
}

/// Returns the accounts of a channel. A configured channel has its own table, or, if that contains
/// only tables, each of them.
fn account_tables(
    document: &ConfigDocument,
    kind: &ChannelKind,
) -> Result<Vec<AccountTable>, ConfigError> {
    let channel = format!("channels.{}", kind.name);
    let account = |name: &str, path: String| {
        let account = AccountName::parse(name);
        let account = account.map_err(|error| document.error_at(&channel, error.to_string()))?;
        Ok(AccountTable { account, path })
    };
    if let ChannelAccounts::Only(name) = kind.accounts {
        return Ok(vec![account(name, channel.clone())?]);
    }
    let mut found: Vec<AccountTable> = match document.get(&channel).map(Value::as_object) {
        None => Vec::new(),
        Some(Some(table)) if !table.is_empty() && table.values().all(Value::is_object) => {
            let tables = table.keys().map(|key| account(key, format!("{channel}.{key}")));
            tables.collect::<Result<_, _>>()?
        }
        Some(_) => vec![account("main", channel.clone())?],
    };
    if kind.accounts == ChannelAccounts::Programs {
        let tables = document.get("channels").and_then(Value::as_object);
        for name in tables.into_iter().flat_map(serde_json::Map::keys) {
            if !is_program(document, name) {
                continue;
            }
            let program = account(name, format!("channels.{name}"))?;
            if let Some(other) = found.iter().find(|other| other.account == program.account) {
                let AccountTable { path, .. } = program;
                let message = format!(
                    "`{path}` and `{}` are the same account; remove or rename one of them",
                    other.path
                );
                return Err(document.error_at(&path, message));
            }
            found.push(program);
        }
    }
    Ok(found)
}

/// Returns `true` if the table `[channels.NAME]` is that of a program, whose name is that of no
/// channel.
fn is_program(document: &ConfigDocument, name: &str) -> bool {
    let is_channel = CHANNELS.iter().any(|kind| kind.name == name) || name == WEB_CHANNEL;
    // Placeholders and names with dots are keys of the table, too.
    let table = document.get("channels").and_then(|channels| channels.get(name));
    !is_channel && table.is_some_and(|table| table.get("command").is_some())
}

/// Resolves the paths of a program, and reads its hosts.
fn program_channel(
    document: &ConfigDocument,
    AccountTable { account, path }: &AccountTable,
    channel: &ChannelName,
    config: ProgramConfig,
) -> Result<ChannelProgram, ConfigError> {
    let ProgramConfig { command, env, read, write, hosts: open } = config;
    let resolve = |key: &str, paths: &[PathBuf]| {
        let resolve =
            |(number, path): (usize, &PathBuf)| resolve_entry(document, key, number, path);
        paths.iter().enumerate().map(resolve).collect::<Result<Vec<_>, _>>()
    };
    let hosts = opened_hosts(document, &format!("{path}.hosts"), &open)?;
    let access = ChildAccess {
        environment: env.into_iter().collect(),
        read: resolve(&format!("{path}.read"), &read)?,
        write: resolve(&format!("{path}.write"), &write)?,
        hosts,
    };
    Ok(ChannelProgram { channel: channel.clone(), account: account.clone(), command, access })
}

fn resolve_entry(
    document: &ConfigDocument,
    list: &str,
    number: usize,
    path: &Path,
) -> Result<PathBuf, ConfigError> {
    let key = format!("{list}[{number}]");
    let unusable =
        |failure: Failure| document.error_at(&key, format!("`{key}`: {}", failure.error));
    environment::from_configuration(document, path).map_err(unusable)
}

/// A directory through which an operator speaks to the agent.
pub(crate) struct ChannelDirectory {
    /// The key of its path in the configuration.
    pub(crate) key: String,
    pub(crate) path: PathBuf,
}

/// Returns the directories of all channels. A path that was not read is left out.
pub(crate) fn channel_directories(
    document: &ConfigDocument,
) -> Result<Vec<ChannelDirectory>, ConfigError> {
    let mut found: Vec<ChannelDirectory> = Vec::new();
    for kind in CHANNELS {
        for table in account_tables(document, kind)? {
            let Some(directory) = (kind.directory)(document, &table)? else { continue };
            let ChannelDirectory { key, path } = &directory;
            let overlaps = |other: &&ChannelDirectory| {
                other.path.starts_with(path) || path.starts_with(&other.path)
            };
            if let Some(other) = found.iter().find(overlaps) {
                let message = format!("`{key}` and `{}` overlap; separate them", other.key);
                return Err(document.error_at(key, message));
            }
            found.push(directory);
        }
    }
    Ok(found)
}

fn channel_directory<C: ChannelConfig>(
    document: &ConfigDocument,
    table: &AccountTable,
) -> Result<Option<ChannelDirectory>, ConfigError> {
    let mut config: C = document.table(&table.path)?;
    resolve_directory(document, &table.path, &mut config)
}

/// Makes the path of the account's directory absolute, and returns it. `None` if the account has no
/// directory, or its path was not read.
fn resolve_directory<C: ChannelConfig>(
    document: &ConfigDocument,
    table: &str,
    config: &mut C,
) -> Result<Option<ChannelDirectory>, ConfigError> {
    let Some((key, path)) = config.directory() else { return Ok(None) };
    let key = format!("{table}.{key}");
    if document.is_unresolved(&key) {
        return Ok(None);
    }
    let unusable =
        |failure: Failure| document.error_at(&key, format!("`{key}`: {}", failure.error));
    *path = environment::from_configuration(document, path).map_err(unusable)?;
    let path = path.clone();
    Ok(Some(ChannelDirectory { key, path }))
}

/// Makes one account.
fn make_channel<C: ChannelConfig>(
    document: &ConfigDocument,
    table: &AccountTable,
    clock: Arc<dyn Clock>,
) -> Result<ConfiguredChannel, ConfigError> {
    let AccountTable { account, path } = table;
    let mut config: C = document.table(path)?;
    let has_directory = resolve_directory(document, path, &mut config)?.is_some();
    match config.check() {
        // A left-out secret has only a placeholder, which cannot be checked.
        Err((key, error)) if !document.is_unresolved(&format!("{path}.{key}")) => {
            return Err(key_error(document, path, key, &error));
        }
        Ok(()) | Err(_) => {}
    }
    let unusable = |error: String| document.error_at(path, format!("[{path}]: {error}"));
    let name = ChannelName::parse(C::NAME).map_err(|error| unusable(error.to_string()))?;
    let program = config.program().map(|config| program_channel(document, table, &name, config));
    let program = program.transpose()?;
    let channel = config.channel(name, account.clone(), clock);
    let channel = Arc::new(channel.map_err(|error| unusable(error.to_string()))?);
    let allow = config.allow().map_err(|error| unusable(error.to_string()))?;
    let (attach, setup, webhook) = (C::attach(&channel), C::setup(&channel), C::webhook(&channel));
    if webhook.is_some() && document.is_whole(HTTP) && !has_http(document) {
        let error = "it needs the HTTP interface: set `listen` in [http]";
        return Err(key_error(document, path, "webhook", error));
    }
    let table = ConfiguredTable { path: path.clone(), access_keys: C::ACCESS_KEYS, has_directory };
    Ok(ConfiguredChannel { attach, setup, webhook, program, channel, allow, table })
}
