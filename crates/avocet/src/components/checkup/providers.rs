//! Checks each provider's key and models, if possible without paying for an answer.

use avocet_config::{BudgetsConfig, ConfigError};
use avocet_llm::{
    AudioEndpoint, AudioProbe, ConfiguredModel, KnownFacts, KnownModel, ProbeResult, ToolStyle,
};
use avocet_protocol::clock::within;
use avocet_protocol::daemon::{Check, CheckState};
use avocet_protocol::model::{Embedder as _, ModelError, ModelFacts, Models as _, thousands};
use futures_util::future::join_all;

use super::{Examiner, LIMIT};
use crate::registry;

/// Instructions and tools take about half of such a context.
const SMALL_CONTEXT: u64 = 16_000;

/// Returns a line for each model that the configuration names, and for each provider without one.
pub(super) async fn check_providers(examiner: &Examiner, offline: bool) -> Vec<Check> {
    let settings = &examiner.configuration.settings;
    if settings.providers.is_empty() {
        let fix = "run `avocet init`, or name one: [providers.NAME] in the configuration";
        return vec![Check::fair("models", "no provider", fix)];
    }
    let models = examiner.models.configured();
    let provider_of = |model: &str| model.split('/').next().unwrap_or_default().to_owned();
    let unused = settings
        .providers
        .keys()
        .filter(|name| !models.iter().any(|model| provider_of(model) == **name));
    let unused = unused.map(|provider| (provider.clone(), provider.clone(), None));
    let named = models.iter().filter(|model| settings.providers.contains_key(&provider_of(model)));
    let named = named.map(|model| (provider_of(model), model.clone(), Some(model.clone())));
    let mut all: Vec<_> = unused.chain(named).collect();
    all.sort();
    let checks = all.iter().map(async |(provider, name, model)| {
        check_provider(examiner, provider, name, model.as_deref(), offline).await
    });
    let mut found: Vec<Check> = join_all(checks).await.concat();
    for provider in settings.providers.keys() {
        let status = examiner.models.health().provider_status(provider);
        found.extend(examiner.history(provider, status.fault.is_some(), &status.requests));
    }
    found.extend(check_audio_servers(examiner, offline).await);
    found.extend(check_embeddings(examiner, offline).await);
    found
}

async fn check_provider(
    examiner: &Examiner,
    provider: &str,
    name: &str,
    model: Option<&str>,
    offline: bool,
) -> Vec<Check> {
    let document = &examiner.configuration.document;
    let table = format!("providers.{provider}");
    let unresolved =
        document.unresolved_values().iter().find(|one| one.key.starts_with(&format!("{table}.")));
    if let Some(check) = unresolved.and_then(|one| examiner.unresolved(name, &one.key)) {
        return vec![check];
    }
    let made = match model {
        Some(model) => examiner.models.find_model(model).map_err(|error| error.to_string()),
        None => registry::unnamed_model(document, provider, examiner.clock.clone())
            .map_err(|error| error.to_string()),
    };
    let known = match made {
        Ok(ConfiguredModel::Served(known)) => known,
        Ok(ConfiguredModel::Embedded(_)) => return Vec::new(),
        Err(error) => return vec![Check::bad(name, error, format!("correct [{table}]"))],
    };
    // The result of a request is worth more than a list of models.
    let fault = model.and_then(|model| examiner.models.health().fault_of(model));
    if offline {
        let says = "not asked, because of --offline";
        return vec![fault.map_or_else(
            || Check::good(name, says),
            |fault| Check::bad(name, format!("the last request failed: {fault}"), ASK_AGAIN),
        )];
    }
    if known.count_keys() > 1 {
        return each_key(examiner, provider, name, model, known.count_keys()).await;
    }
    let probed = match probe_model(examiner, name, &known).await {
        Ok(ProbeResult::KeyUnchecked) if has_good_key(examiner, provider) => Ok(ProbeResult::Works),
        probed => probed,
    };
    let mut check = read(name, &table, model.is_some(), probed);
    let works = check.state != CheckState::Bad;
    if let Some(fault) = fault.filter(|_| works) {
        let says = format!("{}, but the last request failed: {fault}", check.says);
        check = Check::bad(name, says, ASK_AGAIN);
    }
    let mut found = vec![check];
    if works && model.is_some() {
        found.extend(of_facts(examiner, name, &table, &known).await);
    }
    found
}

/// Returns `true` if a request to the provider has succeeded since the start, and none has failed
/// after it. A list of models that everybody can read says nothing about the key; this does.
fn has_good_key(examiner: &Examiner, provider: &str) -> bool {
    let status = examiner.models.health().provider_status(provider);
    status.fault.is_none() && status.requests.success.is_some()
}

/// Checks what is known about a model.
async fn of_facts(
    examiner: &Examiner,
    name: &str,
    table: &str,
    model: &KnownModel,
) -> impl Iterator<Item = Check> + use<> {
    let facts = model.known_facts().await;
    let budgets = &examiner.configuration.settings.budgets;
    of_model(name, table, &facts).into_iter().chain(unknown_facts(name, &facts, budgets))
}

/// Asks the provider, within a time limit.
async fn probe_model(
    examiner: &Examiner,
    name: &str,
    model: &KnownModel,
) -> Result<ProbeResult, ModelError> {
    let probed = within(examiner.clock.as_ref(), LIMIT, model.probe_model()).await;
    probed.unwrap_or_else(|_| {
        let detail = format!("no answer within {} s", LIMIT.as_secs());
        Err(ModelError::TimedOut { model: name.to_owned(), detail: detail.into() })
    })
}

/// Checks each API key of a provider. The keys are named by their place in the list.
async fn each_key(
    examiner: &Examiner,
    provider: &str,
    name: &str,
    model: Option<&str>,
    keys: usize,
) -> Vec<Check> {
    let document = &examiner.configuration.document;
    let table = format!("providers.{provider}");
    let mut found = Vec::new();
    for place in 0..keys {
        // The models of a running daemon keep their own keys.
        let made = match model {
            Some(model) => examiner.models.make_separate(model).map_err(|error| error.to_string()),
            None => registry::unnamed_model(document, provider, examiner.clock.clone())
                .map_err(|error| error.to_string()),
        };
        let Ok(ConfiguredModel::Served(known)) = made else { continue };
        known.use_only_key(place);
        let probed = probe_model(examiner, name, &known).await;
        let check = read(name, &table, model.is_some(), probed);
        let says = format!("key {} of {keys}: {}", place + 1, check.says);
        found.push(Check { says, ..check });
        if place == 0 && model.is_some() {
            found.extend(of_facts(examiner, name, &table, &known).await);
        }
    }
    found
}

const ASK_AGAIN: &str = "to see whether it still fails: avocet ask me hello --wait";

/// Interprets the result of a probe, and adds the remedy.
fn read(
    name: &str,
    table: &str,
    has_model: bool,
    probed: Result<ProbeResult, ModelError>,
) -> Check {
    use ModelError::{BadAnswer, Busy, Refused, TimedOut, TooLong, Unauthorized, Unreachable};
    let error = match probed {
        Ok(ProbeResult::Works) if has_model => {
            return Check::good(name, "the key and the model are good");
        }
        Ok(ProbeResult::Works) => {
            return Check::good(name, "the key is good; no agent uses a model of this provider");
        }
        Ok(ProbeResult::KeyUnchecked) => {
            let says = "it answers; its key is untested, because the list of models is public or \
                        missing";
            return Check::fair(name, says, "to test it: avocet ask me hello --wait");
        }
        Ok(ProbeResult::NoModel { nearest }) => {
            let meant = nearest.map(|model| format!("; did you mean {model}?")).unwrap_or_default();
            let says = format!("there is no such model{meant}");
            return Check::bad(
                name,
                says,
                "correct `model` in [agents]; with Ollama, fetch the model: ollama pull MODEL",
            );
        }
        Ok(ProbeResult::OtherModel { only }) => {
            let says = format!("the only model of the server is called {only}");
            return Check::fair(name, says, "use that name, unless the server accepts every name");
        }
        Ok(ProbeResult::OtherBaseUrl { meant }) => {
            let says = format!("the server has its API at {meant}");
            return Check::bad(name, says, format!("set base_url = \"{meant}\" in [{table}]"));
        }
        Err(error) => error,
    };
    let fix = match &error {
        Unauthorized { .. } => format!("correct api_key in [{table}]"),
        Unreachable { .. } | BadAnswer { .. } | TimedOut { .. } => {
            format!("check base_url in [{table}], and that the server runs")
        }
        Busy { .. } => "try again later".to_owned(),
        Refused { .. } | TooLong { .. } => format!("check [{table}] and the account there"),
    };
    let says = error.to_string();
    // The line begins with the name already. The probe of a provider without agents names no model.
    let says = [format!("{name} "), format!("{name}/ ")]
        .into_iter()
        .find_map(|start| says.strip_prefix(&start).map(str::to_owned))
        .unwrap_or(says);
    Check::bad(name, says, fix)
}

/// Reports abilities of the model that fall short of the agent's needs.
pub(crate) fn of_model(name: &str, table: &str, known: &KnownFacts) -> Option<Check> {
    if matches!(known.tools, Some((ToolStyle::None, _))) {
        let says = "the model gets no tools (`tools = \"none\"`)";
        return Some(Check::fair(
            name,
            says,
            format!("set tools = \"json\" in [models] or [{table}]"),
        ));
    }
    let (context, _) = known.context.filter(|(context, _)| *context < SMALL_CONTEXT)?;
    let says = format!(
        "the model reads only {} tokens; instructions and tools take a large part of them",
        thousands(context)
    );
    let fix = "start the server with more (llama.cpp: --ctx-size 32768, vLLM: --max-model-len), or set \
               context_tokens in the table of an Ollama provider";
    Some(Check::fair(name, says, fix))
}

/// Reports unknown facts of the model, and the values that hold instead.
fn unknown_facts(name: &str, known: &KnownFacts, budgets: &BudgetsConfig) -> Option<Check> {
    let mut unknown = Vec::new();
    if known.context.is_none() {
        let assumed = thousands(ModelFacts::ASSUMED_CONTEXT);
        unknown.push(format!("its context is unknown, and {assumed} tokens are assumed"));
    }
    if known.price.is_none() {
        let limit = match budgets.unpriced_day_tokens {
            Some(tokens) => format!("{} tokens a day", thousands(tokens)),
            None => "no limit, because budgets.unpriced_day_tokens is \"none\"".to_owned(),
        };
        unknown.push(format!("its price is unknown, and its budget is {limit}"));
    }
    let fix = "set `context` and `price` in [models], or run `avocet models update`";
    (!unknown.is_empty()).then(|| Check::fair(format!("{name}: facts"), unknown.join("; "), fix))
}

/// A table with a server for audio, and the texts of its check.
struct AudioCheck {
    table: &'static str,
    key: &'static str,
    correction: &'static str,
    /// The way to test the key of a server without lists.
    test: &'static str,
}

const TRANSCRIPTION: AudioCheck = AudioCheck {
    table: "transcription",
    key: "transcription.api_key",
    correction: "correct [transcription]",
    test: "to test it, send a voice message",
};

const SPEECH: AudioCheck = AudioCheck {
    table: "speech",
    key: "speech.api_key",
    correction: "correct [speech] and restart the daemon",
    test: "to test it, write /voice on in a chat, and then a message",
};

async fn check_audio_servers(examiner: &Examiner, offline: bool) -> Vec<Check> {
    if offline {
        let unresolved = [TRANSCRIPTION, SPEECH]
            .map(|AudioCheck { table, key, .. }| examiner.unresolved(table, key));
        return unresolved.into_iter().flatten().collect();
    }
    let super::Configuration { document, settings, .. } = &examiner.configuration;
    let clock = &examiner.clock;
    let transcription = registry::transcription_endpoint(document, settings, clock.clone());
    let speech = registry::speech_endpoint(document, settings, clock.clone());
    let checks = [
        check_audio_server(examiner, TRANSCRIPTION, transcription).await,
        check_audio_server(examiner, SPEECH, speech).await,
    ];
    checks.concat()
}

/// Checks the server of a table without paying for a recording, and shows the daemon's last requests to
/// it. Empty if there is no such table.
async fn check_audio_server<E: Into<AudioEndpoint>>(
    examiner: &Examiner,
    check: AudioCheck,
    made: Result<Option<E>, ConfigError>,
) -> Vec<Check> {
    let AudioCheck { table, key, correction, test } = check;
    if let Some(unresolved) = examiner.unresolved(table, key) {
        return vec![unresolved];
    }
    let endpoint: AudioEndpoint = match made {
        Ok(Some(made)) => made.into(),
        Ok(None) => return Vec::new(),
        Err(error) => return vec![Check::bad(table, error.to_string(), correction)],
    };
    let last = examiner.audio.last_exchanges(table);
    let fails = last.failures_in_a_row() > 0;
    let works = last.success.is_some() && !fails;
    let probed = within(examiner.clock.as_ref(), LIMIT, endpoint.probe_endpoint()).await;
    let late = || Err(format!("no answer within {} s", LIMIT.as_secs()));
    let found = match probed.unwrap_or_else(|_| late()) {
        Ok(AudioProbe::Listed(names)) => Check::good(table, describe_good(&names)),
        // A request is worth more than a list, which may leave out names.
        Ok(AudioProbe::Missing { .. } | AudioProbe::NoList) if works => {
            Check::good(table, "it answers")
        }
        Ok(AudioProbe::Missing { key, nearest }) => {
            let meant = nearest.map(|name| format!("; did you mean {name}?")).unwrap_or_default();
            let says = format!("its list has no such {key}{meant}");
            Check::fair(table, says, format!("check `{key}` in [{table}]"))
        }
        Ok(AudioProbe::NoList) => {
            let says = "it answers; its key is untested, because it has no list of models";
            Check::fair(table, says, test)
        }
        Err(error) => Check::bad(table, error, correction),
    };
    [found].into_iter().chain(examiner.history(table, fails, &last)).collect()
}

/// Describes a key that a server has accepted, with the names that its lists have.
fn describe_good(names: &[&str]) -> String {
    match names {
        [] => "the key is good".to_owned(),
        [one] => format!("the key and the {one} are good"),
        [first, rest @ ..] => format!("the key, the {first} and the {} are good", rest.join(", ")),
    }
}

/// Checks the embedding model with a short text, which costs next to nothing.
async fn check_embeddings(examiner: &Examiner, offline: bool) -> Option<Check> {
    const NAME: &str = "embeddings";
    let super::Configuration { document, settings, .. } = &examiner.configuration;
    settings.embeddings.as_ref()?;
    if offline {
        return None;
    }
    let made = registry::configured_embedder(document, settings, &examiner.clock);
    let embedder = match made {
        Ok(embedder) => embedder?.embedder,
        Err(error) => return Some(Check::bad(NAME, error.to_string(), "correct [embeddings]")),
    };
    let text = ["hello".to_owned()];
    let asked = within(examiner.clock.as_ref(), LIMIT, embedder.embed(&text)).await;
    let Ok(asked) = asked else {
        let says = format!("no answer within {} s", LIMIT.as_secs());
        return Some(Check::fair(
            NAME,
            says,
            "ask again: a server may need time to load the model",
        ));
    };
    Some(match asked {
        Ok(embedded) => {
            let length = embedded.vectors.first().map_or(0, Vec::len);
            Check::good(NAME, format!("{} sends vectors of {length} numbers", embedder.name()))
        }
        Err(error) => Check::bad(
            NAME,
            error.to_string(),
            "correct [embeddings]; until then, memories are searched by words alone",
        ),
    })
}
