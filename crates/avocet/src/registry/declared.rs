//! The declared configuration of a component, for tests of the example and of the reference.

use std::fmt::Debug;

use avocet_config::schema;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// The type of a component's table.
pub(crate) struct DeclaredTable {
    pub(crate) schema: fn() -> Value,
    /// Reads a table, and returns the `Debug` text of its type.
    pub(crate) read: fn(Value) -> String,
}

impl DeclaredTable {
    pub(crate) fn for_type<T: DeserializeOwned + JsonSchema + Debug>() -> Self {
        Self { schema: schema::<T>, read: read::<T> }
    }
}

fn read<T: DeserializeOwned + Debug>(table: Value) -> String {
    format!("{:?}", serde_json::from_value::<T>(table).unwrap())
}
