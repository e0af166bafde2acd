//! The contract of the store ports: a test suite for every backend.
//!
//! A backend implements [`Backend`] and writes `avocet_store::contract_tests!(MyBackend::new());`
//! in an integration test. The macro makes one `#[tokio::test]` for each rule.

mod audit;
mod branches;
mod calls;
mod consolidations;
mod dead_letters;
mod events;
mod history;
mod inbox;
mod jobs;
mod joined_messages;
mod ledger;
mod lists;
mod memories;
mod memory_files;
mod models;
mod outbox;
mod own_texts;
mod owner_rules;
mod past;
mod people;
mod ports;
mod preview_parts;
mod previews;
mod prompts;
mod recovery;
mod reports;
mod schedule_questions;
mod schedules;
mod stop_all;
mod tasks;
mod turns;
mod undelivered;
mod waits;
mod words;
mod world;

use async_trait::async_trait;

pub use ports::Ports;

/// A log that can be opened and killed.
#[async_trait]
pub trait Backend: Send + Sync {
    /// Starts a daemon on the log, with a new epoch and recovery. Call [`Backend::kill`] before a
    /// second start.
    async fn start(&self) -> Ports;

    /// Ends the daemon like `kill -9`. The caller must have dropped the ports.
    async fn kill(&self);
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
        accept_absorbs_a_redelivered_message_and_moves_the_cursor
        accept_treats_one_key_in_two_chats_as_two_messages
        ignore_counts_the_update_and_moves_the_cursor
        accept_keeps_messages_unchanged_and_cursors_by_scope
        correct_replaces_a_waiting_message
        withdraw_ends_a_waiting_message_or_the_turn_for_it_alone
        correct_keeps_what_was_forwarded_with_the_message
        correct_adds_a_message_while_the_original_is_being_answered
        correct_absorbs_an_edit_that_the_message_arrived_with
        correct_refuses_answered_messages_commands_and_unknown_keys
        settle_command_bypasses_the_lane_and_acts_once
        settle_command_replaces_a_message_by_a_reply_of_one_chunk
        drop_message_ends_the_message_with_a_notice
        stop_cancels_only_a_turn_that_began_before_it
        stop_gives_every_open_call_a_result
        new_hides_older_messages_from_later_turns;
    joined_messages:
        parts_of_a_message_that_waits_are_claimed_together
        part_of_a_running_message_joins_its_turn
        part_of_a_message_joins_a_turn_that_shows_its_answer
        parts_of_a_message_steer_a_turn_with_steps
        part_of_an_answered_message_is_a_message_of_its_own
        claim_waits_for_the_announced_part_of_a_message;
    turns:
        claim_takes_messages_of_a_session_one_at_a_time_in_order
        claim_in_collect_mode_takes_all_waiting_messages
        claim_in_collect_mode_separates_linked_chats
        f37_claim_takes_a_backlog_in_one_turn
        accept_in_interrupt_mode_ends_the_running_turn_in_its_transaction
        the_last_result_binds_waiting_messages_in_steer_mode
        ended_messages_returns_the_outcome_of_every_message_of_a_turn
        settle_ends_a_turn_once_with_its_reply_and_outcome
        settle_starts_the_send_of_the_next_chunk
        settle_marks_the_last_message_replied_and_the_others_merged
        settle_without_an_answer_gives_every_message_its_outcome
        settle_keeps_an_error_as_a_notice
        retry_reruns_a_failed_turn_for_its_sender_or_an_owner
        set_attachments_is_accepted_only_while_the_turn_runs
        open_sessions_lists_sessions_with_work;
    past:
        history_returns_whole_turns_within_the_budget
        history_counts_long_results_at_their_shortened_size
        compaction_replaces_turns_by_their_summary_until_new
        compact_waits_for_the_running_turn_and_survives_a_restart
        begin_compaction_succeeds_once
        stop_and_new_cancel_a_compaction
        compacted_discards_a_summary_of_a_forgotten_past
        record_step_and_settle_accept_nonsense_usage;
    calls:
        close_step_requires_a_result_of_every_call
        record_step_keeps_reasoning_unchanged
        finish_call_removes_secrets_from_the_arguments
        record_step_keeps_a_written_reply_unchanged
        finish_call_commits_log_writes_with_the_result
        finish_call_refuses_a_second_result
        finish_call_keeps_the_kind_of_a_result
        kept_result_returns_a_cut_result_to_its_session_only
        stop_makes_later_writes_of_the_turn_fail
        sent_texts_returns_messages_of_the_message_tool_by_chat;
    history:
        search_history_finds_messages_answers_and_notices
        search_history_stays_in_the_scope_of_its_person
        search_history_finds_a_turn_that_ended_after_a_later_one
        search_history_continues_after_a_restart
        search_history_keeps_the_trust_of_a_text
        search_all_history_searches_every_conversation_or_those_of_a_filter;
    own_texts:
        accept_gives_a_chosen_option_the_trust_of_its_question
        accept_gives_a_late_press_the_trust_of_its_message
        accept_notes_the_trust_of_a_quoted_answer;
    owner_rules:
        rules_stay_byte_for_byte_until_they_are_removed
        rules_of_commands_survive_new;
    stop_all:
        stop_all_blocks_claims_and_schedules_until_it_ends
        stop_all_ends_open_turns_with_one_notice_for_each_chat;
    branches:
        branch_has_the_history_of_its_turns_and_no_other_rows
        branches_of_a_conversation_have_different_numbers
        branch_keeps_trust_summaries_and_marks
        branch_leaves_out_forgotten_turns_and_names_its_refusals;
    lists:
        sessions_have_the_first_message_since_new_as_title
        sessions_keep_the_labels_that_people_give_them
        sent_lists_messages_outside_of_the_turns_of_a_session
        sent_tells_text_with_styles_from_markdown
        sent_shows_the_worst_state_of_the_parts
        sent_includes_the_chats_linked_to_a_session;
    waits:
        reserve_wait_gives_each_id_once
        wait_blocks_the_lane_and_enqueues_its_prompt
        open_prompts_lists_sent_prompts_and_say_again_repeats_them
        open_prompts_excludes_a_wait_for_a_child
        resolve_plans_an_allowed_call_again
        resolve_command_without_an_id_applies_to_an_earlier_wait_only
        resolve_makes_a_refusal_the_result_of_the_call
        accept_makes_plain_text_the_answer_to_a_question
        accept_queues_plain_text_behind_an_approval
        settle_of_a_child_answers_the_waiting_call
        settle_of_a_failed_child_is_an_error_of_the_waiting_call
        stop_of_a_parent_stops_its_children
        resolve_command_makes_a_choice_once;
    tasks:
        turn_with_several_waits_continues_after_the_last
        spawn_in_the_background_leaves_the_turn_running
        cancel_task_ends_it_and_lets_the_parent_continue
        cancel_task_command_ends_a_task_of_its_session_only
        expired_child_is_cancelled
        error_of_a_child_has_the_trust_of_its_content
        claim_of_a_child_names_its_profile_and_those_above
        claim_of_a_child_names_the_skills_above_it
        root_of_a_lineage_names_the_person_of_its_private_chat
        family_counts_ancestors_and_open_children
        tasks_lists_children_with_their_own_usage
        reserve_task_gives_each_number_once
        approval_of_a_background_task_belongs_to_its_chat;
    words:
        accept_turns_a_plain_word_into_the_command_of_its_choice
        accept_turns_a_bare_stop_into_the_command_during_a_turn
        accept_takes_a_bare_stop_as_the_answer_to_a_question
        accept_queues_other_words_behind_the_question
        accept_takes_a_word_written_before_the_question_as_text
        accept_takes_a_word_in_a_group_from_the_asker_or_in_a_reply
        accept_takes_a_word_as_the_choice_for_an_interrupted_call
        accept_answers_a_question_with_the_choice_of_that_number
        accept_and_enqueue_report_a_reused_key_with_another_text
        query_reads_sessions_transcripts_and_usage_by_page;
    prompts:
        command_with_a_place_is_answered_besides_the_edit
        resolve_edits_choices_and_questions
        resolve_keeps_a_long_question_without_its_buttons
        resolve_edits_each_prompt_to_the_outcome_once
        prompt_of_an_ended_wait_says_why_it_ended
        outcome_without_a_message_to_edit_is_no_message;
    recovery:
        recovery_requeues_a_running_turn_as_a_suspect
        recovery_counts_deaths_of_a_turn_that_ran_alone
        recovery_forgets_deaths_after_progress_of_the_turn
        release_requeues_a_turn_without_counting_an_attempt
        recovery_keeps_a_waiting_turn_without_an_attempt
        recovery_treats_started_calls_by_their_class
        recovery_does_not_resume_a_stopped_turn
        recovery_marks_a_chunk_in_state_sending_as_unknown
        open_commands_returns_an_unsettled_command_after_a_restart
        settle_clears_the_suspicion_of_the_session;
    outbox:
        head_returns_the_chunks_of_a_chat_in_order
        head_of_a_later_chunk_names_the_message_of_the_first
        head_keeps_the_nonce_of_a_chunk_for_all_sends
        enqueue_absorbs_a_repeated_message
        sent_files_lists_the_files_of_a_turn_in_its_own_session
        finish_with_again_delays_the_chunk_and_counts_the_attempt
        log_status_names_chats_that_wait
        log_status_counts_chats_beyond_the_first
        finish_with_dead_abandons_the_rest_of_the_message
        finish_with_unconfirmed_reports_the_chunk_and_frees_the_next
        finish_marks_the_next_send_of_a_chunk_sent_in_part
        resend_repeats_abandoned_messages
        open_chats_lists_chats_with_pending_chunks;
    undelivered:
        undelivered_message_is_reported_once_at_the_next_turn
        undelivered_excludes_notices_and_command_replies
        undelivered_message_belongs_to_the_conversation_that_sent_it
        undelivered_message_of_a_process_belongs_to_the_linked_session
        new_forgets_undelivered_messages
        resend_withdraws_an_unreported_undelivered_message
        undelivered_lists_the_last_messages_and_counts_the_others
        undelivered_message_has_the_lowest_trust_of_its_requests
        undelivered_omits_the_rest_of_an_abandoned_message;
    dead_letters:
        dead_letters_are_listed_newest_first
        retry_of_a_dead_letter_sends_all_parts
        retry_of_a_dropped_message_goes_by_no_key
        retry_of_a_dropped_message_queues_a_copy
        drop_of_a_dead_letter_removes_it_from_the_list;
    events:
        events_follow_a_message_to_its_delivery
        events_show_a_crash_and_its_recovery
        events_show_the_wait_of_a_turn
        events_of_a_delivery_without_a_turn_have_the_session_of_its_chat
        events_leave_out_previews
        events_are_read_by_page_session_and_kind
        events_of_a_message_include_its_sub_agents
        event_history_of_a_turn_names_its_ancestors_and_leaves_out_other_turns
        event_history_of_a_delivery_has_its_own_events
        subscriber_keeps_its_position_over_a_restart
        newest_event_changes_with_each_commit;
    jobs:
        submit_starts_a_session_and_absorbs_a_repeated_key
        submit_without_a_chat_gives_the_job_a_chat_of_its_own
        job_state_follows_its_turn_and_ends_once
        cancel_job_ends_a_queued_running_or_waiting_job
        jobs_lists_the_newest_first_by_page;
    reports:
        report_is_shown_once_by_the_next_turn_of_the_chats_own_session
        report_excludes_the_own_session_and_silent_turns
        report_of_a_failure_is_untrusted
        report_goes_to_the_linked_session_of_the_chat
        report_contains_texts_of_the_message_tool_for_other_chats
        reports_lists_the_last_texts_and_counts_the_others
        new_forgets_unshown_reports;
    schedules:
        add_schedule_keeps_every_part
        add_schedule_returns_the_first_one_of_a_key
        claim_due_queues_each_time_once
        claim_due_gives_each_task_a_turn
        claim_due_sends_a_text_with_a_report
        change_schedule_pauses_resumes_and_removes
        set_configured_makes_named_schedules_equal_to_the_list
        finish_call_adds_a_schedule_of_the_tool
        log_status_counts_active_schedules
        usage_lists_schedules_by_name_and_id;
    schedule_questions:
        question_of_a_scheduled_task_is_answered_in_its_chat
        choice_of_a_scheduled_task_is_decided_in_its_chat;
    ledger:
        record_usage_keeps_the_purpose
        record_usage_keeps_a_failed_request_for_the_timeline
        spent_sums_usage_by_turn_session_and_day
        has_usage_finds_the_purpose_of_a_turn
        usage_of_a_step_and_of_an_end_counts_even_if_the_turn_has_ended
        claim_reads_the_usage_before_the_first_request
        spent_counts_tokens_without_a_price_apart
        spent_counts_the_usage_of_a_child_for_its_root
        new_begins_a_new_usage_sum_for_its_session
        spent_is_exact_after_each_of_many_answers
        usage_lists_totals_by_model_session_and_day;
    memories:
        search_memories_matches_any_word_best_first
        search_memories_returns_the_requested_scopes_only
        remember_records_source_trust_and_change
        undo_memory_change_restores_the_state_before_the_last_change
        forget_by_call_and_by_command_acts_once
        record_recalled_keeps_the_memories_with_their_turn
        nearest_compares_vectors_of_the_requested_scopes_and_model
        vector_of_a_changed_memory_is_removed;
    memory_files:
        take_in_changes_forgets_and_adds_once
        take_in_keeps_both_versions_of_a_conflict
        take_in_compares_each_entry_with_its_own_memory
        take_in_forgets_nothing_for_the_file_of_another_log
        take_in_keeps_the_trust_of_an_edited_memory
        changed_scopes_follow_every_change
        write_memory_stores_a_text_once;
    consolidations:
        backlogs_count_uncovered_memories_by_scope
        end_consolidation_applies_edits_that_can_be_undone
        end_consolidation_leaves_out_edits_that_break_a_rule
        begin_consolidation_counts_runs_that_never_ended
        record_upkeep_counts_towards_the_day;
    models:
        choose_setting_applies_to_a_new_session
        set_effort_applies_until_the_next_choice
        set_permission_mode_applies_until_the_next_choice
        set_voice_applies_until_the_next_choice
        set_model_applies_until_the_next_choice
        spawn_gives_a_child_the_model_of_its_parent;
    people:
        add_pairing_stores_a_code_with_its_hint
        decide_accepts_one_decision_per_code
        decide_ends_the_cards_of_all_owners
        decide_accepts_the_kept_message_of_an_admitted_stranger
        settle_command_decides_links_and_unlinks
        remove_person_removes_links_chats_and_codes_of_the_person
        asked_by_returns_own_steering_and_parent_messages;
    audit:
        audit_records_start_and_end_of_calls_with_an_effect
        audit_records_interrupted_calls_and_the_later_choice
        audit_records_approval_requests_and_decisions
        audit_records_cancelled_calls
        audit_records_changes_of_access_and_their_author
        audit_omits_a_failed_write
        audit_rows_returns_the_last_matching_rows
        check_audit_accepts_an_unchanged_chain
        check_audit_reports_a_noted_head_that_is_cut_or_rewritten;
    preview_parts:
        begin_preview_leaves_no_gap
        preview_part_that_was_opened_again_is_edited_at_the_end
        preview_parts_become_text_and_files_follow
        preview_parts_become_the_chunks_of_the_reply
        preview_parts_survive_a_crash
        preview_parts_without_a_chunk_are_removed
        settle_removes_the_preview_if_requested
        settle_leaves_a_preview_of_unknown_outcome_besides_the_remark;
    previews:
        begin_preview_succeeds_once_and_blocks_no_delivery
        begin_preview_waits_for_pending_messages_of_the_chat
        preview_becomes_the_first_chunk_of_the_reply
        preview_passes_its_nonce_to_the_reply
        preview_whose_final_edit_is_refused_abandons_the_whole_reply
        preview_that_was_deleted_makes_the_reply_a_new_message
        preview_of_unknown_outcome_makes_the_reply_a_repetition
        preview_in_state_sending_at_a_crash_has_an_unknown_outcome
        preview_that_was_sent_survives_a_crash
        preview_refusal_delays_the_reply_as_long_as_requested
        preview_of_a_turn_without_a_reply_stays_unchanged
        stop_keeps_the_answer_and_edits_its_preview
        stop_without_an_answer_marks_the_preview
        preview_of_a_background_task_stays_before_its_reply
        preview_is_kept_while_its_turn_waits;
}
