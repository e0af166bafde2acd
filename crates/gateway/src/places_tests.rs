use std::pin::Pin;

use avocet_testkit::ManualClock;

use super::*;

const SECOND: Duration = Duration::from_secs(1);

struct Room {
    clock: Arc<ManualClock>,
    places: Arc<ConnectionPlaces>,
}

impl Room {
    fn new() -> Self {
        let clock = Arc::<ManualClock>::default();
        Self { places: ConnectionPlaces::new(clock.clone(), CONNECTIONS), clock }
    }

    /// Opens connections one second apart.
    fn connect(&self, count: usize) -> Vec<Arc<ConnectionPlace>> {
        let connect = |_| {
            self.clock.advance(SECOND);
            self.places.take_place().unwrap()
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
    let full = room.places.take_place().unwrap_err();
    assert_eq!(full, NoPlace { busy: CONNECTIONS - ATTACHED, attached: ATTACHED });
    assert!(all.iter().all(|place| !has_left(place)), "none with work under way is closed");
    drop(busy);
    room.places.take_place().unwrap();
    assert!(has_left(&all[ATTACHED]) && !has_left(&all[0]));
}

async fn is_waiting(place: Pin<&mut impl Future<Output = Arc<ConnectionPlace>>>) -> bool {
    tokio::select! {
        biased;
        _ = place => false,
        () = std::future::ready(()) => true,
    }
}

#[tokio::test]
async fn wait_for_place_ends_when_a_connection_is_idle_or_closed() {
    let room = Room::new();
    let mut all = room.connect(CONNECTIONS);
    let mut busy: Vec<_> = all.iter().map(|place| place.begin_request().unwrap()).collect();
    let mut waits = std::pin::pin!(room.places.wait_for_place());
    assert!(is_waiting(waits.as_mut()).await, "all are busy");
    drop(busy.pop());
    let place = waits.await;
    assert!(has_left(&all[CONNECTIONS - 1]));
    let _request = place.begin_request().unwrap();
    let mut waits = std::pin::pin!(room.places.wait_for_place());
    assert!(is_waiting(waits.as_mut()).await, "all are busy again");
    busy.swap_remove(0);
    drop(all.swap_remove(0));
    waits.await;
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
