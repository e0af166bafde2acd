//! The part of the log whose timeline is wanted.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::IdFault;
use crate::ids::{DeliveryId, IdError, MessageId, TurnId};

/// A message (`m12`), a turn (`t4`) or a delivery (`o9`), as a person copies it from a list or a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub enum TraceSubject {
    /// The message, its turn and the turn's deliveries.
    Message(MessageId),
    /// The turn with all its messages.
    Turn(TurnId),
    /// The turn of the delivery, or the delivery alone if another program sent it.
    Delivery(DeliveryId),
}

impl fmt::Display for TraceSubject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Message(id) => id.fmt(f),
            Self::Turn(id) => id.fmt(f),
            Self::Delivery(id) => id.fmt(f),
        }
    }
}

impl FromStr for TraceSubject {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        let fault = |_| IdError::new("id", text, IdFault::Number("m, t or o"));
        match text.chars().next() {
            Some('t') => text.parse().map(Self::Turn).map_err(fault),
            Some('o') => text.parse().map(Self::Delivery).map_err(fault),
            _ => text.parse().map(Self::Message).map_err(fault),
        }
    }
}

impl TryFrom<String> for TraceSubject {
    type Error = IdError;

    fn try_from(text: String) -> Result<Self, IdError> {
        text.parse()
    }
}

impl From<TraceSubject> for String {
    fn from(subject: TraceSubject) -> Self {
        subject.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trace_subject_has_the_id_that_lists_print() {
        for (text, subject) in [
            ("m12", TraceSubject::Message(MessageId(12))),
            ("t4", TraceSubject::Turn(TurnId(4))),
            ("o9", TraceSubject::Delivery(DeliveryId(9))),
        ] {
            assert_eq!(text.parse(), Ok(subject));
            assert_eq!(subject.to_string(), text);
        }
    }

    #[test]
    fn trace_subject_of_another_form_is_refused_with_the_forms() {
        for text in ["", "12", "x1", "t4s1c0", "o", "m-1"] {
            let error = text.parse::<TraceSubject>().unwrap_err().to_string();
            assert!(error.contains("m, t or o"), "{error}");
        }
    }
}
