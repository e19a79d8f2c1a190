(** Prints what the theorems assume: nothing, or the axioms of the real numbers in Coq's library. *)

From Dpsan Require Import Sampler Checker Series Integers Private Certificate Sparse.

Print Assumptions draw_count.
Print Assumptions rejection_fair.
Print Assumptions word_word.
Print Assumptions word_unknown.
Print Assumptions unknown_word.
Print Assumptions increments_below_exp.
Print Assumptions epsilon_8.
Print Assumptions two_words.
Print Assumptions word_and_no_word.
Print Assumptions sets_of_texts.
Print Assumptions post_processing.
Print Assumptions sparse_check.
Print Assumptions the_answer_is_right.
