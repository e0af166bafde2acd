//! Lists the models that providers offer.

use std::time::Duration;

use avocet_llm::{ConfiguredModel, ModelCatalogue, OfferedModel};
use avocet_protocol::clock::within;
use avocet_text::{PlainTable, append_text};
use futures_util::future::join_all;
use serde_json::{Value, json};

use super::{configured_number, price_text};
use crate::components::models::Models;
use crate::configuration::{Configuration, ConfigurationUse};
use crate::context::CommandContext;
use crate::exit::{Exit, Failure};
use crate::output::{print_json, print_text};
use crate::registry;

/// The timeout for the whole list of a provider.
const LIMIT: Duration = Duration::from_secs(60);

/// The list of a provider, or the reason why there is none.
struct ProviderList {
    provider: String,
    models: Result<Vec<OfferedModel>, String>,
}

pub(super) async fn run(
    context: &CommandContext,
    only: Option<String>,
    json: bool,
) -> Result<Exit, Failure> {
    let configuration = Configuration::load(context, ConfigurationUse::Log)?;
    let known: Vec<&String> = configuration.settings.providers.keys().collect();
    if let Some(name) = only.as_ref().filter(|name| !known.contains(name)) {
        let known = known.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(", ");
        let known = if known.is_empty() { "none".to_owned() } else { known };
        let message = format!("there is no provider {name:?}; the configuration has {known}");
        return Err(Failure::new(Exit::Configuration, message));
    }
    let catalogue = Models::from_configuration(&configuration, context.clock.clone())?.catalogue();
    let asked = known.into_iter().filter(|name| only.as_ref().is_none_or(|only| only == *name));
    let lists = asked.map(async |provider| {
        let models = list_offered(context, &configuration, provider, &catalogue).await;
        ProviderList { provider: provider.clone(), models }
    });
    let lists = join_all(lists).await;
    if json {
        print_json(&lists.iter().map(ProviderList::json).collect::<Vec<_>>())?;
    } else {
        print_text(&lists_text(&lists))?;
    }
    let has_failed = lists.iter().any(|list| list.models.is_err());
    Ok(if has_failed { Exit::Failed } else { Exit::Done })
}

async fn list_offered(
    context: &CommandContext,
    configuration: &Configuration,
    provider: &str,
    catalogue: &ModelCatalogue,
) -> Result<Vec<OfferedModel>, String> {
    let document = &configuration.document;
    let table = format!("providers.{provider}.");
    if let Some(missing) =
        document.unresolved_values().iter().find(|one| one.key.starts_with(&table))
    {
        return Err(format!("not asked: {}", missing.error.message));
    }
    let made = registry::unnamed_model(document, provider, context.clock.clone());
    let model = match made.map_err(|error| error.to_string())? {
        ConfiguredModel::Served(model) => model,
        ConfiguredModel::Embedded(_) => return Ok(Vec::new()),
    };
    let listed = within(context.clock.as_ref(), LIMIT, model.list_models(catalogue)).await;
    let listed = listed.map_err(|_| format!("no list within {} s", LIMIT.as_secs()))?;
    listed.map_err(|error| error.to_string())
}

fn lists_text(lists: &[ProviderList]) -> String {
    if lists.is_empty() {
        return "No provider is configured. Name one: [providers.NAME] in the configuration.\n"
            .to_owned();
    }
    let head = ["model", "context", "answer", "pictures", "$ per million in/out"];
    let mut table = PlainTable::with_head(&head);
    let mut rest = String::new();
    for ProviderList { provider, models } in lists {
        match models {
            Err(error) => append_text(&mut rest, format_args!("\n{provider}: {error}\n")),
            Ok(models) if models.is_empty() => {
                append_text(&mut rest, format_args!("\n{provider}: its list of models is empty\n"));
            }
            Ok(models) => models.iter().for_each(|model| table.row(model_cells(provider, model))),
        }
    }
    if lists.iter().all(|list| list.models.as_ref().map_or(true, Vec::is_empty)) {
        return rest.trim_start().to_owned();
    }
    format!("{table}{rest}")
}

fn model_cells(provider: &str, OfferedModel { name, facts }: &OfferedModel) -> [String; 5] {
    let number = |tokens: Option<u64>| tokens.map_or_else(|| "-".to_owned(), configured_number);
    let images = match facts.images {
        Some(true) => "yes",
        Some(false) => "no",
        None => "-",
    };
    let price = facts.price.as_ref().map_or_else(|| "-".to_owned(), price_text);
    let (context, answer) = (number(facts.context), number(facts.max_output));
    [format!("{provider}/{name}"), context, answer, images.to_owned(), price]
}

impl ProviderList {
    fn json(&self) -> Value {
        let Self { provider, models } = self;
        let model = |OfferedModel { name, facts }: &OfferedModel| {
            json!({
                "model": format!("{provider}/{name}"),
                "context": facts.context,
                "max_output": facts.max_output,
                "images": facts.images,
                "price": facts.price,
            })
        };
        match models {
            Ok(models) => json!({
                "provider": provider,
                "error": null,
                "models": models.iter().map(model).collect::<Vec<_>>(),
            }),
            Err(error) => json!({ "provider": provider, "error": error, "models": [] }),
        }
    }
}
