(** The two draws of a word that has a class, counted over all pairs of numbers.

    docs/proofs.md 4.8.  [draw_in_class] is [TwoLevelSampler.sample]: the first number, below [T],
    leaves the class or stays in it; where it stays, a second number, below [Tk], gives an output of
    the class by [own], the draw of Sampler.v over the words of that class. *)

Require Import List Arith Lia Bool.
From Dpsan Require Import Sampler.
Import ListNotations.

Fixpoint sum_of (g : nat -> nat) (n : nat) : nat :=
  match n with
  | 0 => 0
  | S k => sum_of g k + g k
  end.

Lemma sum_ext g h n : (forall i, i < n -> g i = h i) -> sum_of g n = sum_of h n.
Proof.
  induction n as [|n IH]; intros H; simpl; [reflexivity|].
  rewrite IH by (intros; apply H; lia). rewrite (H n) by lia. reflexivity.
Qed.

Lemma sum_add g n m : sum_of g (n + m) = sum_of g n + sum_of (fun i => g (n + i)) m.
Proof.
  induction m as [|m IH]; [rewrite Nat.add_0_r; simpl; lia|].
  rewrite Nat.add_succ_r. simpl. lia.
Qed.

Lemma sum_const c n : sum_of (fun _ => c) n = n * c.
Proof. induction n as [|n IH]; simpl; lia. Qed.

Lemma sum_count p k n : sum_of (fun i => k * Nat.b2n (p i)) n = k * count p n.
Proof. induction n as [|n IH]; simpl; lia. Qed.

(** [o]: base weights, 0 for the outputs of the class; [D]: numbers of a unit of them. *)
Definition draw_in_class (o : list nat) (D : nat) (own : nat -> nat) (r s : nat) : nat :=
  if r / D <? total o then pick o (r / D) else own s.

(** Of the T*Tk pairs, so many give [u]: those that leave the class, and those that stay in it. *)
Theorem class_draw_count o D T Tk own u :
  0 < D -> D * total o <= T ->
  sum_of (fun r => count (fun s => draw_in_class o D own r s =? u) Tk) T =
  D * nth u o 0 * Tk + (T - D * total o) * count (fun s => own s =? u) Tk.
Proof.
  intros HD HT.
  replace T with (D * total o + (T - D * total o)) at 1 by lia.
  rewrite sum_add. f_equal.
  - rewrite (sum_ext _ (fun r => Tk * Nat.b2n (pick o (r / D) =? u))).
    + rewrite sum_count, (count_div (fun r => pick o r =? u)) by assumption.
      rewrite pick_count. lia.
    + intros r Hr. rewrite <- count_const. apply count_ext. intros s _.
      unfold draw_in_class. destruct (r / D <? total o) eqn:E; [reflexivity|].
      apply Nat.ltb_ge in E. assert (D * (r / D) <= r) by (apply Nat.mul_div_le; lia). nia.
  - rewrite (sum_ext _ (fun _ => count (fun s => own s =? u) Tk)); [apply sum_const|].
    intros i _. apply count_ext. intros s _.
    unfold draw_in_class.
    destruct ((D * total o + i) / D <? total o) eqn:E; [|reflexivity].
    apply Nat.ltb_lt in E. rewrite Nat.mul_comm, Nat.div_add_l in E by lia. lia.
Qed.

(** With the draw of Sampler.v inside: [b] and [x] are 0 outside the class, [o] is 0 in it. *)
Corollary word_of_a_class o b x D D' a' T u :
  0 < D -> 0 < D' -> D * total o <= T ->
  sum_of (fun r => count (fun s => draw_in_class o D (draw b x D' a') r s =? u)
                         (numbers b x D' a')) T =
  D * nth u o 0 * numbers b x D' a' + (T - D * total o) * (D' * nth u b 0 + a' * nth u x 0).
Proof. intros. rewrite class_draw_count, draw_count by assumption. reflexivity. Qed.

(** Numbers of pairs for one output.  [w]: its base weight, [S]: first numbers that stay in the
    class, [y]: what the near set of the input has of it, at most [w].  [Tk]: second numbers. *)
Section Ratios.
  Variables D a w : nat.

  (** A word of no class, of T numbers, and a word of a class, of T*Tk pairs. *)
  Definition plain (x : nat) : nat := D * w + a * x.
  Definition pairs (inside : bool) (S Tk D' a' y : nat) : nat :=
    if inside then S * (D' * w + a' * y) else D * w * Tk.

  (** Two words of one class: at most (D' + a')/D'. *)
  Theorem within_a_class inside S Tk D' a' y z :
    y <= w -> D' * pairs inside S Tk D' a' y <= (D' + a') * pairs inside S Tk D' a' z.
  Proof.
    intros Hy. unfold pairs. destruct inside.
    - assert (D' * w + a' * y <= (D' + a') * w) by nia.
      assert (D' * (D' * w + a' * y) <= (D' + a') * (D' * w + a' * z)) by nia. nia.
    - apply Nat.mul_le_mono_r. lia.
  Qed.

  (** The string that is no word, of T*D'*B pairs: it has no near set.  [Tk] = D'*B + a'*C. *)
  Theorem word_and_unknown_of_a_class inside S Tk D' a' B y :
    y <= w -> D' * B <= Tk -> Tk <= (D' + a') * B ->
    D' * pairs inside S Tk D' a' y * (D' * B) <= (D' + a') * pairs inside S (D' * B) D' a' 0 * Tk /\
    D' * pairs inside S (D' * B) D' a' 0 * Tk <= (D' + a') * pairs inside S Tk D' a' y * (D' * B).
  Proof.
    intros Hy HB HT. unfold pairs. destruct inside.
    - rewrite Nat.mul_0_r, Nat.add_0_r. split.
      + replace (D' * (S * (D' * w + a' * y)) * (D' * B))
          with ((S * D') * ((D' * w + a' * y) * (D' * B))) by ring.
        replace ((D' + a') * (S * (D' * w)) * Tk) with ((S * D') * (((D' + a') * w) * Tk)) by ring.
        apply Nat.mul_le_mono_l, Nat.mul_le_mono; [nia|assumption].
      + replace (D' * (S * (D' * w)) * Tk) with ((S * D') * ((D' * w) * Tk)) by ring.
        replace ((D' + a') * (S * (D' * w + a' * y)) * (D' * B))
          with ((S * D') * ((D' * w + a' * y) * ((D' + a') * B))) by ring.
        apply Nat.mul_le_mono_l, Nat.mul_le_mono; [nia|assumption].
    - split.
      + replace (D' * (D * w * Tk) * (D' * B)) with (D' * (D * w * Tk * (D' * B))) by ring.
        replace ((D' + a') * (D * w * (D' * B)) * Tk)
          with ((D' + a') * (D * w * Tk * (D' * B))) by ring.
        apply Nat.mul_le_mono_r. lia.
      + replace (D' * (D * w * (D' * B)) * Tk) with (D' * (D * w * Tk * (D' * B))) by ring.
        replace ((D' + a') * (D * w * Tk) * (D' * B))
          with ((D' + a') * (D * w * Tk * (D' * B))) by ring.
        apply Nat.mul_le_mono_r. lia.
  Qed.

  (** Shares of all pairs have Tk in their denominator, of which a word of no class has none.  The
      bounds are those of [TwoLevelSampler._worst]: [most]/(D*Tk), and (D + a)*Tk/[least]. *)
  Theorem class_against_plain inside S Tk D' a' y x :
    y <= w ->
    D * pairs inside S Tk D' a' y <= Nat.max (D * Tk) ((D' + a') * S) * plain x.
  Proof.
    intros Hy. unfold pairs, plain. destruct inside.
    - transitivity ((D' + a') * S * (D * w + a * x)); [|apply Nat.mul_le_mono_r; lia].
      assert (D' * w + a' * y <= (D' + a') * w) by nia.
      transitivity (D * (S * ((D' + a') * w))); [apply Nat.mul_le_mono_l, Nat.mul_le_mono_l; lia|].
      replace (D * (S * ((D' + a') * w))) with ((D' + a') * S * (D * w)) by ring.
      apply Nat.mul_le_mono_l. lia.
    - transitivity (D * Tk * (D * w + a * x)); [|apply Nat.mul_le_mono_r; lia].
      replace (D * (D * w * Tk)) with (D * Tk * (D * w)) by ring.
      apply Nat.mul_le_mono_l. lia.
  Qed.

  Theorem plain_against_class (inside : bool) S Tk D' a' y x :
    x <= w ->
    plain x * (if inside then D' * S else D * Tk) <= (D + a) * pairs inside S Tk D' a' y.
  Proof.
    intros Hx. unfold pairs, plain. assert (D * w + a * x <= (D + a) * w) by nia.
    destruct inside.
    - transitivity ((D + a) * w * (D' * S)); [apply Nat.mul_le_mono_r; lia|].
      replace ((D + a) * w * (D' * S)) with ((D + a) * (S * (D' * w))) by ring.
      apply Nat.mul_le_mono_l, Nat.mul_le_mono_l. lia.
    - transitivity ((D + a) * w * (D * Tk)); [apply Nat.mul_le_mono_r; lia|].
      apply Nat.eq_le_incl. ring.
  Qed.

  (** Words of two classes: the output is one of the first, one of the second, or of neither. *)
  Theorem two_classes S Tk D' a' y Sj Tj Dj aj z :
    y <= w ->
    D * pairs true S Tk D' a' y * Tj <= (D' + a') * S * pairs false Sj Tj Dj aj z /\
    pairs false S Tk D' a' y * (Dj * Sj) <= D * Tk * pairs true Sj Tj Dj aj z /\
    pairs false S Tk D' a' y * Tj = pairs false Sj Tj Dj aj z * Tk.
  Proof.
    intros Hy. unfold pairs. repeat split.
    - assert (D' * w + a' * y <= (D' + a') * w) by nia.
      transitivity (D * (S * ((D' + a') * w)) * Tj).
      + apply Nat.mul_le_mono_r, Nat.mul_le_mono_l, Nat.mul_le_mono_l. lia.
      + apply Nat.eq_le_incl. ring.
    - transitivity (D * Tk * (Sj * (Dj * w))); [apply Nat.eq_le_incl; ring|].
      apply Nat.mul_le_mono_l, Nat.mul_le_mono_l. lia.
    - ring.
  Qed.
End Ratios.
