//! Swaps a directory or file of the workspace for a link to a victim as fast as possible, while
//! every operation works below it.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::operations::OPERATIONS;
use super::world::{CANARY, KINDS, RootKind, World};

/// Minimum number of swaps of each pair.
const SWAPS: usize = 100_000;

#[test]
fn workspace_withstands_races_on_paths() {
    // The pairs: a directory and a link to the victim's, a file and a link to the victim's, a
    // directory and a link to secrets of the workspace.
    let victims: [(&[&str], &[&str]); 3] = [
        (
            &["file a/secret.txt", "directory a/directory", "link b -> $VICTIM"],
            &["a", "a/secret.txt", "a/directory", "a/directory/inner.txt"],
        ),
        (&["file a", "link b -> $VICTIM/secret.txt"], &["a"]),
        (&["file a/config", "secret .ssh/config", "link b -> .ssh"], &["a/config"]),
    ];
    let (mut swaps, mut done, mut refused) = (0, 0, 0);
    for (kind, (steps, paths)) in KINDS.into_iter().flat_map(|kind| victims.map(|it| (kind, it))) {
        let counts = race(kind, steps, paths);
        assert!(counts.1 > 0 && counts.2 > 0, "{kind:?} {steps:?} {counts:?}");
        (swaps, done, refused) = (swaps + counts.0, done + counts.1, refused + counts.2);
    }
    println!("{swaps} swaps, {done} operations done, {refused} refused, no harm");
}

#[test]
fn workspace_of_an_ordinary_user_withstands_races_on_paths() {
    super::as_an_ordinary_user("race::workspace_withstands_races_on_paths");
}

/// Returns the numbers of swaps, and of operations done and refused.
fn race(kind: RootKind, steps: &[&str], paths: &[&str]) -> (usize, usize, usize) {
    let world = World::new(true, kind);
    steps.iter().try_for_each(|step| world.make(step)).unwrap();
    let before = world.state();
    let root = world.root();
    let (swaps, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
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
        while swaps.load(Ordering::Relaxed) < SWAPS {
            for (name, operation) in OPERATIONS {
                for given in paths {
                    let given = world.given(given);
                    let one = roots.of(&given).unwrap();
                    let result = operation(one, &one.resolve(&given).unwrap());
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
