use super::*;

#[tokio::test]
async fn the_system_resolves_without_asking_anybody_what_needs_nobody() {
    let loopback: IpAddr = "127.0.0.1".parse().unwrap();
    assert_eq!(System.resolve("127.0.0.1").await, [loopback]);
    assert!(System.resolve("a\0.dev").await.is_empty(), "it is no name");
}

#[tokio::test]
async fn a_judged_address_is_the_answer_to_every_name() {
    let judged: Vec<SocketAddr> = vec!["8.8.8.8:80".parse().unwrap(), "[::1]:80".parse().unwrap()];
    let resolve = reqwest::dns::Resolve::resolve(&Judged(judged.clone()), "a.dev".parse().unwrap());
    assert_eq!(resolve.await.map_err(drop).unwrap().collect::<Vec<_>>(), judged);
}
