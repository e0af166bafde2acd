use reqwest::header::HeaderMap;

use super::*;

/// A plain URL needs no certificate, so a daemon with a model on its own network reads none.
#[test]
fn pool_for_makes_each_pool_at_its_first_url() {
    let pools = ConnectionPools::new(HeaderMap::new(), None);
    let is_made = |pools: &ConnectionPools| {
        (pools.0.plain.get().is_some(), pools.0.encrypted.get().is_some())
    };
    let steps = [
        (None, (false, false)),
        (Some("http://127.0.0.1:11434/api/chat"), (true, false)),
        (Some("HTTP://model.example/"), (true, false)),
        (Some("https://model.example/"), (true, true)),
    ];
    for (url, made) in steps {
        if let Some(url) = url {
            pools.pool_for(url).unwrap();
        }
        assert_eq!(is_made(&pools), made, "{url:?}");
    }
}

#[test]
fn pool_for_gives_other_urls_the_pool_that_checks_certificates() {
    for url in ["https://model.example/", "http", "httpx://a/", "", "hütte://a/"] {
        let pools = ConnectionPools::new(HeaderMap::new(), None);
        pools.pool_for(url).unwrap();
        assert!(pools.0.plain.get().is_none(), "{url}");
    }
}
