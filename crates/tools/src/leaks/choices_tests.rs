use super::*;

/// Formats the bits of an address after these texts.
fn bits(texts: &[&str], address: &str) -> String {
    let seen: Seen = texts.iter().map(|text| (*text).to_owned()).collect();
    let bits = ReadTexts::new(&seen).bits_of_address(address, texts.len());
    bits.map_or_else(|| "none".to_owned(), |bits| bits.to_string())
}

fn page(links: std::ops::Range<u32>) -> String {
    links.map(|number| format!("[p{number}](https://s.dev/{number})\n")).collect()
}

#[test]
fn bits_of_address_are_the_logarithm_of_the_links_of_its_text() {
    let (sixteen, other) = (page(0..16), page(20..28));
    let mails: Vec<String> = (0..8).map(|number| page(number..number + 1)).collect();
    let mails: Vec<&str> = mails.iter().map(String::as_str).collect();
    let table: [(&str, &[&str], &str, &str); 18] = [
        ("the only link", &["see https://s.dev/a."], "https://s.dev/a", "0"),
        ("one of 16", &[&sixteen], "https://s.dev/3", "4"),
        ("the same page twice", &[&sixteen, &sixteen], "https://s.dev/3", "4"),
        ("the cheapest page counts", &[&sixteen, &other], "https://s.dev/21", "3"),
        ("as many texts as links", &mails, "https://s.dev/5", "3"),
        ("not listed", &[&sixteen], "https://s.dev/99", "none"),
        ("the same link twice", &["https://s.dev/a https://s.dev/a"], "https://s.dev/a", "0"),
        ("fragments", &["https://s.dev/a#1 https://s.dev/a#2"], "https://s.dev/a#2", "0"),
        ("a later end", &["https://s.dev/a,b,c,d"], "https://s.dev/a,b", "2"),
        ("the last end", &["https://s.dev/a,b,c,d"], "https://s.dev/a,b,c,d", "4"),
        ("brackets", &["(https://s.dev/a_(b))"], "https://s.dev/a_(b)", "3.2"),
        ("a link in a link", &["https://s.dev/?u=https://s.dev/b"], "https://s.dev/b", "1"),
        ("a port", &["http://s.dev:81/a http://s.dev:81/b"], "http://s.dev:81/a", "1"),
        ("colons", &["https://s.dev/a:1:2:3:4"], "https://s.dev/a:1:2:3", "4"),
        ("no scheme", &["http:s.dev/a"], "http:s.dev/a", "7.2"),
        ("in JSON", &["{\"c\":\"https://s.dev/a\\nhttps://s.dev/b\"}"], "https://s.dev/b", "1"),
        ("a mentioned host", &["a.s.dev b.s.dev, 3.5"], "https://a.s.dev/", "1.6"),
        ("a host of a link", &["https://a.s.dev/x https://b.s.dev/y"], "https://a.s.dev", "1"),
    ];
    for (name, texts, address, expected) in table {
        assert_eq!(bits(texts, address), expected, "{name}");
    }
}

#[test]
fn bits_of_address_count_only_the_texts_that_were_read_before() {
    let later = "only https://s.dev/3";
    let seen: Seen = [page(0..16), later.to_owned()].into_iter().collect();
    let texts = ReadTexts::new(&seen);
    let bits = |read| texts.bits_of_address("https://s.dev/3", read);
    assert_eq!(bits(0), None);
    assert_eq!(bits(1), Some(ChoiceBits::from_bits(4)));
    // Two texts have links now.
    assert_eq!(bits(2), Some(ChoiceBits::from_bits(1)));
}

#[test]
fn bits_of_links_are_those_of_m_among_n_for_each_text() {
    let seen: Seen = [page(0..16), page(100..116)].into_iter().collect();
    let texts = ReadTexts::new(&seen);
    let links = |numbers: &[u32]| -> BTreeSet<String> {
        numbers.iter().map(|number| format!("https://s.dev/{number}")).collect()
    };
    let table: [(&[u32], u32); 5] =
        [(&[], 0), (&[3], 4), (&[3, 4], 3), (&[3, 100], 8), (&[0, 1, 2, 3, 4, 5, 6, 7], 1)];
    for (numbers, expected) in table {
        let bits = texts.bits_of_links(&links(numbers), 2);
        assert_eq!(bits, ChoiceBits::from_bits(expected), "{numbers:?}");
    }
    let bare = BTreeSet::from(["s.dev/3".to_owned()]);
    assert!(texts.bits_of_links(&bare, 2) > ChoiceBits::from_bits(4));
}

#[test]
fn bits_of_label_are_those_of_its_characters() {
    assert_eq!(bits_of_label("ab").to_string(), "10.5");
}

#[test]
fn remove_address_leaves_a_choice_among_the_others() {
    let seen: Seen = [page(0..17), "https://s.dev/index".to_owned()].into_iter().collect();
    let mut texts = ReadTexts::new(&seen);
    texts.remove_address("https://s.dev/index#top");
    texts.remove_address("https://s.dev/9");
    assert_eq!(texts.bits_of_address("https://s.dev/3", 2), Some(ChoiceBits::from_bits(4)));
}
