"""The faults that tests make real: what goes wrong, and the test that shows what happens then.

A test stands for one fault; where it has several cases, each is one.
"""

from __future__ import annotations

UNIT = "regression_tests/unit"
FAULTS = f"{UNIT}/guard/test_faults.py"
ENTERS = f"{UNIT}/guard/test_what_enters.py"
FORKS = f"{UNIT}/guard/test_threads_and_forks.py"
ENDS = f"{UNIT}/guard/test_ends_of_a_run.py"
FILE = f"{UNIT}/guard/test_file_of_a_run.py"
GROUP = f"{UNIT}/guard/test_memory_group.py"
ANSWERING = f"{UNIT}/live/test_answering.py"
BEGAN = f"{UNIT}/capture/test_process_began.py"
INTERRUPTS = f"{UNIT}/guard/test_interrupts.py"
GUARD, STORE = f"{UNIT}/guard/test_guard.py", f"{UNIT}/store"

#: Tests by what they make go wrong; the name of a test says what happens then.
TESTS: dict[str, tuple[str, ...]] = {
    "limits of the system, streams, clocks, modules, threads": (
        f"{FAULTS}::test_loop_goes_on_and_the_file_can_be_read_when",
    ),
    "cgroups": (
        f"{GROUP}::test_limit_of_a_memory_group_is_told_and_nearly_reached_it_hurts_nobody",
        f"{GROUP}::test_killed_at_the_limit_of_its_group_the_file_can_be_read_and_names_the_leak",
        f"{GROUP}::test_limit_of_a_group_of_version_2_is_told",
        f"{GROUP}::test_limit_that_is_no_number_of_bytes_is_none",
        f"{GROUP}::test_groups_that_vanish_in_mid_run_are_no_error",
    ),
    "a full disk": (
        f"{FAULTS}::test_full_disk_ends_the_file_and_not_the_loop",
        f"{GUARD}::test_disk_that_is_full_from_the_start_is_refused",
        f"{STORE}/test_bounded_file.py::"
        "test_thinning_that_is_interrupted_leaves_a_whole_file_that_goes_on",
    ),
    "/proc unreadable, clear_refs denied, a probe broken or slow": (
        f"{FAULTS}::test_proc_that_cannot_be_read_is_a_note",
        f"{FAULTS}::test_peak_that_may_not_be_reset_is_a_note",
        f"{UNIT}/capture/test_probes.py::test_peak_meter_says_why_it_cannot_reset",
        f"{UNIT}/capture/test_probes.py::test_broken_probe_is_a_reason_and_the_others_still_read",
        f"{FAULTS}::test_gauge_that_hangs_again_and_again_is_asked_no_more",
        f"{FAULTS}::test_gauge_that_never_returns_is_ended_by_an_interrupt_and_the_run_goes_on",
        f"{GUARD}::test_broken_heap_walk_becomes_a_note_and_the_loop_goes_on",
        f"{GUARD}::test_gauge_that_raises_becomes_a_note",
        f"{ENTERS}::test_gauge_that_is_no_finite_number_is_a_note_and_the_file_stays_readable",
        f"{ENTERS}::test_gauge_that_adds_gauges_does_not_end_the_look",
    ),
    "SIGKILL": (
        f"{FAULTS}::test_killed_at_any_moment_the_file_can_be_read",
        f"{STORE}/test_bounded_file.py::"
        "test_process_killed_while_it_thins_leaves_a_file_that_can_be_read",
        f"{STORE}/test_jsonl.py::test_restart_appends_a_second_run_after_the_torn_first",
    ),
    "interrupts and other ends": (
        f"{INTERRUPTS}::test_interrupts_at_random_moments_reach_the_program_and_leave_nothing_open",
        f"{INTERRUPTS}::test_interrupt_at_any_moment_of_a_round_is_over_with_the_next_round",
        f"{INTERRUPTS}::test_interrupted_start_leaves_nothing_and_the_next_one_begins",
        f"{INTERRUPTS}::test_interrupted_end_is_made_good_by_the_next_call",
        f"{INTERRUPTS}::test_interrupt_in_a_look_is_over_with_the_next_round",
        f"{INTERRUPTS}::test_interrupt_while_a_line_is_kept_leaves_the_others_whole",
        f"{INTERRUPTS}::test_interrupt_in_a_report_leaves_the_run_going_on",
        f"{FAULTS}::"
        "test_exceptions_that_another_thread_sends_reach_the_loop_and_leave_nothing_open",
        f"{FAULTS}::test_what_ends_a_program_goes_through_a_gauge",
        f"{FORKS}::test_interrupt_inside_the_guard_reaches_the_user_and_leaves_nothing_open",
        f"{ENDS}::test_run_has_a_last_look_however_it_ends",
        f"{FORKS}::test_nearly_full_stack_is_no_error_of_the_guard",
        f"{FORKS}::test_phase_runs_its_body_wherever_the_program_has_eight_frames_left",
    ),
    "forks, threads, interpreters": (
        f"{FAULTS}::test_sub_interpreter_is_refused_or_right",
        f"{FAULTS}::test_whatever_a_forked_child_does_both_go_on_when_it_was_forked_by",
        f"{FORKS}::test_fork_while_the_guard_walks_leaves_the_childs_collector_on",
        f"{FORKS}::test_forked_childs_exit_leaves_the_parents_socket_and_file",
        f"{FORKS}::test_stop_from_another_thread_lets_the_loop_go_on",
        f"{FILE}::test_worker_that_outlives_the_training_does_not_keep_its_file_locked",
        f"{FORKS}::test_interleaved_generators_close_their_own_phases",
    ),
    "files that are none, or another's": (
        f"{FILE}::test_two_processes_with_one_file_are_refused_in_one_line",
        f"{FILE}::test_what_is_no_file_is_refused_in_one_line",
        f"{FILE}::test_file_that_is_deleted_in_mid_run_is_missed_in_one_line",
        f"{ANSWERING}::test_socket_of_another_process_is_not_believed",
        f"{BEGAN}::test_clock_that_is_set_in_mid_run_does_not_disown_the_process",
        f"{ANSWERING}::test_folder_that_others_may_enter_or_that_is_a_link_is_not_used",
        f"{FILE}::test_missing_folder_for_temporary_files_is_no_error_of_the_loop",
        f"{ENTERS}::test_command_line_with_an_undecodable_byte_is_recorded",
        f"{ENTERS}::test_labels_that_no_file_can_hold_are_written_as_escapes",
    ),
    "run files, logs and budgets that are damaged": (
        f"{STORE}/test_jsonl.py::test_torn_last_line_costs_only_that_line",
        f"{STORE}/test_jsonl.py::test_garbage_line_is_skipped_and_counted",
        f"{STORE}/test_jsonl.py::test_later_schema_is_refused_and_says_what_to_do",
        f"{STORE}/test_mutations.py::test_deeply_nested_line_does_not_spoil_the_file",
        f"{STORE}/test_mutations.py::"
        "test_inputs_that_were_found_by_fuzzing_are_read_or_refused_in_one_line",
        f"{UNIT}/textlog/test_textlog_unreadable.py::test_damaged_gzip",
    ),
    "SIGKILL of an upload or a save": (
        f"{UNIT}/trainer/test_upload.py::"
        "test_killed_at_any_moment_of_an_upload_a_folder_with_a_manifest_is_whole",
        f"{STORE}/test_remote_copy.py::"
        "test_killed_at_any_moment_of_a_copy_there_is_no_run_or_one_that_can_be_read",
        f"{STORE}/test_remote_copy.py::"
        "test_copying_process_that_is_killed_is_begun_again_for_the_last_copy",
        f"{STORE}/test_remote_copy.py::test_trainer_that_is_killed_has_its_last_lines_copied",
        f"{UNIT}/trainer/test_checkpoints.py::"
        "test_killed_at_any_moment_of_a_save_every_checkpoint_that_can_be_seen_is_whole",
    ),
    "uploads without a network": (
        f"{STORE}/test_remote_copy.py::"
        "test_without_a_network_the_run_stays_where_it_is_and_its_place_is_said",
        f"{UNIT}/trainer/test_upload.py::test_failures_are_tried_again",
        f"{UNIT}/trainer/test_upload.py::"
        "test_a_file_that_never_arrives_is_named_and_the_rest_goes_on",
        f"{UNIT}/trainer/test_upload.py::test_closing_gives_up_after_its_timeout_and_says_so",
        f"{UNIT}/trainer/test_upload.py::test_password_of_a_url_is_in_no_message",
    ),
    "checkpoints that were cut short": (
        f"{UNIT}/trainer/test_checkpoints.py::test_interrupted_save_is_swept_and_never_loaded",
        f"{UNIT}/trainer/test_checkpoints.py::test_damaged_file_is_one_clear_error",
        f"{UNIT}/trainer/test_checkpoints.py::test_missing_file_is_one_clear_error",
        "regression_tests/integration/test_trainer_killed.py::"
        "test_killed_at_random_moments_it_ends_like_an_unbroken_run",
    ),
}
