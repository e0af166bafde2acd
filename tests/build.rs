//! Links the programs under test to a fixed address. Tests start them ten thousand times, and a debug build that
//! may lie anywhere adjusts half a million addresses at each start, which takes longer than all else.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-link-arg-bin=avocet-under-test=-no-pie");
}
