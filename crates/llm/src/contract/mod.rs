//! The contract of all HTTP providers: one suite of tests, which each wire (API format) runs
//! against its strict fake. To add a wire, add a file in `wires/` that ends with `suite!`.

mod calls;
mod errors;
mod history;
mod length;
mod limits;
mod pictures;
mod retries;
mod server;
mod text;
mod wires;

use std::sync::Arc;

use avocet_protocol::{Model, Usage};
use avocet_testkit::{ManualClock, ModelAnswer};
use serde_json::Value;

use server::{Answering, Server};

/// A provider's API: its message formats, and the creation of a model.
trait Wire {
    /// `provider/model`.
    const NAME: &'static str;
    /// The key that the fake requires.
    const KEY: &'static str;
    /// The usage that the fake reports for its own answers.
    const USAGE: Usage;
    /// Abilities that this wire lacks. Their tests are skipped.
    const CANNOT: &'static [Ability] = &[];

    /// Starts the strict fake. Its model sees pictures unless the setup forbids it.
    async fn start(answer: Answering, setup: &Setup) -> Server;

    /// Creates a model at this address.
    fn model(base_url: String, setup: &Setup, clock: Arc<ManualClock>) -> Arc<dyn Model>;

    /// The events of a stream before the first content.
    fn greeting() -> Vec<String>;

    /// A keep-alive event.
    fn alive() -> String;

    /// An answer as the events of a stream, without token counts.
    fn events(bits: &[Bit<'_>], end: End<'_>) -> Vec<String>;

    /// An answer as one body, with this text and this call. With `usage`, it contains token counts,
    /// of which `cached` came from the cache.
    fn whole(text: &str, call: Option<(&str, Value)>, usage: Option<Usage>) -> Value;

    /// The body of a refusal.
    fn refusal(status: u16, says: &str) -> Value;

    /// The results of the calls at the end of a request, in order.
    fn results(request: &Value) -> Vec<String>;
}

/// An ability that a wire may lack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ability {
    /// The usage reports cached tokens.
    CountedCache,
    /// An answer reports that a filter ended it.
    Filters,
    /// An error in the middle of a stream has a type.
    LateStatus,
    /// Reasoning is sent back with the calls that it led to.
    KeptThoughts,
}

/// A piece of an answer, in the order of generation.
#[derive(Debug, Clone)]
enum Bit<'a> {
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
enum End<'a> {
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
struct Setup {
    key: &'static str,
    retries: usize,
    first_token_seconds: u64,
    /// `None` for the provider's default.
    max_output_tokens: Option<u32>,
    images: bool,
}

impl Setup {
    /// The default configuration, with the fake's key and pictures enabled.
    fn of<W: Wire>() -> Self {
        let (retries, first_token_seconds, max_output_tokens) = (3, 120, None);
        Self { key: W::KEY, retries, first_token_seconds, max_output_tokens, images: true }
    }

    /// A configuration without retries.
    fn once<W: Wire>() -> Self {
        Self { retries: 0, ..Self::of::<W>() }
    }
}

/// Returns `true` if the wire has this ability.
fn can<W: Wire>(ability: Ability) -> bool {
    !W::CANNOT.contains(&ability)
}

/// All arguments of the call with this number, for wires that send complete calls. `None` if it has
/// no arguments. Invalid JSON becomes a string.
fn given(number: u64, bits: &[Bit<'_>]) -> Option<Value> {
    let pieces = bits.iter().filter_map(|bit| match bit {
        Bit::Arguments(of, text) if *of == number => Some((*text).to_owned()),
        _ => None,
    });
    let text = pieces.reduce(|text, more| text + &more)?;
    Some(serde_json::from_str(&text).unwrap_or(Value::String(text)))
}

/// An answer as a stream.
fn streamed<W: Wire>(bits: &[Bit<'_>], end: End<'_>) -> ModelAnswer {
    ModelAnswer::Events(W::events(bits, end))
}

/// An answer as one body.
fn at_once(body: &Value) -> ModelAnswer {
    let headers = vec![("content-type", "application/json; charset=utf-8".to_owned())];
    ModelAnswer::Status(200, headers, body.to_string())
}

/// An answer with an error status.
fn refused<W: Wire>(status: u16, says: &str) -> ModelAnswer {
    let headers = vec![("content-type", "application/json".to_owned())];
    ModelAnswer::Status(status, headers, W::refusal(status, says).to_string())
}

/// Instantiates every test of the suite for a wire.
macro_rules! suite {
    ($wire:ty) => {
        $crate::contract::suite! { $wire:
            calls::a_call_and_a_text_come_together,
            calls::calls_are_put_together_from_their_pieces,
            calls::f8_arguments_come_in_many_shapes,
            calls::f8_ids_that_are_missing_or_double_tell_calls_apart_all_the_same,
            calls::f8_what_a_filter_ends_is_cut_off_at_its_end_only,
            calls::f8_what_is_cut_off_is_no_call_that_can_be_run,
            calls::pieces_of_calls_side_by_side_are_not_mixed_up,
            errors::a_refusal_says_who_can_do_something_about_it_and_is_not_repeated,
            errors::a_context_that_is_exceeded_is_too_long_whatever_the_status,
            errors::an_error_in_the_middle_means_what_its_status_would,
            errors::f15_the_key_is_in_no_error,
            errors::the_fake_wants_its_key,
            errors::what_a_filter_holds_back_whole_is_refused_and_not_asked_for_again,
            history::a_result_reaches_the_model_whatever_is_in_it,
            history::f1_a_long_history_is_one_that_the_api_takes,
            history::thoughts_of_another_model_are_not_sent,
            history::thoughts_that_led_to_calls_are_given_back_unchanged,
            history::what_is_left_of_a_step_is_taken_back_without_the_call_that_only_ended_it,
            length::a_line_without_an_end_is_an_error_and_ends_what_was_said,
            length::a_million_empty_calls_are_cut,
            length::a_server_that_ignores_the_token_limit_is_cut_near_it,
            length::an_endless_answer_that_is_not_streamed_is_cut,
            length::an_endless_refusal_is_an_error_in_a_few_words,
            length::an_endless_text_is_cut_and_says_so,
            length::endless_arguments_are_cut_and_cannot_run,
            length::endless_thoughts_are_cut,
            limits::f20_a_silent_model_is_cut_although_the_connection_lives,
            limits::f20_a_slow_model_that_keeps_sending_is_not_cut_before_its_total,
            limits::f20_an_answer_that_is_whole_needs_no_end_of_its_connection,
            limits::f20_nobody_there_is_not_waited_for,
            limits::f20_thoughts_and_calls_are_signs_of_life,
            pictures::a_picture_costs_what_a_picture_costs,
            pictures::pictures_go_along_if_the_model_sees,
            retries::f31_what_can_help_is_tried_again_and_what_was_shown_is_taken_back,
            retries::it_is_not_tried_for_ever,
            retries::retry_after_is_obeyed_and_a_long_one_is_not_waited_for,
            text::a_reply_is_the_same_wherever_its_stream_is_cut,
            text::an_answer_that_is_not_streamed_is_understood,
            text::f22_reasoning_is_neither_shown_nor_part_of_the_reply_but_paid_for,
            text::f40_an_answer_without_a_word_is_empty,
            text::text_is_streamed_and_counted,
            text::tokens_are_estimated_where_nobody_counts_them,
            text::what_the_network_cuts_off_is_no_answer,
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
