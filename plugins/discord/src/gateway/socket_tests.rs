use tokio::io::AsyncReadExt;
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
    assert_eq!((socket.is_none(), first), (true, [HANDSHAKE]));
}
