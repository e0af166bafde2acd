//! The environment variables of the program.

/// Looks up an environment variable. The binary passes it in.
pub type Environment<'e> = &'e dyn Fn(&str) -> Option<String>;
