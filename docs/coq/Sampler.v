(** What a draw gives, counted over all numbers that it may begin with.

    docs/proofs.md 2.9.5.  [draw] is [SparseTable.outputs], for one input: [b] are the base
    weights of all outputs, [x] the masses of its near set (0 outside it). *)

Require Import List Arith Lia Bool.
Import ListNotations.

(** How many of the numbers 0 ... n - 1 have a property. *)
Fixpoint count (p : nat -> bool) (n : nat) : nat :=
  match n with
  | 0 => 0
  | S k => count p k + Nat.b2n (p k)
  end.

Lemma count_ext p q n : (forall i, i < n -> p i = q i) -> count p n = count q n.
Proof.
  induction n as [|n IH]; intros H; simpl; [reflexivity|].
  rewrite IH by (intros; apply H; lia). rewrite (H n) by lia. reflexivity.
Qed.

Lemma count_const v n : count (fun _ => v) n = n * Nat.b2n v.
Proof. induction n as [|n IH]; simpl; lia. Qed.

Lemma count_add p n m : count p (n + m) = count p n + count (fun i => p (n + i)) m.
Proof.
  induction m as [|m IH]; [rewrite Nat.add_0_r; simpl; lia|].
  rewrite Nat.add_succ_r. simpl. lia.
Qed.

(** Dividing by k: each number comes from k others. *)
Lemma count_div p k n : 0 < k -> count (fun r => p (r / k)) (k * n) = k * count p n.
Proof.
  intros Hk. induction n as [|n IH]; [rewrite Nat.mul_0_r; simpl; lia|].
  rewrite Nat.mul_succ_r, count_add, IH.
  rewrite (count_ext (fun i => p ((k * n + i) / k)) (fun _ => p n) k).
  - rewrite count_const. cbn [count]. rewrite Nat.mul_add_distr_l. reflexivity.
  - intros i Hi. f_equal. rewrite Nat.mul_comm, Nat.div_add_l by lia.
    rewrite Nat.div_small by assumption. lia.
Qed.

Definition total (l : list nat) : nat := fold_right plus 0 l.

(** The output at a number below the sum of the weights: cumulative weights, as [NearSets.find]. *)
Fixpoint pick (l : list nat) (r : nat) : nat :=
  match l with
  | [] => 0
  | w :: t => if r <? w then 0 else S (pick t (r - w))
  end.

Lemma pick_count l : forall u, count (fun r => pick l r =? u) (total l) = nth u l 0.
Proof.
  induction l as [|w t IH]; intros u; [destruct u; reflexivity|].
  simpl total. rewrite count_add.
  rewrite (count_ext _ (fun _ => 0 =? u)).
  - rewrite count_const.
    rewrite (count_ext _ (fun i => S (pick t i) =? u)).
    + destruct u as [|v]; simpl nth.
      * rewrite (count_ext _ (fun _ => false)) by reflexivity.
        rewrite count_const. simpl. lia.
      * rewrite (count_ext _ (fun i => pick t i =? v)) by reflexivity.
        rewrite IH. simpl. lia.
    + intros i _. simpl pick. destruct (w + i <? w) eqn:E.
      * apply Nat.ltb_lt in E. lia.
      * replace (w + i - w) with i by lia. reflexivity.
  - intros i Hi. simpl pick. destruct (i <? w) eqn:E; [reflexivity|].
    apply Nat.ltb_ge in E. lia.
Qed.

(** One number r below [numbers] chooses the branch and the output. *)
Definition numbers (b x : list nat) (D a : nat) : nat := a * total x + D * total b.

Definition draw (b x : list nat) (D a r : nat) : nat :=
  if r <? a * total x then pick x (r / a) else pick b ((r - a * total x) / D).

(** Lemma (1): the output u has exactly D*b_u + a*x_u of the D*B + a*C numbers. *)
Theorem draw_count b x D a u :
  0 < D ->
  count (fun r => draw b x D a r =? u) (numbers b x D a) = D * nth u b 0 + a * nth u x 0.
Proof.
  intros HD. unfold numbers. rewrite count_add.
  rewrite (count_ext _ (fun r => pick x (r / a) =? u)).
  - rewrite (count_ext _ (fun r => pick b (r / D) =? u) (D * total b)).
    + rewrite (count_div (fun r => pick b r =? u)) by assumption. rewrite pick_count.
      destruct a as [|a]; [simpl; lia|].
      rewrite (count_div (fun r => pick x r =? u)) by lia. rewrite pick_count. lia.
    + intros i _. unfold draw. destruct (a * total x + i <? a * total x) eqn:E.
      * apply Nat.ltb_lt in E. lia.
      * replace (a * total x + i - a * total x) with i by lia. reflexivity.
  - intros i Hi. unfold draw. apply Nat.ltb_lt in Hi. rewrite Hi. reflexivity.
Qed.

(** Lemma (2): of the numbers below N that are kept, each remainder has the same number.

    [Streams.integers] keeps x if it is at most N - 1 - (N mod bound), N = 2^64, and takes the
    remainder; otherwise it draws again. *)
Definition kept (N bound : nat) : nat := N - N mod bound.

Lemma count_eq v n : count (fun i => i =? v) n = Nat.b2n (v <? n).
Proof.
  induction n as [|n IH]; [reflexivity|].
  simpl count. rewrite IH.
  destruct (Nat.ltb_spec v n), (Nat.eqb_spec n v), (Nat.ltb_spec v (S n)); simpl; lia.
Qed.

Theorem rejection_uniform N bound v :
  v < bound -> count (fun x => x mod bound =? v) (kept N bound) = N / bound.
Proof.
  intros Hv.
  replace (kept N bound) with (N / bound * bound).
  - induction (N / bound) as [|q IH]; [reflexivity|].
    replace (S q * bound) with (q * bound + bound) by lia.
    rewrite count_add, IH.
    rewrite (count_ext _ (fun i => i =? v)).
    + rewrite count_eq. apply Nat.ltb_lt in Hv. rewrite Hv. simpl. lia.
    + intros i Hi. f_equal.
      rewrite Nat.add_comm, Nat.mod_add, Nat.mod_small by lia. reflexivity.
  - unfold kept. pose proof (Nat.div_mod N bound). lia.
Qed.

(** The same number for any two remainders, and never more than N are kept. *)
Corollary rejection_fair N bound v v' :
  v < bound -> v' < bound ->
  count (fun x => x mod bound =? v) (kept N bound) =
  count (fun x => x mod bound =? v') (kept N bound).
Proof. intros. rewrite !rejection_uniform by assumption. reflexivity. Qed.
