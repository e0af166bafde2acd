//! Discord, as a channel.
