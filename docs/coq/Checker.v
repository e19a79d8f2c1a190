(** A checker of a certificate, and what it proves.

    docs/proofs.md 2.9.1 on integers.  [check] is what docs/check_certificate.py requires of the
    form "common" when all rows have the same sum, as they have in dpsan. *)

Require Import List Arith Lia Bool.
From Dpsan Require Import Sampler.
Import ListNotations.

(** No mass of a near set is above the base weight. *)
Fixpoint below (x b : list nat) : bool :=
  match x, b with
  | [], [] => true
  | v :: x', w :: b' => (v <=? w) && below x' b'
  | _, _ => false
  end.

Definition check (b : list nat) (C : nat) (rows : list (list nat)) : bool :=
  (C <=? total b) && forallb (fun x => below x b && (total x =? C)) rows.

Lemma below_nth x : forall b u, below x b = true -> nth u x 0 <= nth u b 0.
Proof.
  induction x as [|v x IH]; intros [|w b] u H; simpl in H; try discriminate.
  - destruct u; simpl; lia.
  - apply andb_true_iff in H. destruct H as [H1 H2].
    apply Nat.leb_le in H1. destruct u; simpl; [assumption|]. apply IH. assumption.
Qed.

Lemma check_row b C rows x :
  check b C rows = true -> In x rows ->
  total x = C /\ C <= total b /\ forall u, nth u x 0 <= nth u b 0.
Proof.
  unfold check. intros H Hx. apply andb_true_iff in H. destruct H as [HC H].
  rewrite forallb_forall in H. specialize (H x Hx).
  apply andb_true_iff in H. destruct H as [H1 H2].
  apply Nat.leb_le in HC. apply Nat.eqb_eq in H2.
  repeat split; try assumption. intros u. apply below_nth. assumption.
Qed.

(** Weight of output u for a word with the near set x. *)
Definition weight (b x : list nat) (D a u : nat) : nat := D * nth u b 0 + a * nth u x 0.

(** Lemma (3): two words.  Their totals are equal, so probabilities compare as weights do. *)
Theorem word_word b C rows D a x y u :
  check b C rows = true -> In x rows -> In y rows ->
  numbers b x D a = numbers b y D a /\
  weight b x D a u * D <= (D + a) * weight b y D a u.
Proof.
  intros H Hx Hy.
  destruct (check_row _ _ _ _ H Hx) as [Tx [_ Bx]].
  destruct (check_row _ _ _ _ H Hy) as [Ty [_ _]].
  unfold numbers, weight. split; [rewrite Tx, Ty; reflexivity|].
  specialize (Bx u).
  assert (D * nth u b 0 + a * nth u x 0 <= (D + a) * nth u b 0) by nia.
  assert (nth u b 0 * D <= D * nth u b 0 + a * nth u y 0) by lia.
  transitivity ((D + a) * nth u b 0 * D); [apply Nat.mul_le_mono_r; assumption|].
  rewrite <- Nat.mul_assoc. apply Nat.mul_le_mono_l. assumption.
Qed.

(** A word against a string that is no word: that has the weights b, with total B. *)
Theorem word_unknown b C rows D a x u :
  check b C rows = true -> In x rows ->
  weight b x D a u * total b * D <= (D + a) * nth u b 0 * numbers b x D a.
Proof.
  intros H Hx. destruct (check_row _ _ _ _ H Hx) as [Tx [_ Bx]].
  unfold numbers, weight. specialize (Bx u).
  assert (D * nth u b 0 + a * nth u x 0 <= (D + a) * nth u b 0) by nia.
  assert (total b * D <= a * total x + D * total b) by lia.
  rewrite <- Nat.mul_assoc. apply Nat.mul_le_mono; assumption.
Qed.

Theorem unknown_word b C rows D a x u :
  check b C rows = true -> In x rows ->
  nth u b 0 * numbers b x D a * D <= (D + a) * weight b x D a u * total b.
Proof.
  intros H Hx. destruct (check_row _ _ _ _ H Hx) as [Tx [HC _]].
  unfold numbers, weight.
  assert (a * total x + D * total b <= (D + a) * total b) by nia.
  assert (nth u b 0 * D <= D * nth u b 0 + a * nth u x 0) by lia.
  replace (nth u b 0 * (a * total x + D * total b) * D)
    with ((a * total x + D * total b) * (nth u b 0 * D)) by lia.
  replace ((D + a) * (D * nth u b 0 + a * nth u x 0) * total b)
    with (((D + a) * total b) * (D * nth u b 0 + a * nth u x 0)) by lia.
  apply Nat.mul_le_mono; assumption.
Qed.
