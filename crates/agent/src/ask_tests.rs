use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use avocet_protocol::chat::{Attachment, AttachmentKind, AttachmentSource};
use avocet_protocol::model::{Message, ModelError};
use avocet_testkit::{Scripted, ScriptedModel};

use crate::TurnEnd;
use crate::harness::{AgentHarness, answered, failed};
use crate::small_models::{NarrowModel, texts};

#[tokio::test]
async fn f40_empty_answer_is_retried_a_limited_number_of_times() {
    let harness = AgentHarness::new(vec![Scripted::says(" "), Scripted::says("at last")]).await;
    let end = harness.turn("hi").await;
    let TurnEnd::Answered(answer) = end else { panic!("{end:?}") };
    assert_eq!((answer.text.as_str(), answer.usage.input), ("at last", 200));

    let nothing = vec![Scripted::says(""), Scripted::says("\n"), Scripted::says("")];
    let notice = failed(AgentHarness::new(nothing).await.turn("hi").await);
    assert_eq!(
        notice,
        "I could not answer: test/scripted answered 3 times with nothing. /new starts a new conversation."
    );
}

#[tokio::test]
async fn request_has_pictures_for_a_vision_model_and_a_line_for_every_model() {
    for eyes in [true, false] {
        let mut harness = AgentHarness::new(Vec::new()).await;
        let model = ScriptedModel::new(vec![Scripted::says("a beach")]);
        let model = Arc::new(if eyes { model.with_eyes() } else { model });
        harness.agent.models.main = model.clone();
        harness.files.put("inbox/m1-0.jpg", &[0xFF, 0xD8, 0xFF, 0xE0]);
        let here = AttachmentSource::Workspace("inbox/m1-0.jpg".to_owned());
        harness.say_with("look", vec![Attachment::new(AttachmentKind::Image, here)]).await;
        let turn = harness.claim().await;
        harness.run(turn).await.unwrap();
        let request = &model.requests()[0];
        assert_eq!(request.messages.len(), 2);
        let Message::User { text, images } = &request.messages[1] else { panic!() };
        assert!(text.starts_with("look\n[image: saved as inbox/m1-0.jpg]\n\n"), "{text}");
        let shown: Vec<_> = request.images.keys().collect();
        assert_eq!(shown, if eyes { vec![&images[0]] } else { vec![] });
    }
}

#[tokio::test]
async fn refused_picture_is_left_out_of_the_retried_request() {
    let of = || ("fake/model".to_owned(), "not this image".to_owned());
    let refused = |lasting| {
        let (model, detail) = of();
        ModelError::Refused { model, detail: detail.into(), lasting }
    };
    let (end, shown) = refused_a_picture(refused(true)).await;
    assert!(failed(end).contains("refused the request"), "it is not about the picture");
    assert_eq!(shown, [1]);
    let (end, shown) = refused_a_picture(refused(false)).await;
    assert_eq!((answered(&end), shown), ("I cannot see it.", vec![1, 0]));
    for (window, shown) in [(None, [1, 0]), (Some(30_000), [1, 1])] {
        let (model, detail) = of();
        let (end, asked) =
            refused_a_picture(ModelError::TooLong { model, detail: detail.into(), window }).await;
        assert_eq!((answered(&end), &asked[..]), ("I cannot see it.", &shown[..]));
    }
}

/// Runs a turn whose first request, with a picture, gets this refusal. Returns its end and the
/// number of pictures in each request.
async fn refused_a_picture(refusal: ModelError) -> (TurnEnd, Vec<usize>) {
    let mut harness = AgentHarness::new(Vec::new()).await;
    let answers = vec![Scripted::Error(refusal), Scripted::says("I cannot see it.")];
    let model = ScriptedModel::new(answers).with_eyes();
    let model = Arc::new(model);
    harness.agent.models.main = model.clone();
    harness.files.put("inbox/m1-0.jpg", &[0xFF, 0xD8, 0xFF, 0xE0]);
    let here = AttachmentSource::Workspace("inbox/m1-0.jpg".to_owned());
    harness.say_with("look", vec![Attachment::new(AttachmentKind::Image, here)]).await;
    let turn = harness.claim().await;
    let end = harness.run(turn).await.unwrap();
    (end, model.requests().iter().map(|asked| asked.images.len()).collect())
}

#[tokio::test]
async fn ask_within_window_retries_a_too_long_request_with_less() {
    let table = [
        (5000, false, 1, true),
        (1000, true, 1, true),
        (10, false, 4, false),
        (10, true, 1, false),
    ];
    for (takes, is_chain, refused, answers) in table {
        let mut harness = AgentHarness::new(Vec::new()).await;
        let model = Arc::new(ScriptedModel::answering(|_| Scripted::says("ok")));
        harness.agent.models.main = model.clone();
        harness.agent.models.cheap =
            Arc::new(ScriptedModel::answering(|_| Scripted::says("they talk")));
        for number in 0..12 {
            harness.turn(&format!("question {number}: {}", "x".repeat(2000))).await;
            harness.settle("ok").await;
        }
        let narrow =
            NarrowModel { model: model.clone(), takes, is_chain, refused: AtomicU32::default() };
        let narrow = Arc::new(narrow);
        harness.agent.models.main = narrow.clone();
        let end = harness.turn("and now?").await;
        assert_eq!(narrow.refused.load(Ordering::Relaxed), refused, "{takes} {is_chain}");
        if answers {
            assert_eq!(answered(&end), "ok");
            assert!(texts(&model.requests().pop().unwrap()).contains("they talk"));
        } else {
            let notice = failed(end);
            assert!(notice.starts_with("I could not answer: "), "{notice}");
            assert!(notice.contains("b/narrow"), "{notice}");
        }
    }
}
