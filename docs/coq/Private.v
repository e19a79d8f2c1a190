(** From one output of one word to sets of outputs, texts, classes of words and post-processing.

    docs/proofs.md 0.1, 4.7, 4.8 and 4.9. *)

Require Import List Reals Lra Lia Psatz.
Import ListNotations.
Open Scope R_scope.

Section Outputs.
  Variable O : Type.

  (** A distribution over outputs; only that it is not negative is used. *)
  Definition law := O -> R.

  (** [p] loses at most e^x against [q]. *)
  Definition loses (x : R) (p q : law) : Prop := forall u, 0 <= p u /\ 0 <= q u /\ p u <= exp x * q u.

  Definition mass {A : Type} (p : A -> R) (S : list A) : R := fold_right Rplus 0 (map p S).

  (** Lemma (6): sets of outputs. *)
  Lemma mass_below {A : Type} (p q : A -> R) k S :
    (forall u, p u <= k * q u) -> mass p S <= k * mass q S.
  Proof.
    intros H. unfold mass. induction S as [|u S IH]; simpl; [lra|].
    specialize (H u). lra.
  Qed.

  Theorem sets x p q S : loses x p q -> mass p S <= exp x * mass q S.
  Proof. intros H. apply mass_below. intros u. apply H. Qed.

  (** Lemma (6): a text of n words, each with a law and an epsilon of its own. *)
  Fixpoint text (ps : list law) (us : list O) : R :=
    match ps, us with
    | [], [] => 1
    | p :: ps', u :: us' => p u * text ps' us'
    | _, _ => 0
    end.

  Inductive all_lose : list R -> list law -> list law -> Prop :=
  | none : all_lose [] [] []
  | one x xs p ps q qs : loses x p q -> all_lose xs ps qs -> all_lose (x :: xs) (p :: ps) (q :: qs).

  Lemma texts_nonneg xs ps qs us : all_lose xs ps qs -> 0 <= text ps us /\ 0 <= text qs us.
  Proof.
    intros H. revert us. induction H as [|x xs p ps q qs Hl H IH]; intros us.
    - destruct us; simpl; lra.
    - destruct us as [|u us]; simpl; [lra|].
      destruct (Hl u) as [Hp [Hq _]]. destruct (IH us) as [H1 H2].
      split; apply Rmult_le_pos; assumption.
  Qed.

  Theorem texts xs ps qs us :
    all_lose xs ps qs -> text ps us <= exp (fold_right Rplus 0 xs) * text qs us.
  Proof.
    intros H. revert us. induction H as [|x xs p ps q qs Hl H IH]; intros us.
    - simpl. rewrite exp_0. destruct us; lra.
    - destruct us as [|u us]; simpl; [lra|].
      destruct (Hl u) as [Hp [Hq Hpq]].
      destruct (texts_nonneg _ _ _ us H) as [Hps Hqs].
      rewrite exp_plus.
      replace (exp x * exp (fold_right Rplus 0 xs) * (q u * text qs us))
        with ((exp x * q u) * (exp (fold_right Rplus 0 xs) * text qs us)) by ring.
      apply Rmult_le_compat; auto.
  Qed.

  Corollary sets_of_texts xs ps qs S :
    all_lose xs ps qs ->
    mass (text ps) S <= exp (fold_right Rplus 0 xs) * mass (text qs) S.
  Proof. intros H. apply mass_below. intros us. apply texts. assumption. Qed.

  (** Lemma (8): post-processing.  [g] reads the drawn words and public data; the outputs that
      give one of [Y] are one set of drawn texts, the same for every input. *)
  Theorem post_processing {T : Type} (g : list O -> T) (Y : T -> bool) xs ps qs S :
    all_lose xs ps qs ->
    mass (text ps) (filter (fun us => Y (g us)) S) <=
    exp (fold_right Rplus 0 xs) * mass (text qs) (filter (fun us => Y (g us)) S).
  Proof. apply sets_of_texts. Qed.
End Outputs.

(** Lemma (7): an epsilon for each class, docs/proofs.md 4.8 (E11).

    [pi] is the base at one output, [E] = e^epsilon, [Ek] = e^epsilon_k, [f] the factor of the class,
    [Z] > 0 the sum that all words share, [l] and [m] what near sets have of the output. *)
Section Classes.
  Variables pi Z E : R.
  Hypotheses (Hpi : 0 <= pi) (HZ : 0 < Z) (HE : 1 <= E).

  (** A word of no class, and a word of class k at an output of its class and at another one. *)
  Definition plain (l : R) : R := pi * (1 + (E - 1) * l) / Z.
  Definition inside (f Ek l : R) : R := f * pi * (1 + (Ek - 1) * l) / Z.
  Definition outside : R := pi / Z.

  Let unit_pos : 0 <= pi / Z.
  Proof. apply Rmult_le_pos; [assumption|]. left. apply Rinv_0_lt_compat. assumption. Qed.

  Lemma factor F l : 1 <= F -> 0 <= l <= 1 -> 1 <= 1 + (F - 1) * l <= F.
  Proof. intros HF [H0 H1]. split; nra. Qed.

  Theorem two_words_of_a_class f Ek l m :
    0 <= f -> 1 <= Ek -> 0 <= l <= 1 -> 0 <= m <= 1 ->
    inside f Ek l <= Ek * inside f Ek m.
  Proof.
    intros Hf HEk Hl Hm. unfold inside.
    destruct (factor Ek l HEk Hl) as [_ Hi]. destruct (factor Ek m HEk Hm) as [Hj _].
    replace (f * pi * (1 + (Ek - 1) * l) / Z) with (f * (pi / Z) * (1 + (Ek - 1) * l)) by (field; lra).
    replace (Ek * (f * pi * (1 + (Ek - 1) * m) / Z)) with (f * (pi / Z) * (Ek * (1 + (Ek - 1) * m)))
      by (field; lra).
    apply Rmult_le_compat_l; [apply Rmult_le_pos; assumption|]. nra.
  Qed.

  (** A string that is no word belongs to one class: its factor there is [f0], without a near set. *)
  Theorem unknown_of_a_class f f0 Ek l :
    0 <= f -> f <= f0 <= f * Ek -> 1 <= Ek -> 0 <= l <= 1 ->
    inside f Ek l <= Ek * (f0 * (pi / Z)) /\ f0 * (pi / Z) <= Ek * inside f Ek l.
  Proof.
    intros Hf [H1 H2] HEk Hl. unfold inside. destruct (factor Ek l HEk Hl) as [Ha Hb].
    replace (f * pi * (1 + (Ek - 1) * l) / Z) with (f * (1 + (Ek - 1) * l) * (pi / Z)) by (field; lra).
    split; rewrite <- Rmult_assoc; apply Rmult_le_compat_r; try assumption; nra.
  Qed.

  (** What any input may have at this output: base, or more, up to the bound [a] between classes. *)
  Definition between_base (a v : R) : Prop := pi / Z <= v <= a * (pi / Z).

  Lemma plain_between a l : E <= a -> 0 <= l <= 1 -> between_base a (plain l).
  Proof.
    intros Ha Hl. unfold between_base, plain. destruct (factor E l HE Hl).
    replace (pi * (1 + (E - 1) * l) / Z) with ((1 + (E - 1) * l) * (pi / Z)) by (field; lra).
    split; [rewrite <- (Rmult_1_l (pi / Z)) at 1|]; apply Rmult_le_compat_r; lra.
  Qed.

  Lemma inside_between a f Ek l :
    1 <= f -> 1 <= Ek -> f * Ek <= a -> 0 <= l <= 1 -> between_base a (inside f Ek l).
  Proof.
    intros Hf HEk Ha Hl. unfold between_base, inside. destruct (factor Ek l HEk Hl) as [H1 H2].
    replace (f * pi * (1 + (Ek - 1) * l) / Z) with (f * (1 + (Ek - 1) * l) * (pi / Z)) by (field; lra).
    split; [rewrite <- (Rmult_1_l (pi / Z)) at 1|]; apply Rmult_le_compat_r; try assumption; nra.
  Qed.

  Lemma outside_between a : 1 <= a -> between_base a outside.
  Proof. intros Ha. unfold between_base, outside. split; [lra|]. nra. Qed.

  (** Any two inputs: the larger bound, where every class has f >= 1, as the program checks. *)
  Theorem any_two_inputs a v w : 1 <= a -> between_base a v -> between_base a w -> v <= a * w.
  Proof.
    intros Ha [_ Hv] [Hw _]. eapply Rle_trans; [exact Hv|]. apply Rmult_le_compat_l; lra.
  Qed.
End Classes.
