"""Programs that ``dpsan verify`` once called kept, or that no test noticed: both must see each."""

import json
import re
import subprocess
import sys
from functools import partial
from pathlib import Path

from scoreboard import fork
from scoreboard.base import ROOT, Row, Size, environment, row

_SMALL = "--vocab-size 2000 -j 1 --draws 10000"
_SETTINGS = {
    "knn-response": f"-e 8 -m knn-response {_SMALL}",
    "public words": f"-e 2 --public function {_SMALL}",
    "exponential": f"-e 4 -m exponential {_SMALL}",
    "exponential, again": f"-e 1 -m exponential {_SMALL}",
}
"""The last two use one cache, one after the other."""
TESTS: dict[str, tuple[str, ...]] = {
    "regressions": (
        "checks/test_checks.py::test_the_program_has_no_fault_with_any_option",
        "checks/test_checks.py::test_every_mechanism_prints_its_loss_and_draws_as_it_says",
        "formats/test_documents.py::test_the_command",
        "formats/test_formats_docx.py::test_planted_everywhere",
        "mechanisms/test_tables.py::test_knn_response_outside_draws_every_other_word",
        "mechanisms/test_optimal_response.py::test_every_unit_of_the_base_can_be_drawn",
        "mechanisms/test_optimal_response.py::test_no_word_of_the_bundled_vocabulary_is_always_itself",
        "mechanisms/test_public_words.py::test_draws_agree_with_probabilities",
        "privacy/test_certificate.py::test_a_cached_certificate_is_that_of_its_own_epsilon",
        "privacy/test_randomness.py::test_no_third_of_the_numbers_comes_more_often",
        "privacy/test_randomness.py::test_every_block_of_a_long_record_has_numbers_of_its_own",
        "run/test_ledger.py::test_nobody_who_reads_a_ledger_can_test_guesses_of_its_records",
        "run/test_memo.py::test_nobody_who_reads_a_memo_can_test_guesses_of_its_messages",
        "run/test_shared_numbers.py",
        "sanitize/test_statement.py",
        "space/test_space.py::test_a_file_that_changes_while_it_is_opened",
    ),
    "cache": (
        "embeddings/test_cache.py::test_a_file_that_is_not_what_was_saved_is_noticed",
        "embeddings/test_cache.py::test_every_bit_counts",
    ),
    "deaths": (
        "cli/test_streams.py::test_a_worker_that_is_killed_and_a_reader_that_leaves",
        "run/test_workers.py::test_a_death_answers_all_work",
        "run/test_workers.py::test_the_others_do_the_work_of_a_dead_worker",
    ),
    "first": (
        "embeddings/test_cache.py::test_threads_build_once_and_note_that_they_wait",
        "embeddings/test_cache.py::test_modes",
        "embeddings/test_cache_crash.py",
    ),
    "resume": ("run/test_same_request.py",),
    "relations": ("run/test_same_files.py",),
    "moving": (
        "files/test_final_name.py::test_what_appears_during_a_run_stays",
        "cli/test_streams.py::test_members_of_gzip",
        "analysis/test_report.py::test_command",
        "run/test_same_files.py::test_relations_of_rewrite",
    ),
    "shape": (
        "checks/test_checks.py"
        "::test_words_and_numbers_of_one_shape_are_cut_alike_on_the_bundled_vocabulary",
    ),
    "seed": (
        "run/test_consistent_runs.py::test_every_way_to_run_draws_the_same_words",
        "mechanisms/test_contract.py::test_same_streams_same_output",
        "sanitize/test_sanitizer.py::test_any_batching_and_any_copy_give_the_same",
    ),
    "suites": (
        "cli/test_streams.py::test_members_of_gzip",
        "formats/test_formats_jsonl.py::test_damaged_rows_are_refused_or_right",
        "formats/test_formats_jsonl.py::test_malformed_tells_place_and_no_content",
        "formats/test_formats_text.py::test_messages",
        "text/test_text.py::test_every_mark_is_a_word_of_its_own",
    ),
    "verify": (
        "analysis/test_verify.py::test_broken_and_refuted_mechanisms_are_violated",
        "analysis/test_verify.py::test_largest_value_that_draws_can_show",
        "analysis/test_verify_program.py::test_every_noise_has_the_distribution_it_states",
        "analysis/test_verify_program.py::test_the_same_programs_without_the_defect_are_kept",
    ),
    "nearest": (
        "space/test_int8_search.py::test_a_kernel_that_saturates_gets_seven_bits",
        "space/test_int8_search.py::test_the_same_rows_and_distances",
        "space/test_space.py::test_search_is_exact_at_every_distance",
    ),
}
"""Rows that are tests, which must find the mutants of these rows."""


def _verified(row, size, folder, commands):
    for name, options in [*commands.items()] * size.of(1, 1, 5):
        row.tried += 1
        # A fork, which has the fixed keys of this process.
        done = fork.run(f"verify {options} --json", folder, environment(folder), timeout=3600)
        if done.status not in (0, 1):
            row.count(f"{name}: exit status {done.status}", True)
            continue
        assert done.out, done.err  # an internal error is no verdict
        checks = json.loads(done.out)["checks"]
        refuted = ", ".join(each["name"] for each in checks if each["held"] is False)
        refuted = refuted or "certificate or draws"
        row.count(f"{name}: VIOLATED ({refuted})", done.status == 1)


@row("verdicts", "verdicts of `dpsan verify`: optimal-response", "≥ 5 / 0")
def verdicts(row: Row, size: Size, folder: Path) -> None:
    """``verify`` as most people call it, for the sound program: never VIOLATED."""
    _verified(row, size, folder, {"optimal-response": "-e 8 --draws 10000"})


@row("settings", f"verdicts of `dpsan verify`: {', '.join(_SETTINGS)}", "≥ 5 each / 0")
def settings(row: Row, size: Size, folder: Path) -> None:
    """The same of other mechanisms and settings, on the first 2,000 words."""
    _verified(row, size, folder, _SETTINGS)


def _tested(tests: tuple[str, ...], row: Row, size: Size, folder: Path) -> None:
    paths = [str(ROOT / "tests" / each) for each in tests]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=no", *paths]
    command += ["-x"] * (size is Size.MUTANT)
    given = {"cwd": folder, "env": environment(folder)}
    done = subprocess.run(command, capture_output=True, text=True, **given)
    passed = re.search(r"(\d+) passed", done.stdout)
    row.tried = int(passed[1]) if passed else 0
    for failed in re.findall(r"^(?:FAILED|ERROR) \S*?::(\w+)", done.stdout, re.MULTILINE):
        row.count(failed, True)
    row.count(f"pytest: exit status {done.returncode}", done.returncode not in (0, 1))
    row.count("no test", not row.tried and not row.bad)


for _name, _tests in TESTS.items():
    row(_name, f"tests of the row {_name}", "0")(partial(_tested, _tests))
