//! The catalogue of models: context, output, abilities and prices by the host of a server. The
//! shipped one is a text that is searched in place, so that it costs no memory.

use avocet_protocol::model::Price;

use super::SourcedFacts;
use super::bad_catalogue::BadCatalogue;
use super::litellm;
use crate::ToolStyle;

/// The first line of a catalogue.
const HEAD: &str = "avocet models 1";
/// Most bytes of a catalogue.
const MAX_BYTES: usize = 1024 * 1024;
/// The catalogue that is part of the program.
const SHIPPED: &str = include_str!("../../data/models.txt");

/// A valid catalogue.
///
/// After the first line come `source TEXT` and `date YYYY-MM-DD`. Then each host has a section that
/// begins with `[HOST]`, with a line for each model: `NAME CONTEXT OUTPUT ABILITIES INPUT OUTPUT
/// CACHED CACHE_WRITE`. Prices are in US dollars for a million tokens, and `-` means unknown. The
/// abilities are letters: `i` images, `t` tools, `j` answers by a JSON Schema, `r` reasoning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelCatalogue(std::borrow::Cow<'static, str>);

/// The origin and size of a catalogue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CatalogueSummary {
    /// The list from which it was made.
    pub source: String,
    /// The day on which it was made.
    pub date: String,
    /// The number of its models.
    pub models: usize,
}

/// One line of a catalogue.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CatalogueEntry<'c> {
    pub(crate) name: &'c str,
    pub(crate) facts: SourcedFacts,
    /// The letters of its abilities.
    pub(crate) abilities: &'c str,
}

impl Default for ModelCatalogue {
    fn default() -> Self {
        Self(SHIPPED.into())
    }
}

impl ModelCatalogue {
    /// Reads a catalogue, or makes one of `LiteLLM`'s table. `source` and `date` describe the
    /// table.
    ///
    /// # Errors
    /// [`BadCatalogue`] names the first fault.
    pub fn read(text: String, source: &str, date: &str) -> Result<Self, BadCatalogue> {
        let is_table = text.trim_start().starts_with('{');
        let text = if is_table { litellm::make_catalogue(&text, source, date)? } else { text };
        Self::check_text(&text)?;
        Ok(Self(text.into()))
    }

    /// The text of the file.
    #[must_use]
    pub fn as_text(&self) -> &str {
        &self.0
    }

    /// Returns the origin and the size.
    #[must_use]
    pub fn summarize(&self) -> CatalogueSummary {
        let field = |name: &str| {
            let line = self.0.lines().take(3).find_map(|line| line.strip_prefix(name));
            line.unwrap_or_default().trim().to_owned()
        };
        let models = self.0.lines().skip(3).filter(|line| parse_entry(line).is_some()).count();
        CatalogueSummary { source: field("source "), date: field("date "), models }
    }

    /// Returns the known facts about a model by its name at the provider, with or without a date at
    /// the end. Entries of `host` come first. The model of another host has the same context and
    /// abilities, but another price.
    pub(crate) fn find_facts(&self, model: &str, host: Option<&str>) -> CatalogueFacts {
        let model = model.to_lowercase();
        let names = [Some(&*model), strip_date(&model)];
        let section = host.and_then(|host| self.section_of(host));
        for name in names.into_iter().flatten() {
            if let Some(found) = section.and_then(|section| find_entry(section, name)) {
                return CatalogueFacts { here: found.facts, elsewhere: SourcedFacts::default() };
            }
        }
        let bare = model.rsplit('/').next().unwrap_or(&model);
        let found = [Some(bare), strip_date(bare)].into_iter().flatten();
        let mut found = found.filter_map(|name| find_entry(&self.0, name));
        let elsewhere =
            found.next().map(|found| SourcedFacts { price: None, tools: None, ..found.facts });
        CatalogueFacts { here: SourcedFacts::default(), elsewhere: elsewhere.unwrap_or_default() }
    }

    /// Returns the lines of a host.
    fn section_of(&self, host: &str) -> Option<&str> {
        let head = format!("\n[{host}]\n");
        let (_, rest) = self.0.split_once(&head)?;
        Some(rest.split_once("\n[").map_or(rest, |(section, _)| section))
    }

    fn check_text(text: &str) -> Result<(), BadCatalogue> {
        if text.len() > MAX_BYTES {
            return Err(BadCatalogue(format!("it is longer than {MAX_BYTES} bytes")));
        }
        let mut lines = text.lines();
        let head = [lines.next(), lines.next(), lines.next()].map(Option::unwrap_or_default);
        if head[0] != HEAD || !head[1].starts_with("source ") || !head[2].starts_with("date ") {
            let message = format!(
                "it is neither a catalogue, which begins with the lines {HEAD:?}, \"source ...\" and \
                 \"date ...\", nor LiteLLM's table"
            );
            return Err(BadCatalogue(message));
        }
        let (mut host, mut models) = (None, 0);
        for (place, line) in lines.enumerate() {
            let fault = |why: &str| BadCatalogue(format!("line {}: {why}", place + 4));
            if let Some(name) = line.strip_prefix('[') {
                host = Some(name.strip_suffix(']').ok_or_else(|| fault("a host ends with ]"))?);
            } else if !line.is_empty() {
                host.ok_or_else(|| fault("a model needs the [HOST] of its server above it"))?;
                parse_entry(line)
                    .ok_or_else(|| fault("it is not a model with seven valid values"))?;
                models += 1;
            }
        }
        if models == 0 {
            return Err(BadCatalogue("it has no models".to_owned()));
        }
        Ok(())
    }
}

/// The facts of a catalogue about a model.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct CatalogueFacts {
    /// The facts about the model at the host itself.
    pub(crate) here: SourcedFacts,
    /// The facts about a model of this name at another host.
    pub(crate) elsewhere: SourcedFacts,
}

impl CatalogueFacts {
    /// Fills the facts of the host from `other`, and then from other hosts.
    pub(crate) fn or_facts(self, other: SourcedFacts) -> SourcedFacts {
        self.here.or_facts(other).or_facts(self.elsewhere)
    }
}

/// Finds the line of a model.
fn find_entry<'c>(lines: &'c str, name: &str) -> Option<CatalogueEntry<'c>> {
    // The model of a probe has no name.
    if name.is_empty() {
        return None;
    }
    let mut rest = lines;
    while let Some(place) = rest.find(name) {
        let (before, from) = rest.split_at(place);
        let begins_line = before.is_empty() || before.ends_with('\n');
        if begins_line && from[name.len()..].starts_with(' ') {
            return parse_entry(from.lines().next()?);
        }
        rest = &from[name.len()..];
    }
    None
}

/// Reads a line; `None` if it is not a model.
fn parse_entry(line: &str) -> Option<CatalogueEntry<'_>> {
    let mut words = line.split(' ');
    let name = words.next().filter(|name| !name.is_empty() && !name.starts_with('['))?;
    let mut tokens = || -> Option<Option<u64>> {
        match words.next()? {
            "-" => Some(None),
            word => word.parse().ok().filter(|tokens| *tokens > 0).map(Some),
        }
    };
    let (context, max_output) = (tokens()?, tokens()?);
    let abilities =
        words.next().filter(|word| word.chars().all(|letter| "-itjr".contains(letter)))?;
    let mut amount = || -> Option<Option<f64>> {
        match words.next()? {
            "-" => Some(None),
            word => word.parse().ok().filter(|amount| (0.0..1e6).contains(amount)).map(Some),
        }
    };
    let (input, output, cached, cache_write) = (amount()?, amount()?, amount()?, amount()?);
    let price = input.zip(output);
    let price = price.map(|(input, output)| Price { input, output, cached, cache_write });
    let images = abilities.contains('i').then_some(true);
    let tools = abilities.contains('t').then_some(ToolStyle::Native);
    let facts =
        SourcedFacts { context, max_output, images, tools, price, ..SourcedFacts::default() };
    words.next().is_none().then_some(CatalogueEntry { name, facts, abilities })
}

/// Returns a name without a date or `-latest` at its end; `None` if it has neither.
fn strip_date(name: &str) -> Option<&str> {
    let digits = |text: &str| text.chars().all(|letter| letter.is_ascii_digit() || letter == '-');
    let cut = |length: usize| {
        let (start, end) = name.split_at_checked(name.len().checked_sub(length)?)?;
        (end.starts_with("-20") && digits(end)).then_some(start)
    };
    name.strip_suffix("-latest")
        .or_else(|| cut("-2025-01-31".len()))
        .or_else(|| cut("-20250131".len()))
}

#[cfg(test)]
#[path = "catalogue_tests.rs"]
mod tests;
