//! Files of chunks.

use avocet_protocol::chat::{Attachment, LoadedFile, MAX_SENT_FILE_BYTES};
use avocet_protocol::ids::TurnId;
use avocet_protocol::store::Query;
use avocet_testkit::{FakeChannel, OnSend};

use super::world::{DeliveryHarness, SECOND};
use crate::rules::AFTER_UNKNOWN;
use crate::worker::SEND_LIMIT;

#[tokio::test]
async fn deliverer_loads_the_bytes_of_a_file_for_its_chunk_only() {
    let harness = DeliveryHarness::new().await;
    harness.files.put("out/report.pdf", b"%PDF");
    harness.send_file("a", "here", "out/report.pdf").await;
    let taken = harness.channel.taken(1).await;
    let file = LoadedFile { name: "report.pdf".to_owned(), bytes: b"%PDF".as_slice().into() };
    assert_eq!(taken[0].files, [file]);
    harness.send("a", "and text").await;
    assert_eq!(harness.channel.taken(2).await[1].files, []);
}

#[tokio::test]
async fn deliverer_abandons_an_unreadable_file_before_sending_and_names_it() {
    let harness = DeliveryHarness::new().await;
    harness.files.put("large.bin", &vec![0; usize::try_from(MAX_SENT_FILE_BYTES).unwrap() + 1]);
    harness.send_file("a", "gone", "gone.pdf").await;
    harness.send_file("a", "large", "large.bin").await;
    let texts = harness.channel.texts(2).await;
    assert!(texts[0].contains("could not send") && texts[0].contains("gone.pdf does not exist"));
    assert!(texts[1].contains("could not send") && texts[1].contains("large.bin is"), "{texts:?}");
    harness.stop().await;
    let status = harness.store.log_status().await.unwrap();
    assert_eq!((status.dead, status.pending, status.unconfirmed), (2, 0, 0));
}

#[tokio::test]
async fn deliverer_reports_a_deleted_file_that_may_have_arrived_as_unconfirmed() {
    let harness = DeliveryHarness::new().await;
    harness.files.put("report.pdf", b"%PDF");
    harness.channel.script([OnSend::TakeAndReset]);
    harness.send_file("a", "here", "report.pdf").await;
    harness.channel.taken(1).await;
    harness.files.remove("report.pdf");
    harness.pass_time(AFTER_UNKNOWN).await;
    assert!(harness.channel.texts(2).await[1].starts_with("I could not confirm"));
    assert_eq!(harness.store.log_status().await.unwrap().unconfirmed, 1);
}

#[tokio::test]
async fn send_timeout_is_longer_for_a_large_file() {
    let harness = DeliveryHarness::new().await;
    harness.files.put("large.bin", &vec![0; 32 * 1024 * 1024]);
    harness.channel.script([OnSend::Hang]);
    harness.send_file("a", "here", "large.bin").await;
    harness.clock.sleeper(SEND_LIMIT + 256 * SECOND).await;
}

#[tokio::test]
async fn deliverer_deletes_a_recording_of_which_the_platform_has_a_copy() {
    for keeps_files in [false, true] {
        let channel =
            if keeps_files { FakeChannel::with_preview(SECOND) } else { FakeChannel::default() };
        let harness = DeliveryHarness::with_channel(channel).await;
        let path = Attachment::recording_path(TurnId(1), 7);
        harness.files.put(&path, b"OggS");
        harness.files.put("answers/mine.ogg", b"OggS");
        harness.send_attached("a", "spoken", Attachment::recording(path.clone(), 4)).await;
        harness.send_file("a", "mine", "answers/mine.ogg").await;
        harness.channel.taken(2).await;
        harness.stop().await;
        assert_eq!(harness.files.get(&path).is_none(), keeps_files);
        assert!(harness.files.get("answers/mine.ogg").is_some());
    }
}
