//! The end of a login in a browser of this machine: a port on the loopback interface (RFC 8252,
//! section 7.3).

use std::io;
use std::sync::Arc;
use std::time::Duration;

use avocet_protocol::clock::{Clock, within};
use avocet_protocol::ignore_result;
use avocet_supervise::Group;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

use super::login::PendingLogin;

const PATH: &str = "/callback";
/// Bytes of the head of a request.
const LONGEST_HEAD: usize = 16 * 1024;
/// The time of a connection.
const LIMIT: Duration = Duration::from_secs(10);

/// The port that the browser returns to.
#[derive(Debug)]
pub struct CallbackListener {
    listener: TcpListener,
    port: u16,
    clock: Arc<dyn Clock>,
    group: Group,
}

impl CallbackListener {
    /// Opens the port; 0 opens any free one.
    ///
    /// # Errors
    /// The error of the system, such as a port in use.
    pub async fn open(port: u16, clock: Arc<dyn Clock>, group: Group) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", port)).await?;
        let port = listener.local_addr()?.port();
        Ok(Self { listener, port, clock, group })
    }

    /// The address that the browser returns to.
    #[must_use]
    pub fn redirect_address(&self) -> String {
        format!("http://127.0.0.1:{}{PATH}", self.port)
    }

    /// Waits for the browser, and returns the query of its request. Requests of others are refused.
    ///
    /// # Errors
    /// The error of the system if no connection can be accepted.
    pub async fn receive_query(&self, login: &PendingLogin) -> io::Result<String> {
        let (sender, mut received) = mpsc::channel::<(String, TcpStream)>(1);
        loop {
            let stream = tokio::select! {
                accepted = self.listener.accept() => accepted?.0,
                Some((query, stream)) = received.recv() => {
                    let is_ours = login.is_state(&query);
                    self.answer_browser(stream, is_ours).await;
                    if is_ours {
                        return Ok(query);
                    }
                    continue;
                }
            };
            let (sender, clock) = (sender.clone(), self.clock.clone());
            self.group.spawn("login in a browser", async move {
                // A browser may open connections that it never uses.
                if let Ok(Some(request)) = within(clock.as_ref(), LIMIT, query_of(stream)).await {
                    ignore_result(
                        sender.send(request).await,
                        "the login has ended with another request",
                    );
                }
            });
        }
    }

    async fn answer_browser(&self, stream: TcpStream, is_ours: bool) {
        let page = if is_ours {
            response_page("200 OK", "Avocet has received the login. Return to the terminal.")
        } else {
            response_page("400 Bad Request", "This address is of another login.")
        };
        ignore_result(
            within(self.clock.as_ref(), LIMIT, write(stream, page)).await,
            "the login has arrived, also if the browser does not read the page",
        );
    }
}

/// Reads a request, and returns the query of the callback. Others get the answer 404.
async fn query_of(mut stream: TcpStream) -> Option<(String, TcpStream)> {
    let mut head = Vec::new();
    let mut part = [0; 2048];
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        let count = stream.read(&mut part).await.ok()?;
        head.extend_from_slice(part.get(..count)?);
        if count == 0 || head.len() > LONGEST_HEAD {
            return None;
        }
    }
    let head = String::from_utf8_lossy(&head);
    let target = head.strip_prefix("GET ")?.split([' ', '\r']).next()?;
    match target.split_once('?') {
        Some((PATH, query)) => Some((query.to_owned(), stream)),
        _ => {
            write(stream, response_page("404 Not Found", "There is no such page.")).await;
            None
        }
    }
}

async fn write(mut stream: TcpStream, page: String) {
    ignore_result(stream.write_all(page.as_bytes()).await, "the browser may be gone");
    ignore_result(stream.shutdown().await, "the browser may be gone");
}

fn response_page(status: &str, text: &str) -> String {
    let body = format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Avocet</title><p>{text}</p></html>\n"
    );
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: text/html; charset=utf-8\r\ncontent-length: {}\r\n\
         cache-control: no-store\r\nreferrer-policy: no-referrer\r\n\
         content-security-policy: default-src 'none'\r\nconnection: close\r\n\r\n{body}",
        body.len()
    )
}
