//! The parts that a build may leave out, by features of cargo. The slim program has none of them.

/// The names of the features, and whether this program has the part.
const PARTS: [(&str, bool); 6] = [
    ("acp", cfg!(feature = "acp")),
    ("discord", cfg!(feature = "discord")),
    ("mcp-server", cfg!(feature = "mcp-server")),
    ("outlines", cfg!(feature = "outlines")),
    ("prove", cfg!(feature = "prove")),
    ("telemetry", cfg!(feature = "telemetry")),
];

/// The arguments of a command that is left out.
#[cfg(not(all(feature = "mcp-server", feature = "prove")))]
#[derive(Debug, clap::Args)]
pub(crate) struct LeftOutArgs {
    #[arg(hide = true, trailing_var_arg = true, allow_hyphen_values = true)]
    _arguments: Vec<std::ffi::OsString>,
}

/// Returns `true` for a part that this program was built without.
pub(crate) fn is_left_out(name: &str) -> bool {
    left_out_parts().any(|part| part == name)
}

fn left_out_parts() -> impl Iterator<Item = &'static str> {
    PARTS.into_iter().filter(|(_, is_built)| !is_built).map(|(name, _)| name)
}

/// The text for an operator who uses a part that is left out.
pub(crate) fn describe_left_out(name: &str) -> String {
    format!(
        "this program was built without {name}; install a package of Avocet, or build it with \
            cargo build --release --features {name}"
    )
}

/// Returns the version, with the parts that are left out.
pub(crate) fn version_line() -> String {
    let line = concat!(env!("CARGO_PKG_NAME"), " ", env!("CARGO_PKG_VERSION"));
    let left_out: Vec<_> = left_out_parts().collect();
    match left_out.as_slice() {
        [] => line.to_owned(),
        parts => format!("{line} (without {})", parts.join(", ")),
    }
}
