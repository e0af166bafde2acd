//! The fields of a form that a server requests, and the check of each value (MCP, "Elicitation",
//! requested schema).

use avocet_protocol::tool::AnswerOption;
use avocet_text::sanitise;
use rmcp::model::ElicitationSchema;
use serde_json::{Value, json};

use crate::secret_words::names_secret;

/// The most fields of a form.
const MOST_FIELDS: usize = 12;
/// The most values of a choice.
const MOST_VALUES: usize = 50;
/// The most values that get buttons. Platforms have rows of eight buttons.
const MOST_BUTTONS: usize = 5;
/// Characters of a name, a title or a value that are shown.
const SHOWN: usize = 60;
/// Characters of a description that are shown.
const SHOWN_DESCRIPTION: usize = 300;
/// The most characters of a text that a person writes.
const LONGEST_TEXT: u64 = 4000;

/// The word for the value that the server suggests.
const DEFAULT: &str = "default";
/// The word that leaves a field out.
const SKIP: &str = "skip";

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FormField {
    /// The key in the content of the answer.
    pub(crate) name: String,
    title: String,
    description: String,
    is_required: bool,
    default: Option<Value>,
    kind: FieldKind,
}

#[derive(Debug, Clone, PartialEq)]
enum FieldKind {
    Text { least: u64, most: u64, format: Option<String> },
    Number { least: Option<f64>, most: Option<f64> },
    Integer { least: Option<i64>, most: Option<i64> },
    Flag,
    One(Vec<FieldValue>),
    Several { values: Vec<FieldValue>, least: u64, most: u64 },
}

/// A value of a choice, and its title.
#[derive(Debug, Clone, PartialEq)]
struct FieldValue {
    value: String,
    title: String,
}

/// Returns the fields of a form in their order.
///
/// # Errors
/// The reason why the form cannot be shown.
pub(crate) fn form_fields(schema: &ElicitationSchema) -> Result<Vec<FormField>, String> {
    let required = schema.required.clone().unwrap_or_default();
    let names = schema.property_order.clone();
    let names = names.unwrap_or_else(|| schema.properties.keys().cloned().collect());
    if names.len() > MOST_FIELDS {
        return Err(format!("its form has more than {MOST_FIELDS} fields"));
    }
    let field = |name: &String| {
        let schema = json!(schema.properties.get(name));
        FormField::from_schema(name, &schema, required.contains(name)).ok_or_else(|| {
            format!("its form has a field of an unknown kind: {:?}", shorten_line(name))
        })
    };
    names.iter().map(field).collect()
}

impl FormField {
    fn from_schema(name: &str, schema: &Value, is_required: bool) -> Option<Self> {
        let text = |key: &str| schema[key].as_str().unwrap_or_default();
        let title = if text("title").is_empty() { name } else { text("title") };
        Some(Self {
            name: name.to_owned(),
            title: shorten_line(title),
            description: cut_text(text("description"), SHOWN_DESCRIPTION),
            is_required,
            default: schema.get("default").filter(|value| !value.is_null()).cloned(),
            kind: FieldKind::from_schema(schema)?,
        })
    }

    /// Returns `true` if the field seems to ask for a secret: a password, a token, a key or a code.
    pub(crate) fn asks_for_secret(&self) -> bool {
        let Self { name, title, description, kind, .. } = self;
        let can_be_secret = matches!(
            kind,
            FieldKind::Text { .. } | FieldKind::Number { .. } | FieldKind::Integer { .. }
        );
        can_be_secret && [name, title, description].into_iter().any(|text| names_secret(text))
    }

    /// Describes the field for the person who fills it in, in Markdown.
    pub(crate) fn describe_field(&self) -> String {
        let Self { title, description, is_required, default, kind, .. } = self;
        let mut lines = vec![title.clone()];
        if !description.is_empty() {
            lines.push(description.clone());
        }
        lines.extend(
            kind.choice_values().iter().zip(1..).map(|(value, number)| value.numbered_line(number)),
        );
        let mut text =
            format!("{}\n\nExpected: {}", fence_text(&lines.join("\n")), kind.describe_expected());
        if let Some(default) = default {
            text.push_str(&format!(
                ", or `{DEFAULT}` for `{}`",
                replace_backticks(&format_value(default))
            ));
        }
        if !is_required {
            text.push_str(&format!(", or `{SKIP}`"));
        }
        text.push('.');
        text
    }

    /// Returns the answers that get buttons.
    pub(crate) fn answer_options(&self) -> Vec<AnswerOption> {
        let mut options = self.kind.answer_options();
        if self.default.is_some() {
            options.push(AnswerOption::new("Default", DEFAULT));
        }
        if !self.is_required {
            options.push(AnswerOption::new("Skip", SKIP));
        }
        options
    }

    /// Reads an answer. `None` leaves the field out.
    ///
    /// # Errors
    /// The reason for a refusal, as a sentence for the person.
    pub(crate) fn read(&self, answer: &str) -> Result<Option<Value>, String> {
        let answer = answer.trim();
        if let Some(default) = &self.default
            && answer.eq_ignore_ascii_case(DEFAULT)
        {
            return Ok(Some(default.clone()));
        }
        if !self.is_required && answer.eq_ignore_ascii_case(SKIP) {
            return Ok(None);
        }
        let refuse = || {
            format!(
                "`{}` is not {}.",
                replace_backticks(&shorten_line(answer)),
                self.kind.describe_expected()
            )
        };
        self.kind.read(answer).map(Some).ok_or_else(refuse)
    }
}

impl FieldKind {
    fn from_schema(schema: &Value) -> Option<Self> {
        let count = |key: &str| schema[key].as_u64();
        let kind = match schema["type"].as_str()? {
            "array" => {
                let values = values_of_choice(&schema["items"])?;
                let most = count("maxItems").unwrap_or(MOST_VALUES as u64);
                Self::Several { values, least: count("minItems").unwrap_or(0), most }
            }
            "string" if schema.get("enum").is_some() || schema.get("oneOf").is_some() => {
                Self::One(values_of_choice(schema)?)
            }
            "string" => Self::Text {
                least: count("minLength").unwrap_or(0),
                most: count("maxLength").unwrap_or(LONGEST_TEXT).min(LONGEST_TEXT),
                format: schema["format"].as_str().map(str::to_owned),
            },
            "number" => {
                Self::Number { least: schema["minimum"].as_f64(), most: schema["maximum"].as_f64() }
            }
            "integer" => Self::Integer {
                least: schema["minimum"].as_i64(),
                most: schema["maximum"].as_i64(),
            },
            "boolean" => Self::Flag,
            _ => return None,
        };
        Some(kind)
    }

    fn choice_values(&self) -> &[FieldValue] {
        match self {
            Self::One(values) | Self::Several { values, .. } => values,
            Self::Text { .. } | Self::Number { .. } | Self::Integer { .. } | Self::Flag => &[],
        }
    }

    /// Names the values that the field takes.
    fn describe_expected(&self) -> String {
        match self {
            Self::Text { least, most, format } => {
                let what = match format.as_deref() {
                    Some("email") => "an e-mail address",
                    Some("uri") => "a URL",
                    Some("date") => "a date such as 2026-01-31",
                    Some("date-time") => "a time such as 2026-01-31T09:00:00Z",
                    _ => "a text",
                };
                match (least, most) {
                    (0, &LONGEST_TEXT) => what.to_owned(),
                    (0, most) => format!("{what} of at most {most} characters"),
                    (least, &LONGEST_TEXT) => format!("{what} of at least {least} characters"),
                    (least, most) => format!("{what} of {least} to {most} characters"),
                }
            }
            Self::Number { least, most } => format!("a number{}", format_range(*least, *most)),
            Self::Integer { least, most } => {
                format!("a whole number{}", format_range(*least, *most))
            }
            Self::Flag => "yes or no".to_owned(),
            Self::One(_) => "one of these values, or its number such as #1".to_owned(),
            Self::Several { least, most, values } => {
                let most = (*most).min(values.len() as u64);
                format!("{least} to {most} of these values or their numbers, such as #1, #2")
            }
        }
    }

    fn answer_options(&self) -> Vec<AnswerOption> {
        match self {
            Self::Flag => vec![AnswerOption::new("Yes", "yes"), AnswerOption::new("No", "no")],
            Self::One(values) if values.len() <= MOST_BUTTONS => {
                let option = |(value, number): (&FieldValue, usize)| {
                    AnswerOption::new(value.title.clone(), format!("#{number}"))
                };
                values.iter().zip(1..).map(option).collect()
            }
            _ => Vec::new(),
        }
    }

    fn read(&self, answer: &str) -> Option<Value> {
        match self {
            Self::Text { least, most, format } => {
                let length = answer.chars().count() as u64;
                let fits = (*least..=*most).contains(&length);
                let fits = fits && has_format(answer, format.as_deref());
                fits.then(|| json!(answer))
            }
            Self::Number { least, most } => {
                let number: f64 = answer.parse().ok().filter(|number: &f64| number.is_finite())?;
                let fits = least.is_none_or(|least| number >= least)
                    && most.is_none_or(|most| number <= most);
                fits.then(|| json!(number))
            }
            Self::Integer { least, most } => {
                let number: i64 = answer.parse().ok()?;
                let fits = least.is_none_or(|least| number >= least)
                    && most.is_none_or(|most| number <= most);
                fits.then(|| json!(number))
            }
            Self::Flag => match answer.to_ascii_lowercase().as_str() {
                "yes" | "y" | "true" => Some(json!(true)),
                "no" | "n" | "false" => Some(json!(false)),
                _ => None,
            },
            Self::One(values) => find_value(values, answer).map(|value| json!(value)),
            Self::Several { values, least, most } => {
                let answers = answer.split(',').map(str::trim).filter(|one| !one.is_empty());
                let mut chosen: Vec<&str> = Vec::new();
                for one in answers {
                    let value = find_value(values, one)?;
                    if !chosen.contains(&value) {
                        chosen.push(value);
                    }
                }
                (*least..=*most).contains(&(chosen.len() as u64)).then(|| json!(chosen))
            }
        }
    }
}

impl FieldValue {
    fn numbered_line(&self, number: usize) -> String {
        let Self { value, title } = self;
        let shown = shorten_line(value);
        if *title == shown {
            format!("#{number} {title}")
        } else {
            format!("#{number} {title} ({shown})")
        }
    }
}

/// Returns the values of a choice; `None` if there are none or too many.
fn values_of_choice(schema: &Value) -> Option<Vec<FieldValue>> {
    let titled = schema.get("oneOf").or_else(|| schema.get("anyOf")).and_then(Value::as_array);
    let values: Vec<FieldValue> = if let Some(titled) = titled {
        let of = |one: &Value| {
            let value = one["const"].as_str()?.to_owned();
            let title = shorten_line(one["title"].as_str().unwrap_or(&value));
            Some(FieldValue { value, title })
        };
        titled.iter().map(of).collect::<Option<_>>()?
    } else {
        let names = schema.get("enumNames");
        let of = |(place, one): (usize, &Value)| {
            let value = one.as_str()?.to_owned();
            let name = names.and_then(|names| names[place].as_str());
            let title = shorten_line(name.unwrap_or(&value));
            Some(FieldValue { value, title })
        };
        schema.get("enum")?.as_array()?.iter().enumerate().map(of).collect::<Option<_>>()?
    };
    (1..=MOST_VALUES).contains(&values.len()).then_some(values)
}

/// Finds a value by its number, its text or its title. The number comes first, because buttons send
/// numbers.
fn find_value<'v>(values: &'v [FieldValue], answer: &str) -> Option<&'v str> {
    if let Some(number) = answer.strip_prefix('#')
        && let Ok(number) = number.parse::<usize>()
    {
        return values.get(number.checked_sub(1)?).map(|one| one.value.as_str());
    }
    let by_value = values.iter().find(|one| one.value == answer);
    let by_title = || values.iter().find(|one| one.title.eq_ignore_ascii_case(answer));
    by_value.or_else(by_title).map(|one| one.value.as_str())
}

fn has_format(text: &str, format: Option<&str>) -> bool {
    match format {
        Some("email") => text.split_once('@').is_some_and(|(name, host)| {
            let is_word = |part: &str| !part.is_empty() && !part.contains(char::is_whitespace);
            is_word(name) && is_word(host) && !host.contains('@')
        }),
        Some("uri") => text.split_once(':').is_some_and(|(scheme, rest)| {
            let is_scheme = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
            scheme.starts_with(|c: char| c.is_ascii_alphabetic())
                && scheme.chars().all(is_scheme)
                && !rest.is_empty()
                && !rest.contains(char::is_whitespace)
        }),
        Some("date") => text.len() == 10 && text.parse::<jiff::civil::Date>().is_ok(),
        Some("date-time") => text.parse::<jiff::Timestamp>().is_ok(),
        _ => true,
    }
}

fn format_range<T: std::fmt::Display>(least: Option<T>, most: Option<T>) -> String {
    match (least, most) {
        (Some(least), Some(most)) => format!(" from {least} to {most}"),
        (Some(least), None) => format!(" of at least {least}"),
        (None, Some(most)) => format!(" of at most {most}"),
        (None, None) => String::new(),
    }
}

fn format_value(value: &Value) -> String {
    match value {
        Value::String(text) => shorten_line(text),
        other => shorten_line(&other.to_string()),
    }
}

/// Puts a server's text on one line, and cuts it.
fn shorten_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    cut_text(&words.join(" "), SHOWN)
}

/// Cuts a server's text, and removes invisible characters.
pub(crate) fn cut_text(text: &str, most: usize) -> String {
    let text = sanitise(text).text;
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// Replaces the backticks in a text that is put between backticks.
fn replace_backticks(text: &str) -> String {
    text.replace('`', "'")
}

/// Puts a text into a code block that the text cannot close, so that its links and marks are inert.
pub(crate) fn fence_text(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}\n{}\n{fence}", text.trim_end_matches('\n'))
}

#[cfg(test)]
#[path = "form_tests.rs"]
mod tests;
