//! The whole configuration as one schema: the tables of components stand where the settings of the daemon
//! leave them open.

use avocet_config::{ConfigSettings, ProfileKeys, ScheduleTable, schema};
use avocet_http::{HookConfig, HttpConfig};
use avocet_llm::{EmbeddingsConfig, ModelConfig, SpeechConfig, TranscriptionConfig};
use avocet_mcp::McpServerConfig;
#[cfg(feature = "telemetry")]
use avocet_telemetry::TelemetryConfig;
use avocet_tools::SearchConfig;
use serde_json::{Value, json};

use super::{CHANNELS, PROVIDERS};

/// Marks a table that means something else if it is missing.
pub(crate) const OPTIONAL: &str = "x-optional";
/// Lists the schemas of a table by its key `kind`.
pub(crate) const KINDS: &str = "x-kinds";
/// Marks a table that has its keys, or one table with them for each account.
pub(crate) const ACCOUNTS: &str = "x-accounts";

/// Makes the schema of a table.
type TableSchema = fn() -> Value;

/// The tables of components, by their places. A place that ends with `*` has tables with free names.
const COMPONENT_TABLES: &[(&str, TableSchema)] = &[
    ("agents.*", schema::<ProfileKeys>),
    ("embeddings", schema::<EmbeddingsConfig>),
    ("hooks.*", schema::<HookConfig>),
    ("http", schema::<HttpConfig>),
    ("models.*", schema::<ModelConfig>),
    ("schedules.*", schema::<ScheduleTable>),
    ("speech", schema::<SpeechConfig>),
    #[cfg(feature = "telemetry")]
    ("telemetry", schema::<TelemetryConfig>),
    ("tools.mcp_servers.*", schema::<McpServerConfig>),
    ("tools.web_search", schema::<SearchConfig>),
    ("transcription", schema::<TranscriptionConfig>),
];

/// Returns the schema of a configuration file.
pub(crate) fn config_schema() -> Value {
    let mut whole = schema::<ConfigSettings>();
    for (place, table) in COMPONENT_TABLES {
        match place.strip_suffix(".*") {
            Some(above) => find_table(&mut whole, above)["additionalProperties"] = table(),
            None => {
                let mut table = table();
                table[OPTIONAL] = json!(true);
                *find_table(&mut whole, place) = table;
            }
        }
    }
    let kinds = PROVIDERS.iter().map(|kind| (kind.name.to_owned(), (kind.schema)()));
    let kinds: Value = kinds.collect();
    find_table(&mut whole, "providers")["additionalProperties"] = json!({ KINDS: kinds });
    let channels = CHANNELS.iter().map(|kind| {
        let mut table = (kind.schema)();
        table[OPTIONAL] = json!(true);
        table[ACCOUNTS] = json!(true);
        (kind.name.to_owned(), table)
    });
    let channels: Value = channels.collect();
    find_table(&mut whole, "channels")["properties"] = channels;
    find_table(&mut whole, "channels")["additionalProperties"] = json!(false);
    whole
}

fn find_table<'s>(whole: &'s mut Value, place: &str) -> &'s mut Value {
    place.split('.').fold(whole, |table, name| &mut table["properties"][name])
}

#[cfg(test)]
#[path = "tables_tests.rs"]
mod tests;
