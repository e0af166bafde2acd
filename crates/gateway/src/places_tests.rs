use avocet_testkit::ManualClock;

use super::*;

const SECOND: Duration = Duration::from_secs(1);

struct Room {
    clock: Arc<ManualClock>,
    places: Arc<Places>,
}

impl Room {
    fn new() -> Self {
        let clock = Arc::<ManualClock>::default();
        Self { places: Places::new(clock.clone()), clock }
    }

    /// Opens connections one second apart.
    fn connect(&self, count: usize) -> Vec<Arc<ConnectionPlace>> {
        let connect = |_| {
            self.clock.advance(SECOND);
            self.places.take().unwrap()
        };
        (0..count).map(connect).collect()
    }
}

fn has_left(place: &ConnectionPlace) -> bool {
    place.leave.is_cancelled()
}

#[test]
fn take_closes_the_connection_that_was_idle_longest() {
    let room = Room::new();
    let all = room.connect(CONNECTIONS);
    // The first is busy, the second was busy until a moment ago, the third is attached.
    let busy = all[0].begin_request().unwrap();
    drop(all[1].begin_request().unwrap());
    all[2].mark_attached().unwrap();
    let more = room.connect(2);
    let left: Vec<usize> = (0..all.len()).filter(|place| has_left(&all[*place])).collect();
    assert_eq!(left, [3, 4]);
    assert!(
        all[3].begin_request().is_none() && all[3].mark_attached().is_err(),
        "a connection that makes room begins no request"
    );
    drop(busy);
    drop(more);
    assert_eq!(room.connect(2).iter().filter(|place| has_left(place)).count(), 0);
    assert!(!has_left(&all[0]), "the closed connections made enough room");
}

#[test]
fn take_refuses_a_connection_if_no_other_is_idle() {
    let room = Room::new();
    let all = room.connect(CONNECTIONS);
    all.iter().take(ATTACHED).for_each(|place| place.mark_attached().unwrap());
    let busy: Vec<_> =
        all.iter().skip(ATTACHED).map(|place| place.begin_request().unwrap()).collect();
    let full = room.places.take().unwrap_err();
    assert_eq!(full, Full { busy: CONNECTIONS - ATTACHED, attached: ATTACHED });
    assert!(all.iter().all(|place| !has_left(place)), "none with work under way is closed");
    drop(busy);
    room.places.take().unwrap();
    assert!(has_left(&all[ATTACHED]) && !has_left(&all[0]));
}

#[test]
fn attach_leaves_places_for_others() {
    let room = Room::new();
    let all = room.connect(ATTACHED + 1);
    all.iter().take(ATTACHED).for_each(|place| place.mark_attached().unwrap());
    all[0].mark_attached().unwrap();
    let refused = all[ATTACHED].mark_attached().unwrap_err();
    assert!(refused.contains("256 connections are attached"), "{refused}");
}
