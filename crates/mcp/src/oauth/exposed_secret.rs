//! Writes secrets into the file of tokens.

use avocet_text::Secret;
use serde::{Serialize, Serializer};

pub(super) fn exposed_option<S: Serializer>(
    secret: &Option<Secret>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    secret.as_ref().map(Secret::expose).serialize(serializer)
}
