use super::*;

#[test]
fn a_listener_hears_of_its_key_until_it_has_gone() {
    let listeners = Listeners::<&str, u32>::default();
    let (one, other, third) = (listeners.add("a", 1), listeners.add("a", 1), listeners.add("b", 1));
    for listener in listeners.of(&"a") {
        listener.send(1).unwrap();
    }
    assert_eq!((one.try_recv(), other.try_recv()), (Ok(1), Ok(1)));
    assert!(third.is_empty());
    drop(one);
    assert_eq!(listeners.of(&"a").len(), 1);
    drop(other);
    assert_eq!(listeners.of(&"a").len(), 0);
    assert_eq!(listeners.len(), 1, "only b is left");
}

#[test]
fn of_those_who_have_gone_nothing_stays_even_if_their_keys_are_never_used_again() {
    let listeners = Listeners::<usize, u32>::default();
    let stay: Vec<_> = (0..10).map(|key| listeners.add(key, 1)).collect();
    for key in 10..100_000 {
        drop(listeners.add(key, 1));
        assert!(listeners.len() <= FEW.max(2 * stay.len()) + 1);
    }
    assert!((0..10).all(|key| listeners.of(&key).len() == 1), "who stays is kept");
}
