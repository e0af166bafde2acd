//! JSON that a provider wrote, read field by field: a field of another type counts as absent, and a
//! field that we do not need can be anything.
//!
//! Typed structs refuse a whole event for one odd field, and so lose an answer that is paid for. A
//! [`WireJson`] is parsed once per event and borrows its strings from the text, so that a piece of
//! an answer costs a handful of allocations, like a typed struct. Repeated keys are no error: the
//! last one counts, as in most parsers.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Number, Value};

/// A JSON value that borrows from its text.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum WireJson<'a> {
    Null,
    Bool(bool),
    Number(Number),
    Text(Cow<'a, str>),
    List(Vec<WireJson<'a>>),
    /// The fields in their order, with repeated keys.
    Object(Vec<(Cow<'a, str>, WireJson<'a>)>),
}

static NULL: WireJson<'static> = WireJson::Null;

impl<'a> WireJson<'a> {
    /// Parses a text as one value.
    ///
    /// # Errors
    /// If the text is no JSON.
    pub(crate) fn parse_text(text: &'a str) -> serde_json::Result<Self> {
        serde_json::from_str(text)
    }

    /// Returns a field of an object; null if the field or the object is missing.
    pub(crate) fn get(&self, key: &str) -> &WireJson<'a> {
        let Self::Object(fields) = self else { return &NULL };
        fields.iter().rev().find(|(name, _)| name == key).map_or(&NULL, |(_, value)| value)
    }

    pub(crate) fn as_str(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn is_object(&self) -> bool {
        matches!(self, Self::Object(_))
    }

    /// Returns a text. A number counts as its digits: some servers send ids as numbers.
    pub(crate) fn read_text(&self) -> Option<Cow<'_, str>> {
        match self {
            Self::Text(text) => Some(Cow::Borrowed(text)),
            Self::Number(number) => Some(Cow::Owned(number.to_string())),
            _ => None,
        }
    }

    /// Returns the items of a list. Another value counts as a list of that value; null is empty.
    pub(crate) fn read_list(&self) -> &[WireJson<'a>] {
        match self {
            Self::Null => &[],
            Self::List(items) => items,
            one => std::slice::from_ref(one),
        }
    }

    /// Returns a number of zero or more, without its fraction: a count of tokens, an index, a
    /// status. A text of digits counts as its number. `None` for negative numbers.
    pub(crate) fn read_count(&self) -> Option<u64> {
        match self {
            Self::Number(number) => count_of_number(number),
            Self::Text(text) => count_of_text(text),
            _ => None,
        }
    }

    /// Returns an amount of zero or more, such as a cost.
    pub(crate) fn read_amount(&self) -> Option<f64> {
        let amount = match self {
            Self::Number(number) => number.as_f64(),
            Self::Text(text) => text.trim().parse().ok(),
            _ => None,
        };
        amount.filter(|amount| amount.is_finite() && *amount >= 0.0)
    }

    /// Returns the reason for the end of an answer. A value of another type that says something is a
    /// reason with an unknown word.
    pub(crate) fn read_reason(&self) -> Option<Cow<'_, str>> {
        match self {
            Self::Bool(true) => Some(Cow::Borrowed("stop")),
            value if !value.has_content() => None,
            Self::Text(text) => Some(Cow::Borrowed(text)),
            other => Some(Cow::Owned(other.to_value().to_string())),
        }
    }

    /// Returns `true` for `true`, its text, and 1.
    pub(crate) fn is_true(&self) -> bool {
        match self {
            Self::Bool(is_true) => *is_true,
            Self::Number(number) => number.as_f64() == Some(1.0),
            Self::Text(text) => text.eq_ignore_ascii_case("true"),
            _ => false,
        }
    }

    /// Returns `true` if the value says something: text, a number other than zero, or a list or an
    /// object with such a value.
    pub(crate) fn has_content(&self) -> bool {
        match self {
            Self::Null | Self::Bool(_) => false,
            Self::Number(number) => number.as_f64() != Some(0.0),
            Self::Text(text) => !text.trim().is_empty(),
            Self::List(items) => items.iter().any(Self::has_content),
            Self::Object(fields) => fields.iter().any(|(_, value)| value.has_content()),
        }
    }

    /// Returns the value for code that keeps it.
    pub(crate) fn to_value(&self) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Bool(value) => Value::Bool(*value),
            Self::Number(number) => Value::Number(number.clone()),
            Self::Text(text) => Value::String(text.to_string()),
            Self::List(items) => items.iter().map(Self::to_value).collect(),
            Self::Object(fields) => {
                let fields = fields.iter().map(|(key, value)| (key.to_string(), value.to_value()));
                Value::Object(fields.collect())
            }
        }
    }
}

/// Like [`WireJson::read_count`], of a [`Value`].
pub(crate) fn read_count(value: &Value) -> Option<u64> {
    match value {
        Value::Number(number) => count_of_number(number),
        Value::String(text) => count_of_text(text),
        _ => None,
    }
}

fn count_of_number(number: &Number) -> Option<u64> {
    number.as_u64().or_else(|| whole_number(number.as_f64()?))
}

fn count_of_text(text: &str) -> Option<u64> {
    let text = text.trim();
    text.parse().ok().or_else(|| whole_number(text.parse().ok()?))
}

/// The whole part of a number that is no integer; `None` if it does not fit.
fn whole_number(number: f64) -> Option<u64> {
    let is_count = number > -1.0 && number.is_finite();
    is_count.then(|| format!("{:.0}", number.trunc().abs()).parse().ok()).flatten()
}

impl From<Value> for WireJson<'static> {
    fn from(value: Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(value) => Self::Bool(value),
            Value::Number(number) => Self::Number(number),
            Value::String(text) => Self::Text(Cow::Owned(text)),
            Value::Array(items) => Self::List(items.into_iter().map(Self::from).collect()),
            Value::Object(fields) => {
                let fields = fields.into_iter().map(|(key, value)| (key.into(), value.into()));
                Self::Object(fields.collect())
            }
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for WireJson<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(WireJsonVisitor)
    }
}

/// Builds a [`WireJson`] from the parts that a parser finds.
struct WireJsonVisitor;

impl<'de> Visitor<'de> for WireJsonVisitor {
    type Value = WireJson<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(WireJson::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Self::Value, E> {
        Ok(WireJson::Bool(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Self::Value, E> {
        Ok(WireJson::Number(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Self::Value, E> {
        Ok(WireJson::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Self::Value, E> {
        Ok(Number::from_f64(value).map_or(WireJson::Null, WireJson::Number))
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(WireJson::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(WireJson::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(WireJson::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Self::Value, A::Error> {
        let mut object = Vec::new();
        while let Some((key, value)) = fields.next_entry::<WireJson<'de>, WireJson<'de>>()? {
            if let WireJson::Text(key) = key {
                object.push((key, value));
            }
        }
        Ok(WireJson::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parse(text: &str) -> WireJson<'_> {
        WireJson::parse_text(text).unwrap()
    }

    #[test]
    fn wire_json_reads_counts_of_any_type() {
        let table = [
            ("7", Some(7)),
            ("0", Some(0)),
            ("7.9", Some(7)),
            ("1e3", Some(1000)),
            ("\"7\"", Some(7)),
            ("\" 7.0 \"", Some(7)),
            ("-1", None),
            ("-0.0", Some(0)),
            ("-35.5", None),
            ("\"-1\"", None),
            ("\"many\"", None),
            ("1e300", None),
            ("18446744073709551615", Some(u64::MAX)),
            ("null", None),
            ("true", None),
            ("{}", None),
            ("[7]", None),
        ];
        for (text, expected) in table {
            assert_eq!(parse(text).read_count(), expected, "{text}");
        }
    }

    #[test]
    fn wire_json_get_returns_the_last_field_of_a_key_and_null_without_one() {
        let object = parse(r#"{"a": 1, "b": null, "a": 2}"#);
        assert_eq!(object.get("a").read_count(), Some(2));
        for absent in [object.get("b"), object.get("c"), parse("[1]").get("a")] {
            assert_eq!(*absent, WireJson::Null);
        }
    }

    #[test]
    fn wire_json_read_list_and_read_text_accept_other_types() {
        assert_eq!(parse("null").read_list().len(), 0);
        assert_eq!(parse("[1, null]").read_list().len(), 2);
        assert_eq!(parse("{}").read_list().len(), 1);
        assert_eq!(parse("12").read_text().as_deref(), Some("12"));
        assert_eq!(parse("false").read_text(), None);
    }

    #[test]
    fn wire_json_has_content_if_a_value_says_something() {
        for nothing in ["null", "false", "true", "0", "\" \"", "{}", "[]", r#"{"a": {"b": ""}}"#] {
            assert!(!parse(nothing).has_content(), "{nothing}");
        }
        for something in ["\"no\"", "500", r#"{"message": "no"}"#, "[\"no\"]"] {
            assert!(parse(something).has_content(), "{something}");
        }
    }

    #[test]
    fn wire_json_read_reason_takes_any_value_that_says_something() {
        let table = [
            ("\"stop\"", Some("stop")),
            ("true", Some("stop")),
            ("1", Some("1")),
            (r#"{"type":"stop"}"#, Some(r#"{"type":"stop"}"#)),
        ];
        for (text, expected) in table {
            assert_eq!(parse(text).read_reason().as_deref(), expected, "{text}");
        }
        for text in ["null", "\"\"", "false", "0", "{}", "[null]"] {
            assert_eq!(parse(text).read_reason(), None, "{text}");
        }
    }

    #[test]
    fn wire_json_and_value_convert_into_each_other() {
        let value = json!({ "a": [1, -2, 0.5, "é\n", null, true], "b": { "c": {} } });
        let text = value.to_string();
        assert_eq!(parse(&text).to_value(), value);
        assert_eq!(WireJson::from(value.clone()).to_value(), value);
    }
}
