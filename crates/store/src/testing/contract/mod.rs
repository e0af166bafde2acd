//! The contract of the store ports: a test suite for every backend.
//!
//! A backend implements [`Backend`] and writes `avocet_store::contract_tests!(MyBackend::new());`
//! in an integration test. The macro makes one `#[tokio::test]` for each rule.

mod audit;
mod calls;
mod inbox;
mod ledger;
mod models;
mod outbox;
mod past;
mod people;
mod previews;
mod recovery;
mod turns;
mod undelivered;
mod waits;
mod words;
mod world;

use std::sync::Arc;

use async_trait::async_trait;
use avocet_protocol::{
    Audit, Inbox, KeptResults, Ledger, Notes, Outbox, People, Query, TurnLog, Turns,
};

/// A log that can be opened and killed.
#[async_trait]
pub trait Backend: Send + Sync {
    /// Starts a daemon on the log, with a new epoch and recovery. Call [`Backend::kill`] before a
    /// second start.
    async fn start(&self) -> Ports;

    /// Ends the daemon like `kill -9`. The caller has dropped its ports.
    async fn kill(&self);
}

/// Every port of the store.
#[derive(Debug, Clone)]
#[expect(missing_docs, reason = "each field is the port of its type")]
pub struct Ports {
    pub inbox: Arc<dyn Inbox>,
    pub turns: Arc<dyn Turns>,
    pub log: Arc<dyn TurnLog>,
    pub kept: Arc<dyn KeptResults>,
    pub ledger: Arc<dyn Ledger>,
    pub outbox: Arc<dyn Outbox>,
    pub notes: Arc<dyn Notes>,
    pub people: Arc<dyn People>,
    pub query: Arc<dyn Query>,
    pub audit: Arc<dyn Audit>,
}

impl Ports {
    /// Returns the ports of a backend that implements all of them in one type.
    #[must_use]
    pub fn of<S>(store: &Arc<S>) -> Self
    where
        S: Inbox
            + Turns
            + TurnLog
            + KeptResults
            + Ledger
            + Outbox
            + Notes
            + People
            + Query
            + Audit
            + 'static,
    {
        Self {
            inbox: store.clone(),
            turns: store.clone(),
            log: store.clone(),
            kept: store.clone(),
            ledger: store.clone(),
            outbox: store.clone(),
            notes: store.clone(),
            people: store.clone(),
            query: store.clone(),
            audit: store.clone(),
        }
    }
}

macro_rules! rules {
    ($($module:ident: $($rule:ident)*;)*) => {
        /// Every rule by its name, for [`contract_tests`](crate::contract_tests).
        pub mod rules {
            $($(pub use super::$module::$rule;)*)*
        }

        /// One test for each rule of the contract.
        #[macro_export]
        macro_rules! contract_tests {
            ($backend:expr) => {
                $($(
                    #[tokio::test]
                    async fn $rule() {
                        $crate::testing::contract::rules::$rule(&$backend).await;
                    }
                )*)*
            };
        }
    };
}

rules! {
    inbox:
        a_message_is_accepted_once_and_moves_the_cursor
        the_same_key_in_another_chat_is_another_message
        what_is_not_for_the_agent_is_counted_and_moves_the_cursor
        cursors_are_kept_by_scope_and_messages_whole
        a_message_that_waits_is_replaced_by_its_correction
        a_message_that_is_answered_is_corrected_by_another
        an_edit_that_a_message_came_with_is_no_correction_of_it
        what_cannot_be_corrected_is_left_alone
        a_command_never_waits_in_the_lane_and_acts_once
        a_dropped_message_is_dead_and_says_so
        stop_ends_the_turn_that_was_begun_before_it
        stop_gives_every_open_call_a_result
        new_forgets_what_was_said;
    turns:
        messages_of_a_session_are_taken_one_at_a_time_in_order
        collect_takes_all_that_wait
        messages_of_linked_chats_are_not_answered_together
        f37_a_backlog_is_answered_in_one_turn
        interrupt_ends_the_running_turn_in_the_same_transaction
        steer_binds_what_waits_when_a_step_closes
        a_turn_settles_once_with_its_reply_and_outcome
        only_the_last_message_of_a_turn_is_replied_to
        every_message_of_a_turn_without_an_answer_has_its_outcome
        an_error_is_kept_as_a_notice
        a_failed_turn_is_run_again_for_its_sender_or_an_owner
        what_became_of_attachments_is_kept_while_the_turn_runs
        sessions_with_work_are_found;
    past:
        history_is_whole_turns_within_the_budget
        long_results_do_not_hide_the_turns_before_them
        what_is_condensed_stands_for_its_turns
        a_compaction_waits_for_its_lane_and_is_not_lost
        a_compaction_is_begun_once
        a_compaction_can_be_stopped
        what_is_forgotten_is_not_said_to_be_condensed
        a_figure_that_makes_no_sense_ends_no_turn;
    calls:
        a_step_closes_when_every_call_has_its_result
        reasoning_is_kept_as_it_came
        written_reply_is_kept_as_it_came
        what_a_call_writes_comes_with_its_result
        a_call_has_one_result
        a_cut_result_is_kept_for_its_session
        a_turn_that_was_stopped_writes_nothing_more
        messages_of_the_message_tool_are_known_to_the_turn
        notes_are_found_by_their_words;
    waits:
        reserve_wait_gives_each_id_once
        a_turn_that_waits_holds_its_place_and_names_its_wait
        an_open_prompt_is_found_once_it_was_sent_and_said_again
        a_wait_for_a_child_has_no_open_prompt
        a_call_that_was_allowed_is_planned_again
        a_command_that_names_no_wait_means_what_was_asked_before
        a_refusal_is_the_result_of_the_call
        plain_text_is_the_answer_to_a_question
        plain_text_is_queued_behind_an_approval
        a_child_answers_the_call_that_waits_for_it
        a_child_that_fails_is_an_error_of_the_call
        stopping_a_parent_stops_its_children
        a_choice_is_made_by_command;
    words:
        a_plain_word_presses_the_button_of_its_choice
        other_words_wait_behind_the_question
        a_late_word_does_not_answer_a_later_question
        a_word_in_a_group_counts_from_the_asker_or_as_a_reply
        a_word_chooses_what_becomes_of_an_interrupted_call
        a_number_answers_a_question_with_its_choice
        a_key_with_another_text_is_told_from_a_repetition
        lists_are_read_page_by_page;
    recovery:
        a_running_turn_is_queued_again_and_counted
        a_turn_that_died_alone_is_counted_as_such
        deaths_are_forgotten_when_the_turn_comes_further
        an_orderly_stop_does_not_count
        a_waiting_turn_survives_without_an_attempt
        calls_under_way_go_by_their_class
        a_stopped_turn_is_not_resurrected
        what_was_being_sent_is_unknown
        an_open_command_is_found_again
        a_settled_turn_clears_the_suspicion;
    outbox:
        a_chat_is_served_in_order
        a_nonce_belongs_to_its_chunk_for_good
        a_message_of_another_process_is_taken_once
        a_refused_chunk_waits_and_counts
        status_names_the_chats_that_are_stuck
        a_dead_chunk_takes_the_rest_of_its_message_along
        an_unconfirmed_chunk_is_shown_and_lets_the_next_go
        what_was_given_up_can_be_sent_again
        open_chats_are_found;
    undelivered:
        a_lost_message_is_told_at_the_next_turn_and_only_there
        a_lost_notice_or_command_reply_is_not_told
        a_lost_message_belongs_to_the_conversation_that_sent_it
        a_lost_message_of_a_process_belongs_to_the_linked_session
        new_forgets_lost_messages
        resend_takes_back_what_is_not_told_yet
        many_lost_messages_are_counted
        a_lost_message_has_the_trust_of_its_requests
        the_rest_of_a_lost_message_is_not_told_apart;
    ledger:
        what_was_spent_is_summed_by_turn_session_and_day
        tokens_without_a_price_are_counted_apart
        what_a_child_spends_is_its_roots
        new_begins_a_new_sum
        what_was_spent_is_listed_by_model_session_and_day;
    models:
        a_session_keeps_the_model_that_it_has_chosen
        a_child_is_answered_by_the_model_of_its_parent;
    people:
        a_code_comes_with_its_hint
        a_code_is_decided_about_once
        a_command_lets_in_and_links
        who_is_struck_off_leaves_nothing_behind
        a_turn_knows_whose_words_it_works_on;
    audit:
        what_does_more_than_read_is_audited_from_start_to_end
        what_a_crash_interrupts_is_audited_and_what_was_chosen
        who_was_asked_and_what_they_decided_is_audited
        what_is_cancelled_is_audited
        who_is_let_in_and_by_whom_is_audited
        what_was_taken_back_is_not_audited
        the_audited_can_be_searched
        a_whole_chain_is_found_whole
        a_head_that_was_noted_stands_in_the_chain;
    previews:
        a_preview_is_begun_once_and_keeps_nobody_waiting
        a_preview_does_not_overtake_what_waits_for_the_chat
        the_reply_takes_the_place_of_its_preview
        the_nonce_of_a_preview_is_that_of_its_reply
        a_reply_whose_edit_is_refused_is_given_up_whole
        a_message_that_is_gone_is_sent_anew
        a_preview_of_unknown_outcome_makes_the_reply_a_repetition
        a_preview_that_was_being_sent_at_a_crash_is_unknown
        a_preview_that_is_shown_survives_a_crash
        a_refused_preview_holds_the_reply_back_for_as_long_as_asked
        a_preview_whose_turn_says_nothing_more_stays_as_it_is
        a_turn_that_waits_keeps_its_preview;
}
