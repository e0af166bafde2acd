//! Swaps a directory or file of the workspace for a link to a victim as fast as possible, while
//! every operation works below it. `swaps.rs` tries each moment of an operation once; this test tries
//! many moments, and several swaps in one operation. `AVOCET_SWAPS` sets the number.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::operations::OPERATIONS;
use super::world::{CANARY, KINDS, RootKind, World};

/// The default for the least number of swaps of each pair.
const SWAPS: u64 = 2000;

/// The paths `a` and `b`, which are swapped, and the paths that operations are given meanwhile.
#[derive(Debug)]
pub(crate) struct SwappedPaths {
    /// The steps that make `a` and `b`.
    pub(crate) steps: &'static [&'static str],
    pub(crate) paths: &'static [&'static str],
}

/// A directory and a link to the victim's, a file and a link to the victim's, a directory and a link
/// to secrets of the workspace.
pub(crate) const PATHS: [SwappedPaths; 3] = [
    SwappedPaths {
        steps: &["file a/secret.txt", "directory a/directory", "link b -> $VICTIM"],
        paths: &["a", "a/secret.txt", "a/directory", "a/directory/inner.txt"],
    },
    SwappedPaths { steps: &["file a", "link b -> $VICTIM/secret.txt"], paths: &["a"] },
    SwappedPaths {
        steps: &["file a/config", "secret .ssh/config", "link b -> .ssh"],
        paths: &["a/config"],
    },
];

#[test]
fn workspace_withstands_races_on_paths() {
    #[expect(clippy::disallowed_methods, reason = "how often is set from outside")]
    let least = std::env::var("AVOCET_SWAPS").map_or(SWAPS, |swaps| swaps.parse().unwrap());
    let (mut swaps, mut done, mut refused) = (0, 0, 0);
    for (kind, SwappedPaths { steps, paths }) in
        KINDS.into_iter().flat_map(|kind| PATHS.iter().map(move |paths| (kind, paths)))
    {
        let counts = race(kind, steps, paths, least);
        (swaps, done, refused) = (swaps + counts.0, done + counts.1, refused + counts.2);
    }
    println!("{swaps} swaps, {done} operations done, {refused} refused, no harm");
}

#[test]
fn workspace_of_an_ordinary_user_withstands_races_on_paths() {
    super::as_an_ordinary_user("race::workspace_withstands_races_on_paths");
}

/// Returns the numbers of swaps, and of operations done and refused.
fn race(kind: RootKind, steps: &[&str], paths: &[&str], least: u64) -> (u64, u64, u64) {
    let world = World::new(true, kind);
    steps.iter().try_for_each(|step| world.make(step)).unwrap();
    let before = world.state();
    let root = world.root();
    let (swaps, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
    let (mut done, mut refused) = (0, 0);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                let (a, b) = (root.join("a"), root.join("b"));
                if renameat_with(CWD, &a, CWD, &b, RenameFlags::EXCHANGE).is_ok() {
                    swaps.fetch_add(1, Ordering::Relaxed);
                } else {
                    mend(&world, steps);
                }
            }
        });
        let roots = world.open();
        while swaps.load(Ordering::Relaxed) < least {
            for (name, operation) in OPERATIONS {
                for given in paths {
                    let given = world.given(given);
                    let one = roots.root_of(&given).unwrap();
                    let result = operation(one, &one.resolve_path(&given).unwrap());
                    *(if result.is_ok() { &mut done } else { &mut refused }) += 1;
                    let said = format!("{result:?}");
                    if said.contains(CANARY) {
                        is_over.store(true, Ordering::Relaxed);
                        panic!("{name} of {given}: {said}");
                    }
                }
            }
        }
        is_over.store(true, Ordering::Relaxed);
    });
    let after = world.state();
    assert_eq!(before, after, "{steps:?}");
    (swaps.into_inner(), done, refused)
}

/// Restores everything that an operation has removed.
fn mend(world: &World, steps: &[&str]) {
    for step in ["remove a", "remove b"] {
        world.make(step).unwrap_or_default();
    }
    for step in steps.iter().filter(|step| !step.starts_with("secret")) {
        // An operation may be making the same path just now.
        world.make(step).unwrap_or_default();
    }
}
