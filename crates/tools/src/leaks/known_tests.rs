use super::*;

fn seen(people: &[&str], texts: &[&str]) -> Seen {
    let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    Seen { people: owned(people), texts: owned(texts), ..Seen::default() }
}

#[test]
fn new_host_asks_unless_a_person_the_configuration_or_a_link_of_the_site_names_it() {
    let seen = seen(
        &["Look at https://www.shop.example/deals, at heise.de and write to me@firm.example."],
        &["[more](https://docs.shop.example/more) [plain](https://blog.shop.example) \
              [other](https://other.example/x) [ab](https://ab.docs.evil-site.com/)"],
    );
    let configured = ["search.example".to_owned(), "*.crates.io".to_owned()];
    let mut known = KnownHosts::new(&seen, &configured);
    known.add_reached("reached.github.io");
    known.add_found("https://found.example/page");
    let asks = [
        "https://ab.docs.evil-site.com/",
        "https://other.example/x",
        "https://other.example/",
        "https://x.shop.example/",
        "https://docs.shop.example/other",
        "https://docs.firm.example/",
        "https://found.example/",
        "https://found.example/page?d=1",
        "https://crates.io/",
        "https://other.github.io/",
        "https://github.io/",
        "http://203.0.113.7/",
    ];
    for url in asks {
        assert_eq!(known.new_host(url), Some(NewHost::Unnamed), "{url}");
    }
    let passes = [
        "https://shop.example/",
        "https://www.shop.example/anything",
        "HTTPS://SHOP.EXAMPLE/",
        "https://heise.de",
        "https://firm.example/",
        "https://docs.shop.example/more",
        "https://blog.shop.example",
        "https://blog.shop.example/",
        "https://search.example/?q=1",
        "https://static.crates.io/x",
        "https://found.example/page",
        "https://reached.github.io/",
        "no URL",
        "https://",
    ];
    for url in passes {
        assert_eq!(known.new_host(url), None, "{url}");
    }
}

#[test]
fn new_host_asks_after_too_many_unnamed_hosts() {
    let links: Vec<String> =
        (0..9).map(|number| format!("https://d{number}.shop.example/")).collect();
    let seen = seen(&["https://shop.example"], &[&links.join(" ")]);
    let mut known = KnownHosts::new(&seen, &[]);
    for (number, link) in links.iter().enumerate() {
        let expected = (number >= NEW_HOSTS).then_some(NewHost::TooMany);
        assert_eq!(known.new_host(link), expected, "{link}");
        known.add_in_turn(&format!("d{number}.shop.example"));
    }
    assert_eq!(known.new_host("https://shop.example/"), None, "it is named");
    known.add_reached("d7.shop.example");
    assert_eq!(known.new_host(&links[7]), None, "its name has been looked up already");
}

#[test]
fn is_known_compares_the_words_of_a_query() {
    let seen = seen(&["Which pizza oven is best?", "In 2026, I mean."], &["nonsenseword"]);
    let known = KnownHosts::new(&seen, &[]);
    for (query, expected) in [
        ("best pizza oven 2026", true),
        ("Best \"pizza oven\"", true),
        ("", true),
        ("pizza nonsenseword", false),
        ("pizza ovens", false),
    ] {
        assert_eq!(known.is_known(query), expected, "{query}");
    }
}
