//! Fetches the files that programs name by their addresses, through the guarded client.

use std::sync::Arc;

use async_trait::async_trait;
use avocet_net::{FetchError as WebError, FetchLimits, GuardedClient, InterfaceAddresses};
use avocet_protocol::channel::{AddressFile, FetchAddress, FetchError};
use avocet_protocol::clock::Clock;

/// Fetches files as the tool `web_fetch` fetches pages.
#[derive(Debug)]
pub(crate) struct AddressFiles {
    own: Arc<InterfaceAddresses>,
    clock: Arc<dyn Clock>,
    otherwise: fn(GuardedClient) -> GuardedClient,
}

impl AddressFiles {
    /// Makes the fetcher. Tests change its client with `otherwise`.
    pub(crate) fn new(
        clock: Arc<dyn Clock>,
        otherwise: fn(GuardedClient) -> GuardedClient,
    ) -> Self {
        Self { own: Arc::new(InterfaceAddresses::default()), clock, otherwise }
    }
}

#[async_trait]
impl FetchAddress for AddressFiles {
    async fn fetch_address(&self, url: &str, limit: u64) -> Result<AddressFile, FetchError> {
        let body = usize::try_from(limit).unwrap_or(usize::MAX);
        let limits = FetchLimits { body, ..FetchLimits::default() };
        let client = GuardedClient::new(self.own.clone(), self.clock.clone(), limits);
        let client = (self.otherwise)(client);
        let page = client.get(url, &[("accept", "*/*")]).await.map_err(|error| match error {
            WebError::Long(_) => FetchError::TooLarge { limit },
            WebError::Refused(refusal) => FetchError::Gone(refusal.to_string()),
            error => FetchError::Failed(error.to_string()),
        })?;
        if !(200..300).contains(&page.status) {
            return Err(FetchError::Gone(format!("the server answers with {}", page.status)));
        }
        let media = page.content_type.as_deref().and_then(|media| media.split(';').next());
        let media = media.map(str::trim).filter(|media| !media.is_empty());
        let name = page.url.path_segments().and_then(|mut parts| parts.next_back());
        Ok(AddressFile {
            name: name.unwrap_or_default().to_owned(),
            media_type: media.map(str::to_owned),
            bytes: page.body,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{SocketAddr, TcpListener};
    use std::sync::OnceLock;

    use avocet_supervise::Group;
    use avocet_testkit::ManualClock;

    use super::*;

    /// The one server of this test, which the client may reach.
    static SERVER: OnceLock<SocketAddr> = OnceLock::new();

    /// Serves a picture, a missing page and a redirect to this host.
    fn serve() -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let serve = move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let mut head = [0; 4096];
                let length = stream.read(&mut head).unwrap();
                let head = String::from_utf8_lossy(&head[..length]).into_owned();
                let answer = match head.split(' ').nth(1).unwrap_or_default() {
                    "/a/cat.png?x=1" => {
                        "200 OK\r\nContent-Type: image/png; x=y\r\nContent-Length: 3\r\n\r\npng"
                    }
                    "/elsewhere" => {
                        "302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n"
                    }
                    _ => "404 Not Found\r\nContent-Length: 0\r\n\r\n",
                };
                let answer = answer.replacen("\r\n", "\r\nConnection: close\r\n", 1);
                stream.write_all(format!("HTTP/1.1 {answer}").as_bytes()).unwrap();
            }
        };
        Group::new("server").spawn_thread("server", serve).unwrap();
        address
    }

    #[tokio::test]
    async fn fetch_address_reads_a_file_or_names_the_reason() {
        let server = *SERVER.get_or_init(serve);
        let clock = Arc::<ManualClock>::default();
        let files =
            AddressFiles::new(clock, |client| client.with_allowed(*SERVER.get_or_init(serve)));
        let fetch = async |url: &str, limit: u64| files.fetch_address(url, limit).await;
        let picture = format!("http://{server}/a/cat.png?x=1");
        let expected = AddressFile {
            name: "cat.png".to_owned(),
            media_type: Some("image/png".to_owned()),
            bytes: b"png".to_vec(),
        };
        assert_eq!(fetch(&picture, 3).await, Ok(expected));
        assert_eq!(fetch(&picture, 2).await, Err(FetchError::TooLarge { limit: 2 }));
        let missing = fetch(&format!("http://{server}/none"), 9).await;
        assert_eq!(missing, Err(FetchError::Gone("the server answers with 404".to_owned())));
        for url in [&format!("http://{server}/elsewhere"), "http://10.0.0.1/", "file:///etc/passwd"]
        {
            let refused = fetch(url, 9).await;
            assert!(matches!(refused, Err(FetchError::Gone(_))), "{url}: {refused:?}");
        }
    }
}
