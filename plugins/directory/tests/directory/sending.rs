//! Answers become files of the outbox, once each.

use std::fs;
use std::os::unix::fs::MetadataExt;

use avocet_protocol::channel::{Channel, Health, OnUnknown, SendError};
use avocet_protocol::chat::{
    Attachment, AttachmentKind, AttachmentSource, Choice, Content, Delivery, LoadedFile, Receipt,
};
use avocet_protocol::ids::DeliveryId;

use crate::World;

fn delivery(id: i64, content: Content) -> Delivery {
    let chat = "directory:main:files".parse().unwrap();
    Delivery { nonce: format!("n{id}"), ..Delivery::new(DeliveryId(id), chat, content) }
}

fn attachment(name: &str) -> Attachment {
    let source = AttachmentSource::Workspace(format!("out/{name}"));
    Attachment::new(AttachmentKind::Document, source)
}

fn with_file(id: i64, name: &str) -> Delivery {
    let content = Content { attachments: vec![attachment(name)], ..Content::default() };
    let files = vec![LoadedFile { name: name.to_owned(), bytes: b"\0\xff".as_slice().into() }];
    Delivery { files, ..delivery(id, content) }
}

#[test]
fn plan_makes_a_chunk_of_the_text_and_one_of_each_attachment() {
    let world = World::new();
    let long = Content::text("# Title\n\n".repeat(100_000));
    let choice = Choice::new("Yes", "/approve w1");
    let files = vec![attachment("a.pdf"), attachment("b.png")];
    let alone =
        |file: &Attachment| Content { attachments: vec![file.clone()], ..Content::default() };
    let empty = Content::default();
    let asking = Content { choices: vec![choice], ..empty.clone() };
    let table = [
        (long.clone(), vec![long.clone()]),
        (empty.clone(), vec![empty.clone()]),
        (asking.clone(), vec![asking]),
        (alone(&files[0]), vec![alone(&files[0])]),
        (
            Content { attachments: files.clone(), ..long.clone() },
            vec![long, alone(&files[0]), alone(&files[1])],
        ),
    ];
    for (reply, chunks) in table {
        assert_eq!(world.directory.plan(&reply), chunks);
    }
    assert_eq!(world.directory.capabilities().on_unknown, OnUnknown::RepeatSafe);
}

#[tokio::test(flavor = "multi_thread")]
async fn deliver_writes_a_file_whose_name_sorts_in_the_order_of_the_answers() {
    let world = World::new();
    let _running = world.start().await;
    let choices = vec![Choice::new("Allow", "/approve w1"), Choice::new("Deny", "/deny w1")];
    let question = Content { choices, ..Content::text("May I?") };
    let long = "Übersicht ".repeat(20) + ".pdf";
    let table = [
        (delivery(2, Content::text("# **Two**\n")), "0000000002-n2.txt", "# **Two**\n"),
        (
            delivery(10, question),
            "0000000010-n10.txt",
            "May I?\n1. Allow: /approve w1\n2. Deny: /deny w1\n",
        ),
        (with_file(11, "report.pdf"), "0000000011-n11-report.pdf", "\0\u{fffd}"),
        (with_file(12, "../a/\u{202e}b\n.txt"), "0000000012-n12-.._a_b_.txt", "\0\u{fffd}"),
        (
            with_file(13, &long),
            "0000000013-n13-sicht Übersicht Übersicht Übersicht Übersicht .pdf",
            "\0\u{fffd}",
        ),
    ];
    let mut names = Vec::new();
    for (delivery, name, content) in table {
        let sent = world.directory.deliver(&delivery).await;
        assert_eq!(sent, Ok(Receipt { platform_id: None }), "{name}");
        names.push(name);
        assert_eq!(world.names("outbox"), names);
        let written = fs::read(world.path("outbox").join(name)).unwrap();
        assert_eq!(String::from_utf8_lossy(&written), content);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn deliver_writes_the_file_of_a_chunk_once() {
    let world = World::new();
    let _running = world.start().await;
    let (name, one) = ("outbox/0000000001-n1.txt", delivery(1, Content::text("hello")));
    // A crash left half of it.
    fs::write(world.path("outbox/.0000000001-n1.txt.tmp"), "hello and more").unwrap();
    assert!(world.directory.deliver(&one).await.is_ok());
    assert_eq!(world.read(name), "hello\n");
    // A reader may have it open, so that even the same content is not written again.
    fs::write(world.path(name), "read").unwrap();
    assert!(world.directory.deliver(&one).await.is_ok());
    assert_eq!(world.read(name), "read");
    assert_eq!(world.names("outbox").len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn deliver_refuses_other_chats_and_attachments_without_bytes() {
    let world = World::new();
    let _running = world.start().await;
    let elsewhere = "directory:main:other".parse().unwrap();
    let elsewhere = Delivery { address: elsewhere, ..delivery(1, Content::text("hello")) };
    let unloaded = Delivery { files: Vec::new(), ..with_file(2, "a.pdf") };
    for (delivery, reason) in [
        (elsewhere, "the only chat here is directory:main:files"),
        (unloaded, "only one file of the workspace can be a chunk"),
    ] {
        let refused = Err(SendError::Refused(reason.to_owned()));
        assert_eq!(world.directory.deliver(&delivery).await, refused);
    }
    assert!(world.names("outbox").is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn deliver_creates_a_missing_directory() {
    let world = World::new();
    assert!(world.directory.deliver(&delivery(1, Content::text("hello"))).await.is_ok());
    assert_eq!(world.names("outbox").len(), 1);
    assert_eq!(fs::metadata(world.path("")).unwrap().mode() & 0o777, 0o700);
}

#[tokio::test(flavor = "multi_thread")]
async fn failed_write_is_shown_in_health_until_a_write_succeeds() {
    let world = World::new();
    let _running = world.start().await;
    assert_eq!(world.directory.health(), Health::Up);
    // A directory in the way of the temporary file.
    let in_the_way = world.path("outbox/.0000000001-n1.txt.tmp");
    fs::create_dir(&in_the_way).unwrap();
    let one = delivery(1, Content::text("hello"));
    let failed = world.directory.deliver(&one).await.unwrap_err();
    let SendError::Failed(error) = &failed else { panic!("{failed}") };
    let says = "/outbox/0000000001-n1.txt: Is a directory";
    assert!(error.starts_with("cannot write ") && error.ends_with(says), "{error}");
    assert_eq!(world.directory.health(), Health::Down(failed.to_string()));
    // The poll succeeds, which says nothing about the outbox.
    world.poll().await;
    assert_eq!(world.directory.health(), Health::Down(failed.to_string()));
    fs::remove_dir(in_the_way).unwrap();
    assert!(world.directory.deliver(&one).await.is_ok());
    assert_eq!(world.directory.health(), Health::Up);
}
