(** All together: integers that pass the checker give pure local differential privacy. *)

Require Import List Arith Reals Lra Lia.
From Dpsan Require Import Sampler Checker Private.
Open Scope R_scope.

Section Certificate.
  Variables (b : list nat) (C : nat) (rows : list (list nat)) (D a : nat) (epsilon : R).
  Hypotheses
    (checked : check b C rows = true)
    (some_output : (0 < total b)%nat)
    (scale : (0 < D)%nat)
    (increment : INR (D + a) / INR D <= exp epsilon).

  (** The share of the numbers that give an output, by [draw] itself. *)
  Definition word (x : list nat) : law nat :=
    fun u => INR (count (fun r => draw b x D a r =? u)%nat (numbers b x D a))
             / INR (numbers b x D a).

  Definition no_word : law nat :=
    fun u => INR (count (fun r => pick b r =? u)%nat (total b)) / INR (total b).

  Let numbers_pos x : 0 < INR (numbers b x D a).
  Proof. apply lt_0_INR. unfold numbers. nia. Qed.

  Let total_pos : 0 < INR (total b).
  Proof. apply lt_0_INR. assumption. Qed.

  Let scale_pos : 0 < INR D.
  Proof. apply lt_0_INR. assumption. Qed.

  Let share_nonneg m n : 0 < INR n -> 0 <= INR m / INR n.
  Proof.
    intros H. apply Rmult_le_pos; [apply pos_INR|]. left. apply Rinv_0_lt_compat. assumption.
  Qed.

  (** p/s <= (D + a)/D * q/t, from the comparison of integers. *)
  Let from_integers p s q t :
    0 < INR s -> 0 < INR t -> (p * t * D <= (D + a) * q * s)%nat ->
    INR p / INR s <= exp epsilon * (INR q / INR t).
  Proof.
    intros Hs Ht H. apply le_INR in H. rewrite !mult_INR in H.
    apply Rle_trans with (INR (D + a) / INR D * (INR q / INR t)).
    - apply (Rmult_le_reg_l (INR s * INR t * INR D)).
      + repeat apply Rmult_lt_0_compat; assumption.
      + replace (INR s * INR t * INR D * (INR p / INR s)) with (INR p * INR t * INR D)
          by (field; lra).
        replace (INR s * INR t * INR D * (INR (D + a) / INR D * (INR q / INR t)))
          with (INR (D + a) * INR q * INR s) by (field; lra).
        assumption.
    - apply Rmult_le_compat_r; [apply share_nonneg; assumption|assumption].
  Qed.

  Theorem two_words x y : In x rows -> In y rows -> loses nat epsilon (word x) (word y).
  Proof.
    intros Hx Hy u. unfold word. rewrite !draw_count by assumption.
    repeat split; try (apply share_nonneg; apply numbers_pos).
    destruct (word_word b C rows D a x y u checked Hx Hy) as [Hn Hw].
    apply from_integers; try apply numbers_pos.
    rewrite Hn. unfold weight in Hw.
    rewrite <- (Nat.mul_assoc _ (numbers b y D a) D), (Nat.mul_comm (numbers b y D a) D).
    rewrite Nat.mul_assoc. apply Nat.mul_le_mono_r. assumption.
  Qed.

  Theorem word_and_no_word x :
    In x rows -> loses nat epsilon (word x) no_word /\ loses nat epsilon no_word (word x).
  Proof.
    intros Hx. split; intros u; unfold word, no_word;
      rewrite !draw_count by assumption; rewrite !pick_count;
      (repeat split; try (apply share_nonneg; (apply numbers_pos || assumption)));
      apply from_integers; try apply numbers_pos; try assumption.
    - apply (word_unknown b C rows D a x u checked Hx).
    - apply (unknown_word b C rows D a x u checked Hx).
  Qed.
End Certificate.
