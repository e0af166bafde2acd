//! The tests that are left out on some systems: one list of the reasons, and one place that reports
//! them.

/// Names the parts that may be missing, separated by commas. `.ci/run` sets it.
const MAY_SKIP: &str = "AVOCET_MAY_SKIP";

/// A part of the system that some tests need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SystemPart {
    /// Control groups that the user of the test may divide, on Linux 5.14 or later.
    ControlGroups,
    /// Devices that the user of the test may make.
    Devices,
    /// User attributes of files, which hold the trust level.
    ExtendedAttributes,
    /// The program `git`.
    Git,
    /// Landlock, a layer of the sandbox.
    Landlock,
    /// A user namespace in which `unshare` may mount.
    MountNamespace,
    /// Namespaces, a layer of the sandbox.
    Namespaces,
    /// The programs `node` and `npm`.
    Node,
    /// A program that a case of the corpus of escapes runs.
    Program,
    /// A sandbox for programs: namespaces or Landlock.
    ProgramSandbox,
    /// The rights of root, to give files away or to become an ordinary user.
    Root,
    /// A limit of the processes of a user.
    ProcessLimit,
    /// The program `setpriv`.
    Setpriv,
    /// A Rust toolchain that a sandbox can see, and a C compiler.
    Toolchain,
    /// The right to trace a child (ptrace(2)).
    Tracing,
}

impl SystemPart {
    /// The word for this part in `AVOCET_MAY_SKIP`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ControlGroups => "control-groups",
            Self::Devices => "devices",
            Self::ExtendedAttributes => "extended-attributes",
            Self::Git => "git",
            Self::Landlock => "landlock",
            Self::MountNamespace => "mount-namespace",
            Self::Namespaces => "namespaces",
            Self::Node => "node",
            Self::Program => "program",
            Self::ProgramSandbox => "program-sandbox",
            Self::ProcessLimit => "process-limit",
            Self::Root => "root",
            Self::Setpriv => "setpriv",
            Self::Toolchain => "toolchain",
            Self::Tracing => "tracing",
        }
    }
}

/// Reports that a test is left out, because the system lacks this part.
///
/// # Panics
/// If `AVOCET_MAY_SKIP` is set and does not name the part.
#[expect(clippy::disallowed_methods, reason = "`.ci/run` says what this machine must have")]
pub fn skip_without(part: SystemPart) {
    assert!(may_skip(part, std::env::var(MAY_SKIP).ok().as_deref()), "{}", refusal(part));
    println!("skipped: this system lacks {}", part.as_str());
}

/// Returns `true` if the list names the part, or if there is no list.
fn may_skip(part: SystemPart, listed: Option<&str>) -> bool {
    listed.is_none_or(|listed| listed.split(',').any(|word| word.trim() == part.as_str()))
}

fn refusal(part: SystemPart) -> String {
    let word = part.as_str();
    format!("this test needs {word}, and {MAY_SKIP} does not allow to leave it out")
}

#[cfg(test)]
#[path = "skips_tests.rs"]
mod tests;
