//! Shared by the tests of the whole program: a temporary home, the program in it, its output.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

pub mod child;
mod home;
pub mod picture;
mod process;

use avocet_protocol::clock::{Clock, Timestamp};
use avocet_supervise::SystemClock;

pub use home::Home;
pub use process::{DaemonProcess, ProgramOutput};

/// The environment variable that names the fail point at which the program under test dies.
pub const FAIL_POINT: &str = "AVOCET_TEST_FAIL_POINT";
/// The environment variable with the address that the tool `post` posts to.
pub const SINK: &str = "AVOCET_TEST_SINK";
/// The environment variable with the address and port to which every name of the web resolves.
pub const WEB: &str = "AVOCET_TEST_WEB";
/// The environment variable with the directory of untrusted texts. `TOPIC.txt` is the result of
/// `mcp_lookup` and `mcp_board`, `description.txt` the description of the latter.
pub const FOREIGN: &str = "AVOCET_TEST_FOREIGN";

/// The environment variable with the address at which a test asks the counting program for its
/// allocations.
pub const ALLOCATIONS: &str = "AVOCET_TEST_ALLOCATIONS";

/// The file in that directory with the names that are looked up on the web, one per line.
pub const LOOKED_UP: &str = "looked-up.txt";

/// The time of the programs under test, for platforms beside them: a platform answers late messages
/// differently.
#[must_use]
pub fn now() -> Timestamp {
    SystemClock::new().now()
}

/// The program under test, for [`Home::new`].
#[macro_export]
macro_rules! program {
    () => {
        env!("CARGO_BIN_EXE_avocet-under-test")
    };
}
