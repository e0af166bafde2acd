//! The timeouts of the proxy, and its limits of connections.

use std::time::Duration;

use futures_util::future::join_all;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use super::{World, rest, server, until};

#[tokio::test]
async fn proxy_times_out_at_an_incomplete_head() {
    let world = World::new(&["127.0.0.1:9".to_owned()], &[]);
    world
        .with(async {
            let mut program = world.connect().await;
            program.write_all(b"GET http://127.0.0.1:9/\r\n").await.unwrap();
            world.clock.sleeper(Duration::from_secs(10)).await;
            world.clock.advance(Duration::from_secs(10));
            let answer = until(&mut program, "\n\r\n").await;
            assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
        })
        .await;
}

#[tokio::test]
async fn proxy_times_out_at_an_idle_tunnel() {
    let (server, address) = server().await;
    let world = World::new(&[address.to_string()], &[]);
    world
        .with(async {
            let mut program = world.connect().await;
            let ask = format!("CONNECT {address} HTTP/1.1\r\n\r\n");
            program.write_all(ask.as_bytes()).await.unwrap();
            let (mut served, _) = server.accept().await.unwrap();
            until(&mut program, "\r\n\r\n").await;
            let five = Duration::from_mins(5);
            world.clock.sleeper(five).await;
            served.write_all(b"x").await.unwrap();
            until(&mut program, "x").await;
            world.clock.advance(five);
            // Bytes have moved, so the timeout begins again.
            world.clock.sleeper(five).await;
            served.write_all(b"y").await.unwrap();
            until(&mut program, "y").await;
            world.clock.advance(five);
            world.clock.sleeper(five).await;
            world.clock.advance(five);
            assert_eq!((rest(&mut program).await, rest(&mut served).await), Default::default());
        })
        .await;
}

#[tokio::test]
async fn proxy_limits_the_connections_of_a_program_and_lets_the_next_wait() {
    const MOST: usize = 32;
    let (server, address) = server().await;
    let world = World::new(&[address.to_string()], &[]);
    world
        .with(async {
            let ask = format!("CONNECT {address} HTTP/1.1\r\n\r\n");
            let mut tunnels = Vec::new();
            for _ in 0..MOST {
                let mut program = world.connect().await;
                program.write_all(ask.as_bytes()).await.unwrap();
                until(&mut program, "\r\n\r\n").await;
                tunnels.push((program, server.accept().await.unwrap()));
            }
            let mut waits = world.connect().await;
            waits.write_all(ask.as_bytes()).await.unwrap();
            // The open connections are served meanwhile, but the new one waits.
            let (program, (served, _)) = tunnels.first_mut().unwrap();
            served.write_all(b"x").await.unwrap();
            until(program, "x").await;
            assert_eq!(world.reached.lock().len(), MOST);
            drop(tunnels.pop());
            assert!(until(&mut waits, "\r\n\r\n").await.starts_with("HTTP/1.1 200 "));
        })
        .await;
    assert_eq!(world.reached().len(), MOST + 1);
}

#[tokio::test]
async fn proxy_limits_the_connections_of_all_programs_and_lets_the_next_wait() {
    const MOST: usize = 128;
    let (server, address) = server().await;
    let World { proxy, reached, .. } = World::new(&[address.to_string()], &[]);
    let on_reached = |to: &str| reached.lock().push(to.to_owned());
    let listeners = [(); 5].map(|()| std::net::TcpListener::bind("127.0.0.1:0").unwrap());
    let serving =
        listeners.iter().map(|one| proxy.serve_listener(one.try_clone().unwrap(), &on_reached));
    let connect = |listener: &std::net::TcpListener| {
        let to = listener.local_addr().unwrap();
        async move {
            let mut program = TcpStream::connect(to).await.unwrap();
            let ask = format!("CONNECT {address} HTTP/1.1\r\n\r\n");
            program.write_all(ask.as_bytes()).await.unwrap();
            program
        }
    };
    let work = async {
        let [first @ .., last] = &listeners;
        let mut tunnels = Vec::new();
        for number in 0..MOST {
            let mut program = connect(&first[number % first.len()]).await;
            until(&mut program, "\r\n\r\n").await;
            tunnels.push((program, server.accept().await.unwrap()));
        }
        let mut waits = connect(last).await;
        // The open connections are served meanwhile, but the new one waits.
        let (program, (served, _)) = tunnels.first_mut().unwrap();
        served.write_all(b"x").await.unwrap();
        until(program, "x").await;
        assert_eq!(reached.lock().len(), MOST);
        drop(tunnels.pop());
        assert!(until(&mut waits, "\r\n\r\n").await.starts_with("HTTP/1.1 200 "));
    };
    tokio::select! {
        ended = join_all(serving) => panic!("they do not end by themselves: {ended:?}"),
        () = work => {}
    }
}

#[tokio::test]
async fn proxy_drop_closes_every_connection() {
    let (server, address) = server().await;
    let world = World::new(&[address.to_string()], &[]);
    let (mut program, mut served) = world
        .with(async {
            let mut program = world.connect().await;
            let ask = format!("CONNECT {address} HTTP/1.1\r\n\r\n");
            program.write_all(ask.as_bytes()).await.unwrap();
            let (served, _) = server.accept().await.unwrap();
            until(&mut program, "\r\n\r\n").await;
            (program, served)
        })
        .await;
    assert_eq!((rest(&mut program).await, rest(&mut served).await), Default::default());
}
