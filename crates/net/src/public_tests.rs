use std::collections::BTreeMap;

use async_trait::async_trait;

use super::*;
use crate::HttpClient;

#[derive(Debug)]
struct FixedResolver(Vec<(&'static str, Vec<&'static str>)>);

#[async_trait]
impl ResolveNames for FixedResolver {
    async fn resolve_name(&self, name: &str) -> Vec<IpAddr> {
        let known = self.0.iter().filter(|(known, _)| *known == name);
        known.flat_map(|(_, found)| found).map(|address| address.parse().unwrap()).collect()
    }
}

fn public(names: Vec<(&'static str, Vec<&'static str>)>) -> PublicOnly {
    let own: Vec<IpAddr> = vec!["93.184.216.34".parse().unwrap()];
    PublicOnly { own: Arc::new(own), resolver: Arc::new(FixedResolver(names)) }
}

#[tokio::test]
async fn public_resolve_returns_only_public_addresses_or_an_error() {
    for (found, expected) in [
        (vec!["93.184.216.35", "2606:2800:220:1::1"], None),
        (
            vec!["93.184.216.35", "127.0.0.1"],
            Some("http://a.org is refused: 127.0.0.1 is not public"),
        ),
        (vec!["10.0.0.8"], Some("10.0.0.8 is not public")),
        (vec!["169.254.169.254"], Some("169.254.169.254 is not public")),
        (vec!["::ffff:192.168.1.1"], Some("is not public")),
        (vec!["93.184.216.34"], Some("an address of this host")),
        (vec![], Some("no address")),
    ] {
        let resolver = public(vec![("a.org", found.clone())]);
        let resolved = reqwest::dns::Resolve::resolve(&resolver, "a.org".parse().unwrap()).await;
        match (resolved, expected) {
            (Ok(addresses), None) => {
                let addresses: Vec<_> = addresses.map(|one| one.ip().to_string()).collect();
                assert_eq!(addresses, found);
            }
            (Err(error), Some(expected)) => {
                assert!(error.to_string().contains(expected), "{error}");
            }
            (Ok(_), Some(_)) => panic!("{found:?} may not be reached"),
            (Err(error), None) => panic!("{found:?}: {error}"),
        }
    }
}

/// The server would answer, so an error proves that no request was sent.
#[tokio::test]
async fn public_client_sends_no_request_to_a_private_address() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    let public = public(vec![("a.org", vec!["127.0.0.1"])]);
    let client = HttpClient::with_pools(&BTreeMap::new(), Some(public)).unwrap();
    for (host, expected) in [
        ("127.0.0.1", "127.0.0.1 is not public"),
        ("[::1]", "::1 is not public"),
        ("2130706433", "127.0.0.1 is not public"),
        ("localhost", "a local name"),
        ("me@a.org", "a user name in the URL"),
        ("a.org", "127.0.0.1 is not public"),
    ] {
        let url = format!("http://{host}:{port}/v1");
        let error = client.get(&url, &[]).await.unwrap_err().to_string();
        assert!(error.contains(expected), "{host}: {error}");
        let error = client.post_json(&url, &[], Vec::new()).await.unwrap_err().to_string();
        assert!(error.contains(expected), "{host}: {error}");
    }
    assert_eq!(listener.accept().unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
}

#[test]
fn check_public_url_refuses_a_local_url_before_any_request() {
    for (url, expected) in [
        ("https://models.a.org/v1", ""),
        ("ftp://models.a.org", "it must begin with http"),
        ("http://192.168.1.7:8080/v1", "192.168.1.7 is not public"),
        ("http://localhost:11434/v1", "a local name"),
    ] {
        let said = check_public_url(url).map_or_else(|error| error.to_string(), |()| String::new());
        assert!(
            if expected.is_empty() { said.is_empty() } else { said.contains(expected) },
            "{said}"
        );
    }
}
