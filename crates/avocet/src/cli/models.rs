//! `avocet models`: lists the configured models, the known facts about each, and their sources; or
//! the models that providers offer. `update` replaces the catalogue.

mod offered;

use std::collections::BTreeMap;
use std::fmt::Display;
use std::fs::File;
use std::io::{self, Read};
use std::time::Duration;

use avocet_llm::{
    CatalogueSummary, ConfiguredModel, Fact, KnownFacts, ModelCatalogue, TextCalls, ToolStyle,
};
use avocet_net::{HttpClient, NetError, check_public_url};
use avocet_protocol::clock::within;
use avocet_protocol::model::{Models as _, Price, thousands};
use avocet_text::{PlainTable, plain_io};
use clap::{Args, Subcommand};
use serde::Serialize;
use serde_json::{Value, json};

use crate::components::catalogue;
use crate::components::models::Models;
use crate::configuration::{Configuration, ConfigurationUse};
use crate::context::CommandContext;
use crate::exit::{Exit, Failure};
use crate::output::print_result;

/// Most bytes of a table of models.
const MAX_TABLE: usize = 16 * 1024 * 1024;
/// The timeout for fetching a table.
const FETCH: Duration = Duration::from_mins(1);

const LEGEND: &str = "In brackets, the source: your table [models], the provider's table, the model's \
    server, the catalogue,\nor the list of well-known models. The first source counts. A model with an \
    unknown context is\nassumed to have 65_536 tokens, and budgets.unpriced_day_tokens limits models \
    without a price.\n";

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct ModelsArgs {
    #[command(subcommand)]
    command: Option<ModelsCommand>,
    /// List the models that this provider offers. Without a name: of all configured providers.
    #[arg(long, value_name = "PROVIDER", num_args = 0..=1, default_missing_value = "")]
    offered: Option<String>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum ModelsCommand {
    /// Replace the catalogue of models: their contexts, abilities and prices.
    Update {
        /// File or URL of a catalogue, or of LiteLLM's table of models in JSON.
        source: String,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

pub(crate) async fn run(context: &CommandContext, args: ModelsArgs) -> Result<Exit, Failure> {
    let ModelsArgs { command, offered, json } = args;
    match (command, offered) {
        (Some(ModelsCommand::Update { source, json }), _) => {
            update_catalogue(context, &source, json).await
        }
        (None, Some(provider)) => {
            offered::run(context, Some(provider).filter(|name| !name.is_empty()), json).await
        }
        (None, None) => show_configured(context, json).await,
    }
}

/// A model and its known facts.
struct ModelRow {
    name: String,
    /// `None` for the embedded model, which has no such facts.
    known: Option<KnownFacts>,
}

async fn show_configured(context: &CommandContext, json: bool) -> Result<Exit, Failure> {
    let configuration = Configuration::load(context, ConfigurationUse::Log)?;
    let models = Models::from_configuration(&configuration, context.clock.clone())?;
    let mut rows = Vec::new();
    for name in models.configured() {
        let made = models
            .find_model(&name)
            .map_err(|error| Failure::new(Exit::Configuration, error.to_string()))?;
        let known = match made {
            ConfiguredModel::Embedded(_) => None,
            ConfiguredModel::Served(model) => Some(model.known_facts().await),
        };
        rows.push(ModelRow { name, known });
    }
    print_result(json, &rows.iter().map(ModelRow::json).collect::<Vec<_>>(), || models_table(&rows))
}

/// Replaces the catalogue. A faulty one changes nothing.
async fn update_catalogue(
    context: &CommandContext,
    source: &str,
    json: bool,
) -> Result<Exit, Failure> {
    let configuration = Configuration::load(context, ConfigurationUse::Daemon)?;
    let failed = |why: String| Failure::new(Exit::Failed, why);
    let kept =
        |why: String| failed(format!("cannot use {source}: {why}; the catalogue is unchanged"));
    let text = if source.starts_with("http://") || source.starts_with("https://") {
        fetch_catalogue(context, source).await.map_err(kept)?
    } else {
        read(source).map_err(kept)?
    };
    let now = jiff::Timestamp::from_millisecond(context.clock.now().0).unwrap_or_default();
    let date = now.strftime("%Y-%m-%d").to_string();
    let catalogue =
        ModelCatalogue::read(text, source, &date).map_err(|error| kept(error.to_string()))?;
    let file = catalogue::catalogue_path(&configuration.data_dir);
    catalogue::replace_file(&file, &catalogue).map_err(|error| {
        failed(format!("cannot write {}: {}", file.display(), plain_io(&error)))
    })?;
    let CatalogueSummary { source, date, models } = catalogue.summarize();
    let written = json!({ "models": models, "source": source, "date": date, "file": file });
    print_result(json, &written, || {
        let file = file.display();
        format!(
            "{file} now has {models} models of {date}. A running daemon reads it at its next start.\n"
        )
    })
}

fn read(path: &str) -> Result<String, String> {
    let read = || {
        let mut text = String::new();
        File::open(path)?.take(MAX_TABLE as u64 + 1).read_to_string(&mut text)?;
        Ok::<_, io::Error>(text)
    };
    let text = read().map_err(|error| match error.kind() {
        io::ErrorKind::InvalidData => "it is not a text in UTF-8".to_owned(),
        _ => plain_io(&error),
    })?;
    (text.len() <= MAX_TABLE).then_some(text).ok_or_else(too_long)
}

/// Fetches a text from the public Internet.
async fn fetch_catalogue(context: &CommandContext, url: &str) -> Result<String, String> {
    check_public_url(url).map_err(|error| error.to_string())?;
    let fetch = async {
        let client = HttpClient::with_public_only(&BTreeMap::new())?;
        let response = client.get(url, &[]).await?;
        match response.status() {
            200 => response.read_beginning(MAX_TABLE).await.map(Ok),
            status => Ok(Err(format!("the server answers with status {status}"))),
        }
    };
    let fetched = within(context.clock.as_ref(), FETCH, fetch).await;
    let fetched = fetched.map_err(|_| format!("no answer within {} s", FETCH.as_secs()))?;
    let (text, is_cut) = fetched.map_err(|error: NetError| error.to_string())??;
    (!is_cut).then_some(text).ok_or_else(too_long)
}

fn too_long() -> String {
    format!("it is longer than {} MiB", MAX_TABLE / 1024 / 1024)
}

fn models_table(rows: &[ModelRow]) -> String {
    let head = ["model", "context", "answer", "pictures", "tools", "$ per million in/out"];
    let mut table = PlainTable::with_head(&head);
    for row in rows {
        table.row(row.cells());
    }
    format!("{table}\n{LEGEND}")
}

impl ModelRow {
    fn cells(&self) -> [String; 6] {
        let Some(known) = &self.known else {
            return [self.name.as_str(), "-", "-", "-", "-", "free"].map(str::to_owned);
        };
        let KnownFacts { context, max_output, images, tools, text_calls, price, .. } = known;
        [
            self.name.clone(),
            fact_cell(context, |tokens| configured_number(*tokens)),
            fact_cell(max_output, |tokens| configured_number(*tokens)),
            fact_cell(images, |images| if *images { "yes" } else { "no" }),
            tool_cell(tools, text_calls),
            fact_cell(price, price_text),
        ]
    }

    fn json(&self) -> Value {
        let Some(KnownFacts { context, max_output, images, tools, text_calls, price, .. }) =
            &self.known
        else {
            return json!({ "model": self.name, "embedded": true });
        };
        json!({
            "model": self.name,
            "embedded": false,
            "context": fact_json(context, |tokens| json!(tokens)),
            "max_output": fact_json(max_output, |tokens| json!(tokens)),
            "images": fact_json(images, |images| json!(images)),
            "tools": fact_json(tools, |tools| json!(tools)),
            "text_calls": fact_json(text_calls, |text_calls| json!(text_calls)),
            "price": fact_json(price, |price| json!(price)),
        })
    }
}

/// Formats a fact, with its source in brackets.
fn fact_cell<T, S: Display>(fact: &Fact<T>, shown: impl Fn(&T) -> S) -> String {
    match fact {
        None => "unknown".to_owned(),
        Some((value, source)) => format!("{} ({})", shown(value), source.as_word()),
    }
}

fn tool_cell(tools: &Fact<ToolStyle>, text_calls: &Fact<TextCalls>) -> String {
    let tools = match tools {
        None => "native (assumed)".to_owned(),
        tools => fact_cell(tools, serialized_word),
    };
    match text_calls {
        None => tools,
        text_calls => format!("{tools}, as text: {}", fact_cell(text_calls, serialized_word)),
    }
}

fn fact_json<T>(fact: &Fact<T>, shown: impl Fn(&T) -> Value) -> Value {
    match fact {
        None => Value::Null,
        Some((value, source)) => json!({ "value": shown(value), "from": source.as_word() }),
    }
}

/// Returns the configuration's word for a value.
fn serialized_word(value: &impl Serialize) -> String {
    json!(value).as_str().unwrap_or_default().to_owned()
}

fn price_text(price: &Price) -> String {
    let Price { input, output, cached, .. } = price;
    match cached {
        Some(cached) => format!("{input}/{output}, cached {cached}"),
        None => format!("{input}/{output}"),
    }
}

/// Formats a number like the configuration: `200_000`.
fn configured_number(number: u64) -> String {
    thousands(number).replace(',', "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn configured_number_groups_digits_with_underscores() {
        assert_eq!(configured_number(999), "999");
        assert_eq!(configured_number(1_047_576), "1_047_576");
    }
}
