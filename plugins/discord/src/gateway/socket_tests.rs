use avocet_testkit::ClosedPort;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::*;

/// The type of the first TLS record in a handshake (RFC 8446, "Record Protocol").
const HANDSHAKE: u8 = 22;

#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "the test needs a client without settings")]
async fn connect_to_a_wss_address_begins_a_tls_handshake() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("wss://{}", listener.local_addr().unwrap());
    let server = async {
        let mut first = [0; 1];
        listener.accept().await.unwrap().0.read_exact(&mut first).await.unwrap();
        first
    };
    let client = Client::builder().no_proxy().build().unwrap();
    let (socket, first) = tokio::join!(Socket::connect(&client, &address), server);
    assert_eq!((socket.is_err(), first), (true, [HANDSHAKE]));
}

#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "the test needs a client without settings")]
async fn connect_names_the_cause_of_a_failure() {
    let client = Client::builder().no_proxy().build().unwrap();
    let answers = [
        ("HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n", "HTTP 403"),
        (
            "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n",
            "the other side speaks no websocket",
        ),
    ];
    for (answer, expected) in answers {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("ws://{}", listener.local_addr().unwrap());
        let server = async {
            let mut connection = listener.accept().await.unwrap().0;
            assert!(connection.read(&mut [0; 4096]).await.unwrap() > 0);
            connection.write_all(answer.as_bytes()).await.unwrap();
            connection
        };
        let (socket, _connection) = tokio::join!(Socket::connect(&client, &address), server);
        assert_eq!(socket.err().as_deref(), Some(expected));
    }
    let closed = ClosedPort::bind();
    let refused = Socket::connect(&client, &format!("ws://{closed}")).await.err();
    assert_eq!(refused.as_deref(), Some("Connection refused"));
    let wrong = Socket::connect(&client, "http://127.0.0.1:1").await.err();
    assert_eq!(wrong.as_deref(), Some("the address is not that of a websocket"));
}
