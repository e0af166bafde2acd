//! Asks the linker for packed relocations, which make the program 1.4 MB smaller.

use std::process::Command;

/// The first version of glibc that loads packed relocations.
const NEEDED: (u32, u32) = (2, 36);

#[expect(clippy::disallowed_methods, reason = "cargo tells a build script all by its environment")]
fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    // A program for another system may meet any glibc.
    let is_native = variable("HOST") == variable("TARGET");
    let is_glibc = variable("TARGET").ends_with("-linux-gnu");
    if is_native && is_glibc && glibc().is_some_and(|version| version >= NEEDED) {
        // A linker that does not know the option ignores it, with a warning.
        println!("cargo:rustc-link-arg-bin=avocet=-Wl,-z,pack-relative-relocs");
    }
}

/// Returns the version of glibc here; `None` if it cannot be found out.
fn glibc() -> Option<(u32, u32)> {
    let output = Command::new("getconf").arg("GNU_LIBC_VERSION").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let (major, minor) = text.trim().strip_prefix("glibc ")?.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}
