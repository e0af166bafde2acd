//! The choice of a model from a provider's list.

use avocet_llm::OfferedModel;
use avocet_text::{PlainTable, append_line, nearest};

use super::InitRun;
use super::additions::{AddedProvider, model_of};
use super::offer::{ModelTest, NoList};
use super::presets::{Preset, chat_models, default_model};
use super::questions::{Questions, print_lines};
use crate::exit::{Exit, Failure};

const SECRET_AS_MODEL: &str = "That looks like a key or a token, so it was not used. The token of the bot comes \
    next. This question is for the model.\n";

/// The most models that are shown at once.
const SHOWN: usize = 20;

impl InitRun<'_> {
    /// Takes a model from the options, by a question, or by default, and tests it. Returns a fault
    /// that needs another key.
    pub(super) async fn choose_model(
        &mut self,
        provider: &AddedProvider,
        models: &[OfferedModel],
    ) -> Result<Option<NoList>, Failure> {
        let all: Vec<String> = models.iter().map(|model| model.name.clone()).collect();
        let offered = chat_models(&all);
        let preset = Preset::named(provider.name.trim_end_matches(|c: char| c.is_ascii_digit()));
        let default = default_model(preset, &offered);
        let mut refused = None;
        let (model, is_tested) = loop {
            let model = match (&self.args.model, &mut self.questions) {
                (Some(model), _) if refused.is_none() => check_model(model, provider, &all)?,
                (_, Some(questions)) => ask_model(questions, models, &all, default).await?,
                (_, None) => {
                    default.map(str::to_owned).ok_or_else(|| no_default(provider, &all))?
                }
            };
            if all.is_empty() || refused.as_ref() == Some(&model) {
                break (model, false);
            }
            // A server without a key is on this machine or nearby, and may load the model first.
            let loads =
                if provider.api_key.is_none() { " It may have to be loaded first." } else { "" };
            print_lines(&format!("Testing {model} with a short question...{loads}\n"))?;
            match self.test_model(provider, &model).await {
                ModelTest::Passed => break (model, true),
                ModelTest::Unknown(why) => {
                    let why = why.trim_end_matches('.');
                    print_lines(&format!(
                        "  {model} is untested: {why}. To test it: avocet ask me hello --wait\n"
                    ))?;
                    break (model, true);
                }
                ModelTest::Key(detail) => return Ok(Some(NoList::Key(detail))),
                ModelTest::Refused(why) => {
                    let message =
                        format!("{} refuses {model}: {}", provider.name, why.trim_end_matches('.'));
                    if self.questions.is_none() {
                        let message = format!("{message}; nothing was written");
                        return Err(Failure::new(Exit::Failed, message));
                    }
                    print_lines(&format!(
                        "{message}. Choose another model, or this one again to keep it.\n"
                    ))?;
                    refused = Some(model);
                }
            }
        };
        let name = format!("{}/{model}", provider.name);
        print_lines(&match model_of(&self.file.text) {
            Some(main) if main != name => format!(
                "The model stays {main}, and {name} answers if it fails. To change that: avocet config set \
                 agents.defaults.model {name}\n"
            ),
            _ => format!("The model is {name}.\n"),
        })?;
        for hint in self.model_hints(provider, &model, is_tested).await {
            print_lines(&format!("  {hint}\n"))?;
        }
        self.additions.provider = Some(provider.clone());
        self.additions.model = Some(name);
        Ok(None)
    }
}

/// Asks until the answer names a model.
async fn ask_model(
    questions: &mut Questions,
    models: &[OfferedModel],
    all: &[String],
    default: Option<&str>,
) -> Result<String, Failure> {
    let mut shown = first_shown(chat_models(all), default);
    print_lines(&models_table(models, &shown))?;
    loop {
        let usual = usual_of(&shown, default);
        let enter = usual.map_or_else(String::new, |name| format!("; Enter: {name}"));
        let question = format!("Model (a number, a name, or a part of it{enter}):");
        let answer = questions.ask(&question).await?;
        match (pick_model(&answer, &shown, all), usual) {
            (Pick::Default, Some(usual)) => return Ok(usual.to_owned()),
            (Pick::Default, None) => print_lines("Name a model.\n")?,
            (Pick::Model(model), _) if all.contains(&model) => return Ok(model),
            _ if questions.is_like_secret(&answer) => print_lines(SECRET_AS_MODEL)?,
            (Pick::Model(model), _) => return Ok(model),
            (Pick::Several(found), _) => {
                shown = first_shown(found, default);
                print_lines(&models_table(models, &shown))?;
            }
            (Pick::OtherUse, _) => print_lines(&format!(
                "The models with {answer:?} in their name are not for chats; a full name is taken.\n"
            ))?,
            (Pick::Nothing, _) => print_lines(&format!("There is no model {answer:?}.\n"))?,
        }
    }
}

/// Moves the default to the beginning if it would not be shown.
fn first_shown<'m>(mut models: Vec<&'m str>, default: Option<&'m str>) -> Vec<&'m str> {
    let place = models.iter().position(|name| Some(*name) == default);
    if let Some(place) = place.filter(|place| *place >= SHOWN) {
        models[..=place].rotate_right(1);
    }
    models
}

/// Returns the model for Enter: the default if it is shown, or else the first one. Without a default,
/// Enter chooses nothing.
fn usual_of<'m>(shown: &[&'m str], default: Option<&'m str>) -> Option<&'m str> {
    let default = default?;
    if shown.contains(&default) { Some(default) } else { shown.first().copied() }
}

/// Names the models of a server without a usual one.
fn no_default(provider: &AddedProvider, all: &[String]) -> Failure {
    let (name, models) = (&provider.name, chat_models(all));
    let message = match models.get(..SHOWN.min(models.len())).unwrap_or_default() {
        [] => format!("{name} has no list of models; give --model"),
        some => format!("{name} has several models; give --model: {}", some.join(", ")),
    };
    Failure::new(Exit::Usage, message)
}

/// The meaning of an answer to the question for a model.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Pick<'m> {
    Default,
    Model(String),
    /// Several models contain the answer.
    Several(Vec<&'m str>),
    /// Only models that cannot chat contain the answer.
    OtherUse,
    Nothing,
}

/// Reads the answer to the question for a model. Without a list, every name is good.
fn pick_model<'m>(answer: &str, shown: &[&'m str], all: &'m [String]) -> Pick<'m> {
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
    let contains = |name: &str| name.to_lowercase().contains(&word);
    let found: Vec<&str> = chat_models(all).into_iter().filter(|name| contains(name)).collect();
    match found.as_slice() {
        [] if all.iter().any(|name| contains(name)) => Pick::OtherUse,
        [] => Pick::Nothing,
        [one] => Pick::Model((*one).to_owned()),
        several => Pick::Several(several.to_vec()),
    }
}

/// Lists models by number, as far as they fit.
fn models_table(models: &[OfferedModel], shown: &[&str]) -> String {
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
        append_line(
            &mut text,
            format_args!("... and {rest} more; enter a part of a name to find them"),
        );
    }
    text
}

/// Checks the model of the command line against the list.
fn check_model(model: &str, provider: &AddedProvider, all: &[String]) -> Result<String, Failure> {
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
