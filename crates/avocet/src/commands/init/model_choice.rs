//! The choice of a model from a provider's list.

use std::fmt::Write;

use avocet_llm::OfferedModel;
use avocet_protocol::{PlainTable, nearest};

use super::InitRun;
use super::additions::AddedProvider;
use super::presets::{Preset, chatting, default_model};
use super::questions::Questions;
use crate::exit::{Exit, Failure};
use crate::output::print;

/// The most models that are shown at once.
const SHOWN: usize = 20;

impl InitRun<'_> {
    /// Takes a model from the options, by a question, or by default.
    pub(super) async fn choose_model(
        &mut self,
        provider: AddedProvider,
        models: &[OfferedModel],
    ) -> Result<(), Failure> {
        let all: Vec<String> = models.iter().map(|model| model.name.clone()).collect();
        let offered = chatting(&all);
        let preset = Preset::named(provider.name.trim_end_matches(|c: char| c.is_ascii_digit()));
        let default = default_model(preset, &offered);
        let model = match (&self.args.model, &mut self.questions) {
            (Some(model), _) => checked(model, &provider, &all)?,
            (None, Some(questions)) => ask_model(questions, models, &all, default).await?,
            (None, None) => default.map(str::to_owned).ok_or_else(|| {
                let message = format!("{} has no list of models; give --model", provider.name);
                Failure::new(Exit::Usage, message)
            })?,
        };
        let name = format!("{}/{model}", provider.name);
        print(&format!("The model is {name}.\n"))?;
        for hint in self.model_hints(&provider, &model).await {
            print(&format!("  {hint}\n"))?;
        }
        self.additions.provider = Some(provider);
        self.additions.model = Some(name);
        Ok(())
    }
}

/// Asks until the answer names a model.
async fn ask_model(
    questions: &mut Questions,
    models: &[OfferedModel],
    all: &[String],
    default: Option<&str>,
) -> Result<String, Failure> {
    let mut shown = chatting(all);
    print(&table(models, &shown))?;
    let usual = default.map_or_else(String::new, |name| format!("; Enter: {name}"));
    let question = format!("Model (a number, a name, or a part of it{usual}):");
    loop {
        let answer = questions.ask(&question).await?;
        match (pick(&answer, &shown, all), default) {
            (Pick::Model(model), _) => return Ok(model),
            (Pick::Several(found), _) => {
                print(&table(models, &found))?;
                shown = found;
            }
            (Pick::Default, Some(default)) => return Ok(default.to_owned()),
            (Pick::Default, None) => print("Name a model.\n")?,
            (Pick::Nothing, _) => print(&format!("There is no model {answer:?}.\n"))?,
        }
    }
}

/// The meaning of an answer to the question for a model.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Pick<'m> {
    Default,
    Model(String),
    /// Several models contain the answer.
    Several(Vec<&'m str>),
    Nothing,
}

/// Reads the answer to the question for a model. Without a list, every name is good.
fn pick<'m>(answer: &str, shown: &[&'m str], all: &'m [String]) -> Pick<'m> {
    if answer.is_empty() {
        return Pick::Default;
    }
    if all.is_empty() || all.iter().any(|name| name == answer) {
        return Pick::Model(answer.to_owned());
    }
    if let Some(model) =
        answer.parse().ok().and_then(|number: usize| shown.get(number.checked_sub(1)?))
    {
        return Pick::Model((*model).to_owned());
    }
    let word = answer.to_lowercase();
    let found = all.iter().map(String::as_str).filter(|name| name.to_lowercase().contains(&word));
    match found.collect::<Vec<_>>().as_slice() {
        [] => Pick::Nothing,
        [one] => Pick::Model((*one).to_owned()),
        several => Pick::Several(several.to_vec()),
    }
}

/// Lists models by number, as far as they fit.
fn table(models: &[OfferedModel], shown: &[&str]) -> String {
    let mut table = PlainTable::with_head(&["", "model", "context", "$ per million in/out"]);
    for (place, name) in shown.iter().take(SHOWN).enumerate() {
        let facts = models.iter().find(|model| model.name == *name).map(|model| model.facts);
        let facts = facts.unwrap_or_default();
        let context = facts.context.map_or_else(|| "-".to_owned(), |tokens| tokens.to_string());
        let price = facts
            .price
            .map_or_else(|| "-".to_owned(), |price| format!("{}/{}", price.input, price.output));
        table.row([(place + 1).to_string(), (*name).to_owned(), context, price]);
    }
    let mut text = if shown.is_empty() { String::new() } else { table.to_string() };
    if let Some(rest) = shown.len().checked_sub(SHOWN).filter(|rest| *rest > 0) {
        // Writing to a `String` always succeeds.
        writeln!(text, "... and {rest} more; enter a part of a name to find them")
            .unwrap_or_default();
    }
    text
}

/// Checks the model of the command line against the list.
fn checked(model: &str, provider: &AddedProvider, all: &[String]) -> Result<String, Failure> {
    let own = model.strip_prefix(&format!("{}/", provider.name)).unwrap_or(model);
    let named = all.iter().find(|name| *name == model || *name == own);
    if let Some(name) = named {
        return Ok(name.clone());
    }
    if all.is_empty() {
        return Ok(own.to_owned());
    }
    let meant = nearest(own, all.iter().map(String::as_str));
    let meant = meant.map_or_else(String::new, |name| format!("; did you mean {name}?"));
    let message = format!("{} has no model {model:?}{meant}", provider.name);
    Err(Failure::new(Exit::Usage, message))
}

#[cfg(test)]
#[path = "model_choice_tests.rs"]
mod tests;
