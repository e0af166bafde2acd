use super::*;

#[test]
fn listeners_of_returns_the_listeners_of_a_key_until_they_are_dropped() {
    let listeners = KeyedListeners::<&str, u32>::default();
    let (one, other, third) = (
        listeners.add_listener("a", 1),
        listeners.add_listener("a", 1),
        listeners.add_listener("b", 1),
    );
    for listener in listeners.listeners_of(&"a") {
        listener.send(1).unwrap();
    }
    assert_eq!((one.try_recv(), other.try_recv()), (Ok(1), Ok(1)));
    assert!(third.is_empty());
    drop(one);
    assert_eq!(listeners.listeners_of(&"a").len(), 1);
    drop(other);
    assert_eq!(listeners.listeners_of(&"a").len(), 0);
    assert_eq!(listeners.len(), 1, "only b is left");
}

#[test]
fn listeners_add_removes_dropped_listeners_of_unused_keys() {
    let listeners = KeyedListeners::<usize, u32>::default();
    let stay: Vec<_> = (0..10).map(|key| listeners.add_listener(key, 1)).collect();
    for key in 10..100_000 {
        drop(listeners.add_listener(key, 1));
        assert!(listeners.len() <= FEW.max(2 * stay.len()) + 1);
    }
    assert!((0..10).all(|key| listeners.listeners_of(&key).len() == 1), "who stays is kept");
}

#[test]
fn are_present_counts_only_listeners_that_have_not_left() {
    let listeners = KeyedListeners::<&str, u32>::default();
    assert!(!listeners.are_present());
    let (one, other) = (listeners.add_listener("a", 1), listeners.add_listener("b", 1));
    drop(one);
    assert!(listeners.are_present());
    drop(other);
    assert!(!listeners.are_present() && listeners.is_empty());
}
