//! The contract of all HTTP providers: one suite of tests, which each wire (API format) runs
//! against its strict fake. To add a wire, add a file in `wires/` that ends with `suite!`.

mod answer_schema;
mod calls;
mod errors;
mod failures;
mod frames;
mod history;
mod length;
mod limits;
mod pictures;
mod retries;
mod server;
mod text;
mod wires;

use std::sync::Arc;

use avocet_protocol::model::{Model, Usage};
use avocet_testkit::http::Piece;
use avocet_testkit::{ManualClock, ModelAnswer};
use serde_json::Value;

use crate::testing::stream_head;
use server::{Answering, WireServer};

/// A provider's API: its message formats, and the creation of a model.
trait ProviderWire {
    /// `provider/model`.
    const NAME: &'static str;
    /// The key that the fake requires.
    const KEY: &'static str;
    /// The usage that the fake reports for its own answers.
    const USAGE: Usage;
    /// The media type of a stream.
    const MEDIA_TYPE: &'static str = "text/event-stream";
    /// Abilities that this wire lacks. Their tests are skipped.
    const CANNOT: &'static [WireAbility] = &[];

    /// Starts the strict fake. Its model sees pictures unless the setup forbids it.
    async fn start(answer: Answering, setup: &ModelSetup) -> WireServer;

    fn create_model(
        base_url: String,
        setup: &ModelSetup,
        clock: Arc<ManualClock>,
    ) -> Arc<dyn Model>;

    /// The events of a stream before the first content.
    fn greeting_events() -> Vec<String>;

    fn keep_alive_event() -> String;

    /// An answer as the events of a stream, without token counts.
    fn answer_events(bits: &[AnswerBit<'_>], end: StreamEnd<'_>) -> Vec<String>;

    /// An answer as one body, with this text and this call. With `usage`, it contains token counts,
    /// of which `cached` came from the cache.
    fn whole_answer(text: &str, call: Option<(&str, Value)>, usage: Option<Usage>) -> Value;

    fn refusal_body(status: u16, says: &str) -> Value;

    /// The results of the calls at the end of a request, in order.
    fn results_of(request: &Value) -> Vec<String>;
}

/// An ability that a wire may lack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WireAbility {
    /// The usage reports cached tokens.
    CountedCache,
    /// An answer reports that a filter ended it.
    Filters,
    /// An error in the middle of a stream has a type.
    LateStatus,
    /// Reasoning is sent back with the calls that it led to.
    KeptThoughts,
    /// The API takes the JSON Schema of an answer.
    AnswerSchema,
    /// Reasoning is shown while the model thinks.
    ShownThoughts,
}

/// A piece of an answer, in the order of generation.
#[derive(Debug, Clone)]
enum AnswerBit<'a> {
    /// More text.
    Text(&'a str),
    /// More reasoning, if the wire has a place for it.
    Thought(&'a str),
    /// The start of a call with this number, an optional id, and a name.
    Call(u64, Option<&'a str>, &'a str),
    /// More arguments of the call with this number.
    Arguments(u64, &'a str),
    /// A complete call. Its arguments are sent as exactly this value, which is regular for some
    /// wires and a known deviation for others.
    Whole(u64, &'a str, Value),
}

/// The end of a streamed answer.
#[derive(Debug, Clone, Copy)]
enum StreamEnd<'a> {
    /// A normal end.
    Done,
    /// The end at the output limit.
    Full,
    /// The end by a content filter.
    Filtered,
    /// A stream without an end event.
    Lost,
    /// An error with the status that it would have had before the stream.
    Failed(u16, &'a str),
}

/// The configuration of a model.
#[derive(Debug, Clone)]
struct ModelSetup {
    key: &'static str,
    retries: usize,
    first_token_seconds: u64,
    /// `None` for the provider's default.
    max_output_tokens: Option<u32>,
    images: bool,
}

impl ModelSetup {
    /// The default configuration, with the fake's key and pictures enabled.
    fn from_wire<W: ProviderWire>() -> Self {
        let (retries, first_token_seconds, max_output_tokens) = (3, 120, None);
        Self { key: W::KEY, retries, first_token_seconds, max_output_tokens, images: true }
    }

    fn without_retries<W: ProviderWire>() -> Self {
        Self { retries: 0, ..Self::from_wire::<W>() }
    }
}

fn has_ability<W: ProviderWire>(ability: WireAbility) -> bool {
    !W::CANNOT.contains(&ability)
}

/// All arguments of the call with this number, for wires that send complete calls. `None` if it has
/// no arguments. Invalid JSON becomes a string.
fn given_arguments(number: u64, bits: &[AnswerBit<'_>]) -> Option<Value> {
    let pieces = bits.iter().filter_map(|bit| match bit {
        AnswerBit::Arguments(of, text) if *of == number => Some((*text).to_owned()),
        _ => None,
    });
    let text = pieces.reduce(|text, more| text + &more)?;
    Some(serde_json::from_str(&text).unwrap_or(Value::String(text)))
}

/// The status line and headers of a stream.
fn wire_head<W: ProviderWire>() -> Piece {
    stream_head(W::MEDIA_TYPE)
}

fn streamed_answer<W: ProviderWire>(bits: &[AnswerBit<'_>], end: StreamEnd<'_>) -> ModelAnswer {
    ModelAnswer::Events(W::answer_events(bits, end))
}

/// An answer as one body.
fn at_once(body: &Value) -> ModelAnswer {
    let headers = vec![("content-type", "application/json; charset=utf-8".to_owned())];
    ModelAnswer::Status(200, headers, body.to_string())
}

/// An answer with an error status.
fn refused_answer<W: ProviderWire>(status: u16, says: &str) -> ModelAnswer {
    let headers = vec![("content-type", "application/json".to_owned())];
    ModelAnswer::Status(status, headers, W::refusal_body(status, says).to_string())
}

/// Instantiates every test of the suite for a wire.
macro_rules! suite {
    ($wire:ty) => {
        $crate::contract::suite! { $wire:
            answer_schema::complete_sends_the_schema_of_an_answer_that_the_api_accepts,
            calls::complete_reads_text_and_a_call_of_one_answer,
            calls::complete_joins_calls_from_their_pieces,
            calls::f8_complete_reads_arguments_in_many_forms,
            calls::f8_complete_distinguishes_calls_with_missing_or_equal_ids,
            calls::f8_complete_keeps_complete_calls_of_a_filtered_answer,
            calls::f8_complete_returns_a_truncated_call_as_malformed,
            calls::complete_separates_interleaved_pieces_of_calls,
            errors::complete_returns_a_refusal_with_its_text_and_does_not_retry,
            errors::complete_returns_too_long_for_an_exceeded_context_with_any_status,
            errors::complete_maps_an_error_within_a_stream_like_its_status,
            errors::f15_complete_shows_the_key_in_no_error,
            errors::complete_with_a_wrong_key_is_unauthorized,
            errors::complete_refuses_a_wholly_filtered_answer_and_does_not_retry,
            failures::complete_treats_each_failure_by_the_table,
            frames::complete_keeps_the_words_of_an_error_with_status_200,
            frames::complete_reads_an_answer_of_any_media_type,
            frames::complete_returns_too_long_for_an_exceeded_context_with_status_200,
            history::complete_sends_a_tool_result_with_any_content,
            history::f1_complete_sends_a_long_history_that_the_api_accepts,
            history::complete_does_not_send_reasoning_of_another_model_or_host,
            history::complete_sends_reasoning_back_unchanged_with_its_calls,
            history::complete_sends_a_step_back_without_its_ending_call,
            length::complete_ends_at_an_endless_line_with_its_text_or_an_error,
            length::complete_truncates_a_million_empty_calls,
            length::complete_truncates_near_a_token_limit_that_the_server_ignores,
            length::complete_truncates_or_refuses_an_endless_answer_without_a_stream,
            length::complete_shortens_an_endless_refusal,
            length::complete_truncates_an_endless_text,
            length::complete_returns_endless_arguments_as_a_malformed_call,
            length::complete_truncates_endless_reasoning,
            limits::f20_complete_times_out_at_a_silent_model_with_a_live_connection,
            limits::f20_complete_ends_a_slow_but_active_model_only_at_the_total_timeout,
            limits::f20_complete_returns_a_whole_answer_before_its_connection_ends,
            limits::f20_complete_without_a_server_is_unreachable_without_waiting,
            limits::f20_complete_counts_reasoning_and_calls_as_activity,
            pictures::complete_estimates_tokens_of_an_image_by_its_kind_not_its_bytes,
            pictures::complete_sends_images_to_a_model_that_supports_them,
            retries::f31_complete_retries_transient_errors_and_restarts_the_shown_text,
            retries::complete_retries_only_as_often_as_configured,
            retries::complete_obeys_retry_after_but_does_not_wait_for_a_long_one,
            text::complete_returns_the_same_reply_wherever_the_stream_is_cut,
            text::complete_reads_an_answer_without_a_stream,
            text::complete_shows_thoughts_apart_from_the_text,
            text::f22_complete_counts_reasoning_and_keeps_it_out_of_the_reply,
            text::f40_complete_returns_an_empty_text_for_an_answer_without_text,
            text::complete_streams_the_text_and_counts_its_tokens,
            text::complete_estimates_tokens_that_the_server_does_not_count,
            text::complete_fails_transiently_if_the_network_cuts_the_answer_off,
        }
    };
    ($wire:ty: $($file:ident::$case:ident,)*) => {
        $(
            #[tokio::test]
            async fn $case() {
                $crate::contract::$file::$case::<$wire>().await;
            }
        )*
    };
}
use suite;
