//! The keys of the configuration that errors name.

/// The configuration key that lists protected paths.
pub const PROTECTED: &str = "[sandbox] protected";

/// The configuration key of read-only directories.
pub const READ_ROOTS: &str = "[tools] read";

/// The configuration key of directories that may also be changed.
pub const WRITE_ROOTS: &str = "[tools] write";

/// The configuration key that opens secret files.
pub const SECRET_FILES: &str = "[tools] secret_files";
