(** Prints what the theorems assume: nothing, or the axioms of the real numbers in Coq's library. *)

From Dpsan Require Import Sampler Checker Series Integers Private Certificate Sparse Classes.

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
Print Assumptions two_words_of_a_class.
Print Assumptions unknown_of_a_class.
Print Assumptions any_two_inputs.
Print Assumptions word_of_a_class.
Print Assumptions within_a_class.
Print Assumptions word_and_unknown_of_a_class.
Print Assumptions class_against_plain.
Print Assumptions plain_against_class.
Print Assumptions two_classes.
Print Assumptions sparse_check.
Print Assumptions the_answer_is_right.
