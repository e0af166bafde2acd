//! Files of chunks.

use avocet_protocol::{LoadedFile, MAX_SENT_FILE_BYTES, Query};
use avocet_testkit::OnSend;

use super::world::{SECOND, World};
use crate::rules::AFTER_UNKNOWN;
use crate::worker::SEND_LIMIT;

#[tokio::test]
async fn deliverer_loads_the_bytes_of_a_file_for_its_chunk_only() {
    let world = World::new().await;
    world.files.put("out/report.pdf", b"%PDF");
    world.send_file("a", "here", "out/report.pdf").await;
    let taken = world.channel.taken(1).await;
    let file = LoadedFile { name: "report.pdf".to_owned(), bytes: b"%PDF".as_slice().into() };
    assert_eq!(taken[0].files, [file]);
    world.send("a", "and text").await;
    assert_eq!(world.channel.taken(2).await[1].files, []);
}

#[tokio::test]
async fn deliverer_abandons_an_unreadable_file_before_sending_and_names_it() {
    let world = World::new().await;
    world.files.put("large.bin", &vec![0; usize::try_from(MAX_SENT_FILE_BYTES).unwrap() + 1]);
    world.send_file("a", "gone", "gone.pdf").await;
    world.send_file("a", "large", "large.bin").await;
    let texts = world.channel.texts(2).await;
    assert!(texts[0].contains("could not send") && texts[0].contains("gone.pdf does not exist"));
    assert!(texts[1].contains("could not send") && texts[1].contains("large.bin is"), "{texts:?}");
    world.stop().await;
    let status = world.store.log_status().await.unwrap();
    assert_eq!((status.dead, status.pending, status.unconfirmed), (2, 0, 0));
}

#[tokio::test]
async fn deliverer_reports_a_deleted_file_that_may_have_arrived_as_unconfirmed() {
    let world = World::new().await;
    world.files.put("report.pdf", b"%PDF");
    world.channel.script([OnSend::TakeAndReset]);
    world.send_file("a", "here", "report.pdf").await;
    world.channel.taken(1).await;
    world.files.remove("report.pdf");
    world.pass(AFTER_UNKNOWN).await;
    assert!(world.channel.texts(2).await[1].starts_with("I could not confirm"));
    assert_eq!(world.store.log_status().await.unwrap().unconfirmed, 1);
}

#[tokio::test]
async fn send_timeout_is_longer_for_a_large_file() {
    let world = World::new().await;
    world.files.put("large.bin", &vec![0; 32 * 1024 * 1024]);
    world.channel.script([OnSend::Hang]);
    world.send_file("a", "here", "large.bin").await;
    world.clock.sleeper(SEND_LIMIT + 256 * SECOND).await;
}
