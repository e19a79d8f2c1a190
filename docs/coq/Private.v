(** From one output of one word to sets of outputs, texts and post-processing.

    docs/proofs.md 0.1, 4.1 and 4.9. *)

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

  (** Lemma (7): post-processing.  [g] reads the drawn words and public data; the outputs that
      give one of [Y] are one set of drawn texts, the same for every input. *)
  Theorem post_processing {T : Type} (g : list O -> T) (Y : T -> bool) xs ps qs S :
    all_lose xs ps qs ->
    mass (text ps) (filter (fun us => Y (g us)) S) <=
    exp (fold_right Rplus 0 xs) * mass (text qs) (filter (fun us => Y (g us)) S).
  Proof. apply sets_of_texts. Qed.
End Outputs.
