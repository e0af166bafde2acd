use super::*;

#[tokio::test]
async fn system_resolve_needs_no_request_for_an_address_or_an_invalid_name() {
    let loopback: IpAddr = "127.0.0.1".parse().unwrap();
    assert_eq!(SystemResolver.resolve_name("127.0.0.1").await, [loopback]);
    assert!(SystemResolver.resolve_name("a\0.dev").await.is_empty(), "it is no name");
}

#[tokio::test]
async fn judged_resolve_returns_the_judged_addresses_for_every_name() {
    let judged: Vec<SocketAddr> = vec!["8.8.8.8:80".parse().unwrap(), "[::1]:80".parse().unwrap()];
    let resolve =
        reqwest::dns::Resolve::resolve(&JudgedResolver(judged.clone()), "a.dev".parse().unwrap());
    assert_eq!(resolve.await.map_err(drop).unwrap().collect::<Vec<_>>(), judged);
}
