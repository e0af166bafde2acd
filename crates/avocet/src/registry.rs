//! The one registry of components: it maps a provider's `kind` and a channel's name to code. A new
//! component is a line in its list.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use avocet_bus::{Admission, Allow, GroupRules, Lists};
use avocet_channel_kit::GroupConfig;
use avocet_config::{ConfigError, Document, Settings};
use avocet_directory::{DirectoryChannel, DirectoryConfig};
use avocet_discord::{Discord, DiscordConfig};
use avocet_llm::{
    AnthropicConfig, Facts, GeminiConfig, KnownModel, Offline, OllamaConfig, OpenAiConfig,
    ProviderConfig, Transcription, TranscriptionConfig,
};
use avocet_net::{BadHost, Hosts};
use avocet_protocol::{
    AccountName, Attach, Channel, ChannelName, ChatId, Clock, IdError, SenderId, Transcribe,
};
use avocet_supervise::SystemClock;
use avocet_telegram::{Telegram, TelegramConfig};
use avocet_terminal::{Terminal, TerminalConfig};
use avocet_tools::{BUILT_IN, Registry, SearchConfig};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use crate::exit::{Exit, Failure};
use crate::{CommandContext, models, places};

/// Makes a model of a provider, with the operator's facts about it.
type MakeModel =
    fn(&Document, &str, &str, Facts, Arc<dyn Clock>) -> Result<ConfiguredModel, ConfigError>;

/// A model of the configuration.
#[derive(Debug, Clone)]
pub(crate) enum ConfiguredModel {
    /// The embedded model.
    Offline(Arc<Offline>),
    /// A model of a provider.
    Provided(Arc<KnownModel>),
}

/// A kind of provider.
pub(crate) struct ProviderKind {
    name: &'static str,
    check: fn(&Document, &str) -> Result<(), ConfigError>,
    pub(crate) make: MakeModel,
}

/// Every kind of provider.
const PROVIDERS: &[ProviderKind] = &[
    ProviderKind {
        name: "anthropic",
        check: check_http::<AnthropicConfig>,
        make: make_http::<AnthropicConfig>,
    },
    ProviderKind {
        name: "gemini",
        check: check_http::<GeminiConfig>,
        make: make_http::<GeminiConfig>,
    },
    ProviderKind { name: "offline", check: check_offline, make: make_offline },
    ProviderKind {
        name: "ollama",
        check: check_http::<OllamaConfig>,
        make: make_http::<OllamaConfig>,
    },
    ProviderKind {
        name: "openai",
        check: check_http::<OpenAiConfig>,
        make: make_http::<OpenAiConfig>,
    },
];

/// One account of a channel, and its other roles.
pub(crate) struct Configured {
    pub(crate) channel: Arc<dyn Channel>,
    /// Set for channels that clients attach to.
    pub(crate) attach: Option<Arc<dyn Attach>>,
    pub(crate) allow: Allow,
}

/// Makes each account of a channel.
type MakeChannels = fn(&Document, &str, &Arc<dyn Clock>) -> Result<Vec<Configured>, ConfigError>;

/// A kind of channel.
pub(crate) struct ChannelKind {
    pub(crate) name: &'static str,
    /// `true` if the channel exists without being configured.
    always: bool,
    make: MakeChannels,
}

/// Every kind of channel.
pub(crate) const CHANNELS: &[ChannelKind] = &[
    ChannelKind { name: "directory", always: false, make: make_directory },
    ChannelKind { name: "discord", always: false, make: make_discord },
    ChannelKind { name: "telegram", always: false, make: make_telegram },
    ChannelKind { name: "terminal", always: true, make: make_terminal },
];

/// Returns the names of the tools that a configuration may mention.
pub(crate) fn tools(context: &CommandContext) -> Result<Vec<String>, Failure> {
    let mut added = Registry::new(context.clock.clone());
    (context.otherwise.add_tools)(&mut added)
        .map_err(|error| Failure::new(Exit::Failed, error.to_string()))?;
    let mut names: Vec<String> =
        BUILT_IN.into_iter().chain(added.names()).map(str::to_owned).collect();
    names.sort();
    Ok(names)
}

/// The channels of a configuration, and their admission lists.
pub(crate) struct Channels {
    pub(crate) channels: Vec<Configured>,
    pub(crate) admission: Admission,
}

/// Checks the tables of all components, as far as they were read.
pub(crate) fn check(document: &Document, settings: &Settings) -> Result<(), ConfigError> {
    let providers = settings.providers.keys().map(|provider| format!("providers.{provider}"));
    for path in providers.filter(|path| document.is_whole(path)) {
        (kind_of(document, &path)?.check)(document, &path)?;
    }
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
    channels(document, settings, &clock)?;
    transcription_config(document, settings)?;
    web_search(document, settings)?;
    open_hosts(document, settings)?;
    models::check(document, settings)
}

/// Makes the transcriber, if one is configured.
pub(crate) fn transcribe(
    document: &Document,
    settings: &Settings,
    clock: Arc<dyn Clock>,
) -> Result<Option<Arc<dyn Transcribe>>, ConfigError> {
    let transcription = transcription(document, settings, clock)?;
    Ok(transcription.map(|one| Arc::new(one) as Arc<dyn Transcribe>))
}

/// Works as [`transcribe`], but returns the concrete type.
pub(crate) fn transcription(
    document: &Document,
    settings: &Settings,
    clock: Arc<dyn Clock>,
) -> Result<Option<Transcription>, ConfigError> {
    let Some(config) = transcription_config(document, settings)? else { return Ok(None) };
    let transcription = Transcription::new(config, clock);
    transcription.map(Some).map_err(|error| document.error_at(TRANSCRIPTION, error.to_string()))
}

/// Makes a provider without a model's name, for probes.
pub(crate) fn made(
    document: &Document,
    provider: &str,
    clock: Arc<dyn Clock>,
) -> Result<ConfiguredModel, ConfigError> {
    let kind = kind_of(document, &format!("providers.{provider}"))?;
    (kind.make)(document, provider, "", Facts::default(), clock)
}

const TRANSCRIPTION: &str = "transcription";

fn transcription_config(
    document: &Document,
    settings: &Settings,
) -> Result<Option<TranscriptionConfig>, ConfigError> {
    if settings.transcription.is_none() || !document.is_whole(TRANSCRIPTION) {
        return Ok(None);
    }
    let config: TranscriptionConfig = document.table(TRANSCRIPTION)?;
    config.check().map_err(|(key, error)| key_error(document, TRANSCRIPTION, key, &error))?;
    Ok(Some(config))
}

pub(crate) const WEB_SEARCH: &str = "tools.web_search";

/// Reads the configuration of the web search, if there is one.
pub(crate) fn web_search(
    document: &Document,
    settings: &Settings,
) -> Result<Option<SearchConfig>, ConfigError> {
    if settings.tools.web_search.is_none() || !document.is_whole(WEB_SEARCH) {
        return Ok(None);
    }
    let config: SearchConfig = document.table(WEB_SEARCH)?;
    config.check().map_err(|(key, error)| {
        let path = format!("{WEB_SEARCH}.{key}");
        let place = if document.get(&path).is_some() { &path } else { WEB_SEARCH };
        document.error_at(place, format!("`{path}`: {error}"))
    })?;
    Ok(Some(config))
}

/// Returns the hosts that programs may reach.
pub(crate) fn open_hosts(document: &Document, settings: &Settings) -> Result<Hosts, ConfigError> {
    Hosts::parse(&settings.sandbox.hosts).map_err(|BadHost { number, entry, why }| {
        let path = format!("sandbox.hosts[{number}]");
        let entry = document.shown(&path, &entry);
        document.error_at(&path, format!("`{path}`: {entry:?} opens nothing: {why}"))
    })
}

/// Returns the kind of the provider whose table is at `path`.
pub(crate) fn kind_of(
    document: &Document,
    path: &str,
) -> Result<&'static ProviderKind, ConfigError> {
    let known = || PROVIDERS.iter().map(|kind| kind.name).collect::<Vec<_>>().join(", ");
    let Some(kind) = document.get(&format!("{path}.kind")) else {
        let message = format!("[{path}] has no kind; the kinds are {}", known());
        return Err(document.error_at(path, message));
    };
    PROVIDERS.iter().find(|known| *kind == known.name).ok_or_else(|| {
        let path = format!("{path}.kind");
        let kind = kind.to_string();
        let kind = document.shown(&path, &kind);
        let message = format!("`{path}`: there is no kind {kind}; the kinds are {}", known());
        document.error_at(&path, message)
    })
}

fn check_offline(document: &Document, path: &str) -> Result<(), ConfigError> {
    match document.get(path).and_then(|table| table.as_object()) {
        Some(table) if table.len() > 1 => {
            let other = table.keys().find(|key| *key != "kind").map_or("", String::as_str);
            Err(document.unknown_key(&format!("{path}.{other}"), &["kind"]))
        }
        _ => Ok(()),
    }
}

#[expect(clippy::unnecessary_wraps, reason = "made as every kind is")]
fn make_offline(
    _: &Document,
    _: &str,
    _: &str,
    _: Facts,
    clock: Arc<dyn Clock>,
) -> Result<ConfiguredModel, ConfigError> {
    Ok(ConfiguredModel::Offline(Arc::new(Offline::new(clock))))
}

fn http_config<C: ProviderConfig>(document: &Document, path: &str) -> Result<C, ConfigError> {
    document.table_without(path, &["kind"])
}

fn check_http<C: ProviderConfig>(document: &Document, path: &str) -> Result<(), ConfigError> {
    let config: C = http_config(document, path)?;
    if document.get(&format!("{path}.api_key")).is_some_and(|key| key == "") {
        let error = "it is empty; leave it out where no key is wanted";
        return Err(key_error(document, path, "api_key", error));
    }
    config.check().map_err(|(key, error)| key_error(document, path, key, &error))
}

/// Creates an error about a key of the table at `path`.
fn key_error(document: &Document, path: &str, key: &str, error: &str) -> ConfigError {
    let path = format!("{path}.{key}");
    document.error_at(&path, format!("`{path}`: {error}"))
}

fn make_http<C: ProviderConfig>(
    document: &Document,
    provider: &str,
    model: &str,
    facts: Facts,
    clock: Arc<dyn Clock>,
) -> Result<ConfiguredModel, ConfigError> {
    let path = format!("providers.{provider}");
    let config: C = http_config(document, &path)?;
    let model = config.model(provider, model, facts, clock);
    let model = model.map_err(|error| document.error_at(&path, error.to_string()))?;
    Ok(ConfiguredModel::Provided(Arc::new(model)))
}

/// Makes the configured channels, and those that always exist.
pub(crate) fn channels(
    document: &Document,
    settings: &Settings,
    clock: &Arc<dyn Clock>,
) -> Result<Channels, ConfigError> {
    crate::policy::check(document, settings)?;
    let known: Vec<&str> = CHANNELS.iter().map(|kind| kind.name).collect();
    if let Some(name) = settings.channels.keys().find(|name| !known.contains(&name.as_str())) {
        return Err(document.unknown_key(&format!("channels.{name}"), &known));
    }
    let mut channels = Vec::new();
    let mut admission = Admission::default();
    for kind in CHANNELS {
        if !kind.always && !settings.channels.contains_key(kind.name) {
            continue;
        }
        for configured in (kind.make)(document, &format!("channels.{}", kind.name), clock)? {
            let channel = &configured.channel;
            admission = admission.with(channel.name(), channel.account(), configured.allow.clone());
            channels.push(configured);
        }
    }
    Ok(Channels { channels, admission })
}

/// Returns the accounts of a channel, and the paths of their tables: the channel's own table, or
/// each inner table if it contains only tables.
fn accounts(document: &Document, path: &str) -> Result<Vec<(AccountName, String)>, ConfigError> {
    let name = |name: &str| {
        AccountName::parse(name).map_err(|error| document.error_at(path, error.to_string()))
    };
    match document.get(path).and_then(|table| table.as_object()) {
        Some(table) if !table.is_empty() && table.values().all(serde_json::Value::is_object) => {
            table.keys().map(|key| Ok((name(key)?, format!("{path}.{key}")))).collect()
        }
        _ => Ok(vec![(name("main")?, path.to_owned())]),
    }
}

/// The directory of an account of the channel `directory`.
pub(crate) struct ChannelDirectory {
    /// The key of its path in the configuration.
    pub(crate) key: String,
    pub(crate) path: PathBuf,
    account: AccountName,
}

/// Returns the directories through which operators speak. A path that was not read is left out.
pub(crate) fn directories(document: &Document) -> Result<Vec<ChannelDirectory>, ConfigError> {
    const TABLE: &str = "channels.directory";
    let mut found: Vec<ChannelDirectory> = Vec::new();
    let accounts =
        if document.get(TABLE).is_some() { accounts(document, TABLE)? } else { Vec::new() };
    for (account, table) in accounts {
        let DirectoryConfig { path } = document.table(&table)?;
        let key = format!("{table}.path");
        if document.is_unresolved(&key) {
            continue;
        }
        let Some(path) = path.filter(|path| !path.as_os_str().is_empty()) else {
            let error = "there is no path; name a directory of its own: path = \"~/avocet-files\"";
            return Err(document.error_at(&table, format!("[{table}]: {error}")));
        };
        let path = places::beside(document, &path)
            .map_err(|failure| document.error_at(&key, format!("`{key}`: {}", failure.error)))?;
        let overlaps = |other: &&ChannelDirectory| {
            other.path.starts_with(&path) || path.starts_with(&other.path)
        };
        if let Some(other) = found.iter().find(overlaps) {
            let message = format!("`{key}` and `{}` are in one another; separate them", other.key);
            return Err(document.error_at(&key, message));
        }
        found.push(ChannelDirectory { key, path, account });
    }
    Ok(found)
}

/// The operating system protects a directory like the socket: it has to belong to the daemon's user
/// alone. So its files are an owner's words.
fn make_directory(
    document: &Document,
    path: &str,
    clock: &Arc<dyn Clock>,
) -> Result<Vec<Configured>, ConfigError> {
    let id = |error: IdError| document.error_at(path, error.to_string());
    let name = ChannelName::parse("directory").map_err(id)?;
    let made =
        directories(document)?.into_iter().map(|ChannelDirectory { path, account, .. }| {
            let channel =
                DirectoryChannel::new(name.clone(), account, path, clock.clone()).map_err(id)?;
            Ok(Configured { channel: Arc::new(channel), attach: None, allow: Allow::Local })
        });
    made.collect()
}

fn make_discord(
    document: &Document,
    path: &str,
    clock: &Arc<dyn Clock>,
) -> Result<Vec<Configured>, ConfigError> {
    bots(document, path, DiscordConfig::check, |account, config| {
        let DiscordConfig { allow, owners, groups, pairing, .. } = config;
        let name = ChannelName::parse("discord").map_err(text)?;
        let bot = Discord::new(name, account, config, clock.clone()).map_err(text)?;
        Ok((Arc::new(bot), lists(allow, owners, groups, *pairing).map_err(text)?))
    })
}

fn make_telegram(
    document: &Document,
    path: &str,
    clock: &Arc<dyn Clock>,
) -> Result<Vec<Configured>, ConfigError> {
    bots(document, path, TelegramConfig::check, |account, config| {
        let TelegramConfig { allow, owners, groups, pairing, .. } = config;
        let name = ChannelName::parse("telegram").map_err(text)?;
        let bot = Telegram::new(name, account, config, clock.clone()).map_err(text)?;
        Ok((Arc::new(bot), lists(allow, owners, groups, *pairing).map_err(text)?))
    })
}

/// A key of a bot's table, and the fault in its value.
type BadKey = (&'static str, String);

/// Makes a bot for each account of a platform, with its admission lists.
fn bots<C: DeserializeOwned + JsonSchema, B: Channel + 'static>(
    document: &Document,
    path: &str,
    check: impl Fn(&C) -> Result<(), BadKey>,
    make: impl Fn(AccountName, &C) -> Result<(Arc<B>, Lists), String>,
) -> Result<Vec<Configured>, ConfigError> {
    let accounts = accounts(document, path)?.into_iter();
    let configured = accounts.map(|(account, path)| {
        let config: C = document.table(&path)?;
        match check(&config) {
            // A left-out secret has only a placeholder, which cannot be checked.
            Err((key, error)) if !document.is_unresolved(&format!("{path}.{key}")) => {
                return Err(key_error(document, &path, key, &error));
            }
            Ok(()) | Err(_) => {}
        }
        let (channel, lists) = make(account, &config)
            .map_err(|error| document.error_at(&path, format!("[{path}]: {error}")))?;
        Ok(Configured { channel, attach: None, allow: Allow::Listed(lists) })
    });
    configured.collect()
}

#[expect(clippy::needless_pass_by_value, reason = "it maps errors")]
fn text(error: impl ToString) -> String {
    error.to_string()
}

fn lists(
    allow: &[u64],
    owners: &[u64],
    groups: &BTreeMap<String, GroupConfig>,
    pairing: bool,
) -> Result<Lists, IdError> {
    let ids = |ids: &[u64]| ids.iter().map(|id| SenderId::parse(&id.to_string())).collect();
    let rules = |group: &GroupConfig| {
        let allow = group.allow.as_deref().map(ids).transpose()?;
        Ok(GroupRules { allow, owner_tools: group.owner_tools })
    };
    let groups = groups.iter().map(|(id, group)| Ok((ChatId::parse(id)?, rules(group)?)));
    Ok(Lists {
        users: ids(allow)?,
        owners: ids(owners)?,
        groups: groups.collect::<Result<_, IdError>>()?,
        pairing,
    })
}

pub(crate) fn terminal_config(document: &Document) -> Result<TerminalConfig, ConfigError> {
    document.table("channels.terminal")
}

fn make_terminal(
    document: &Document,
    path: &str,
    _: &Arc<dyn Clock>,
) -> Result<Vec<Configured>, ConfigError> {
    let _: TerminalConfig = document.table(path)?;
    let id = |error: IdError| document.error_at(path, error.to_string());
    let name = ChannelName::parse("terminal").map_err(id)?;
    let account = AccountName::parse("local").map_err(id)?;
    let terminal = Arc::new(Terminal::new(name, account));
    Ok(vec![Configured { channel: terminal.clone(), attach: Some(terminal), allow: Allow::Local }])
}

#[cfg(test)]
#[path = "registry_tests.rs"]
mod tests;
