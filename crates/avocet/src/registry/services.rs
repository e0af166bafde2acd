//! The single components with a table of their own: the transcriber, the web search, and the hosts that
//! programs may reach.

use std::sync::Arc;

use avocet_config::{ConfigError, Document, Settings};
use avocet_llm::{Transcription, TranscriptionConfig};
use avocet_net::{BadHost, Hosts};
use avocet_protocol::{Clock, Transcribe};
use avocet_tools::SearchConfig;

use super::key_error;

const TRANSCRIPTION: &str = "transcription";
pub(crate) const WEB_SEARCH: &str = "tools.web_search";

/// Checks the tables, as far as they were read.
pub(super) fn check(document: &Document, settings: &Settings) -> Result<(), ConfigError> {
    transcription_config(document, settings)?;
    web_search(document, settings)?;
    open_hosts(document, settings)?;
    Ok(())
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
        document.error_at(&path, format!("`{path}`: {entry:?} is not valid: {why}"))
    })
}
