//! The commands that add and remove MCP servers in the configuration file, and test them.

pub(crate) mod add;
pub(crate) mod changes;
pub(crate) mod import;
pub(crate) mod test;
pub(crate) mod tools_text;
