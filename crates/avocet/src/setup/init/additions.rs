//! Adds tables to the text of a configuration. Everything that is there stays as it is.

use avocet_protocol::channel::OwnerCandidate;
use avocet_text::Secret;
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, TableLike, TomlError, Value, value};

use super::known_bots::KnownBot;

/// The beginning of a new file.
const HEAD: &str = "\
# The configuration of Avocet, begun by `avocet init`. It contains secrets, so only you may read it.
# `avocet config check` checks it, and `avocet doctor` tests everything that it names.
# All keys with their defaults are in config.example.toml.
";

#[derive(Debug, Clone)]
pub(super) struct AddedProvider {
    pub(super) name: String,
    pub(super) kind: String,
    /// `None` for the default of the kind.
    pub(super) base_url: Option<String>,
    /// `None` for servers without keys.
    pub(super) api_key: Option<Secret>,
}

#[derive(Debug, Clone)]
pub(super) struct AddedBot {
    /// The channel, and the form of its bots.
    pub(super) known: KnownBot,
    pub(super) token: Secret,
    /// `None` for the default of the channel.
    pub(super) api_url: Option<String>,
    /// The bot's name on the platform, once it is known.
    pub(super) name: Option<String>,
    pub(super) owner: Option<OwnerCandidate>,
}

/// Everything to add to a configuration.
#[derive(Debug, Clone, Default)]
pub(super) struct Additions {
    pub(super) provider: Option<AddedProvider>,
    /// The model for `[agents.defaults]`, as `provider/model`. After a configured model, it is the
    /// last fallback.
    pub(super) model: Option<String>,
    pub(super) bot: Option<AddedBot>,
}

impl Additions {
    pub(super) fn is_empty(&self) -> bool {
        self.provider.is_none() && self.bot.is_none()
    }

    /// Returns the text with the additions.
    ///
    /// # Errors
    /// The reason, as a sentence, if the text is no TOML or has a table of the same name.
    pub(super) fn added_to(&self, text: &str) -> Result<String, String> {
        let mut document = parse_document(text)?;
        if let Some(provider) = &self.provider {
            insert(&mut document, "providers", &provider.name, provider.table())?;
        }
        if let Some(model) = &self.model {
            set_model(&mut document, model)?;
        }
        if let Some(bot) = &self.bot {
            insert(&mut document, "channels", bot.known.channel, bot.table())?;
        }
        let begin = if text.trim().is_empty() { HEAD } else { "" };
        Ok(format!("{begin}{document}"))
    }
}

impl AddedProvider {
    fn table(&self) -> Table {
        let mut table = Table::new();
        table.insert("kind", value(&self.kind));
        if let Some(url) = &self.base_url {
            table.insert("base_url", value(string_literal(url)));
        }
        if let Some(key) = &self.api_key {
            table.insert("api_key", value(string_literal(key.expose())));
        }
        table
    }
}

impl AddedBot {
    fn table(&self) -> Table {
        let mut table = Table::new();
        if let Some(name) = &self.name {
            table.decor_mut().set_prefix(format!("\n# The bot {}.\n", in_comment(name)));
        }
        table.insert("token", value(string_literal(self.token.expose())));
        if let Some(url) = &self.api_url {
            table.insert("api_url", value(string_literal(url)));
        }
        if let Some(OwnerCandidate { id, name, .. }) = &self.owner {
            let id = i64::try_from(*id).unwrap_or(i64::MAX);
            table.insert("owners", value([id].into_iter().collect::<Array>()));
            let name = in_comment(name);
            let name = if name.is_empty() { name } else { format!(": {name}") };
            let comment = format!("# The people who may use every tool and admit others{name}.\n");
            if let Some(mut key) = table.key_mut("owners") {
                key.leaf_decor_mut().set_prefix(comment);
            }
        }
        table
    }
}

/// Returns a text in which no reference is resolved.
fn string_literal(text: &str) -> String {
    text.replace("${", "$${")
}

/// Returns a name from elsewhere as a part of a comment of one line.
fn in_comment(name: &str) -> String {
    name.chars().filter(|c| !c.is_control()).collect::<String>().trim().to_owned()
}

fn parse_document(text: &str) -> Result<DocumentMut, String> {
    text.parse().map_err(|error: TomlError| format!("it is not TOML: {}", error.message()))
}

/// Returns the tables of `[SECTION.NAME]`.
fn find_section<'d>(document: &'d DocumentMut, section: &str) -> Option<&'d dyn TableLike> {
    document.get(section).and_then(Item::as_table_like)
}

/// Returns the names of the tables of a section.
pub(super) fn section_names(text: &str, of: &str) -> Vec<String> {
    let Ok(document) = parse_document(text) else { return Vec::new() };
    let tables = find_section(&document, of).into_iter().flat_map(TableLike::iter);
    tables.map(|(name, _)| name.to_owned()).collect()
}

fn insert(
    document: &mut DocumentMut,
    section: &str,
    name: &str,
    mut table: Table,
) -> Result<(), String> {
    let tables = table_below(document.as_item_mut(), section)?;
    let is_inline = tables.is_inline_table();
    let unusable = || format!("`{section}` is not a table of tables");
    let tables = tables.as_table_like_mut().ok_or_else(unusable)?;
    if tables.contains_key(name) {
        return Err(format!("it already has [{section}.{name}]"));
    }
    if table.decor().prefix().is_none() {
        table.decor_mut().set_prefix("\n");
    }
    let table = if is_inline { value(table.into_inline_table()) } else { Item::Table(table) };
    tables.insert(name, table);
    Ok(())
}

/// Returns the configured model of all agents.
pub(super) fn model_of(text: &str) -> Option<String> {
    let document = parse_document(text).ok()?;
    let model = document.get("agents")?.get("defaults")?.get("model")?;
    model.as_str().map(str::to_owned)
}

/// Sets the model of all agents, or adds a fallback to theirs.
fn set_model(document: &mut DocumentMut, model: &str) -> Result<(), String> {
    let agents = table_below(document.as_item_mut(), "agents")?;
    let defaults = table_below(agents, "defaults")?;
    let defaults = defaults.as_table_like_mut().ok_or("`agents.defaults` is not a table")?;
    let model = string_literal(model);
    let Some(main) = defaults.get("model") else {
        defaults.insert("model", value(model));
        return Ok(());
    };
    if main.as_str() == Some(model.as_str()) {
        return Ok(());
    }
    let fallbacks = defaults.entry("fallbacks").or_insert(value(Array::new()));
    let unusable = "`agents.defaults.fallbacks` is not a list";
    let fallbacks = fallbacks.as_array_mut().ok_or(unusable)?;
    if !fallbacks.iter().any(|one| one.as_str() == Some(model.as_str())) {
        fallbacks.push(model);
    }
    Ok(())
}

/// Returns a table below another one, and adds it if it is missing. A new table has a header of its own
/// only if it has values.
fn table_below<'a>(above: &'a mut Item, name: &str) -> Result<&'a mut Item, String> {
    let missing = if above.is_inline_table() {
        Item::Value(Value::InlineTable(InlineTable::new()))
    } else {
        let mut table = Table::new();
        table.set_implicit(true);
        table.decor_mut().set_prefix("\n");
        Item::Table(table)
    };
    let table = above.as_table_like_mut().map(|above| above.entry(name).or_insert(missing));
    let table = table.filter(|table| table.is_table_like());
    table.ok_or_else(|| format!("`{name}` is not a table"))
}

#[cfg(test)]
#[path = "additions_tests.rs"]
mod tests;
