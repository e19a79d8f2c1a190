(** The checker on binary numbers and sparse rows, as a program: Extract.v makes OCaml of it.

    A certificate of the form "sparse" has for each output u the weight c_u = D * b_u, and for each
    word a row of outputs and masses.  docs/coq/reader.ml hands over what it read. *)

Require Import List NArith ZArith Arith Reals Lra Lia Bool.
From Dpsan Require Import Sampler Checker Series Private Certificate.
Import ListNotations.
Open Scope nat_scope.

(** A row: outputs, ascending, and their masses. *)
Definition row := list (N * N).

(** The outputs of a row from number u on are among b, in order, and no mass is above its weight. *)
Fixpoint within (u : N) (s : row) (b : list N) : bool :=
  match b with
  | [] => match s with [] => true | _ => false end
  | w :: b' =>
      match s with
      | [] => true
      | (i, m) :: s' =>
          if N.eqb i u then N.leb m w && within (N.succ u) s' b' else within (N.succ u) s b'
      end
  end.

Fixpoint sum (l : list N) : N := match l with [] => 0%N | w :: l' => (w + sum l')%N end.

Definition sparse (b : list N) (C : N) (rows : list row) : bool :=
  N.leb C (sum b) && forallb (fun s => within 0 s b && N.eqb (sum (map snd s)) C) rows.

(** The row with a mass for each output. *)
Fixpoint dense (u : N) (s : row) (b : list N) : list nat :=
  match b with
  | [] => []
  | _ :: b' =>
      match s with
      | [] => 0 :: dense (N.succ u) [] b'
      | (i, m) :: s' =>
          if N.eqb i u then N.to_nat m :: dense (N.succ u) s' b' else 0 :: dense (N.succ u) s b'
      end
  end.

Lemma sum_total l : total (map N.to_nat l) = N.to_nat (sum l).
Proof. induction l as [|w l IH]; simpl; [reflexivity|]. rewrite IH. lia. Qed.

Lemma within_below b : forall u s,
  within u s b = true -> below (dense u s b) (map N.to_nat b) = true.
Proof.
  induction b as [|w b IH]; intros u s H; simpl in *; [reflexivity|].
  destruct s as [|[i m] s]; simpl.
  - apply IH. destruct b; reflexivity.
  - destruct (N.eqb i u); simpl.
    + apply andb_true_iff in H. destruct H as [Hm H]. apply N.leb_le in Hm.
      apply andb_true_iff. split; [apply Nat.leb_le; lia|]. apply IH. assumption.
    + apply IH. assumption.
Qed.

Lemma within_total b : forall u s,
  within u s b = true -> total (dense u s b) = N.to_nat (sum (map snd s)).
Proof.
  induction b as [|w b IH]; intros u s H; simpl in *.
  - destruct s; [reflexivity|discriminate].
  - destruct s as [|[i m] s]; simpl.
    + rewrite IH; [reflexivity|]. destruct b; reflexivity.
    + destruct (N.eqb i u); simpl.
      * apply andb_true_iff in H. destruct H as [_ H]. rewrite (IH _ _ H). lia.
      * rewrite (IH _ _ H). simpl. lia.
Qed.

Theorem sparse_check b C rows :
  sparse b C rows = true ->
  check (map N.to_nat b) (N.to_nat C) (map (fun s => dense 0 s b) rows) = true.
Proof.
  unfold sparse, check. intros H. apply andb_true_iff in H. destruct H as [HC H].
  apply N.leb_le in HC. apply andb_true_iff. split.
  - apply Nat.leb_le. rewrite sum_total. lia.
  - rewrite forallb_forall in *. intros x Hx. apply in_map_iff in Hx.
    destruct Hx as [s [<- Hs]]. specialize (H s Hs). apply andb_true_iff in H.
    destruct H as [Hw Hm]. apply N.eqb_eq in Hm. apply andb_true_iff. split.
    + apply within_below. assumption.
    + apply Nat.eqb_eq. rewrite (within_total _ _ _ Hw). lia.
Qed.

(** The series of Series.v, each term from the last. *)
Fixpoint terms (p q one : Z) (n : nat) : Z * Z :=
  match n with
  | O => (one, one)
  | S m =>
      let (t, s) := terms p q one m in
      let next := (t * p / (q * Z.of_nat (S m)))%Z in (next, (s + next)%Z)
  end.

Lemma terms_series p q one n : terms p q one n = (term p q one n, series p q one n).
Proof. induction n as [|n IH]; [reflexivity|]. cbn [terms term series]. rewrite IH. reflexivity. Qed.

Definition base (D : N) (c : list N) : list N := map (fun w => N.div w D) c.

(** What the program answers, for epsilon p/q, weights c and increment a. *)
Definition certified (c : list N) (rows : list row) (C D a : N) (p q : Z) (n : nat) : bool :=
  let one := (2 ^ 400)%Z in
  N.ltb 0 D && forallb (fun w => N.eqb (D * N.div w D)%N w) c &&
  N.ltb 0 (sum (base D c)) && sparse (base D c) C rows &&
  Z.leb 0 p && Z.ltb 0 q &&
  Z.leb ((Z.of_N D + Z.of_N a) * one) (Z.of_N D * snd (terms p q one n)).

Section Answer.
  Variables (c : list N) (rows : list row) (C D a : N) (p q : Z) (n : nat).
  Hypothesis yes : certified c rows C D a p q n = true.

  Let b := map N.to_nat (base D c).
  Let each (s : row) := word b (N.to_nat D) (N.to_nat a) (dense 0 s (base D c)).
  Let other := no_word b.
  Let epsilon := (IZR p / IZR q)%R.

  Let parts :
    (0 < D)%N /\ (0 < sum (base D c))%N /\ sparse (base D c) C rows = true /\
    (INR (N.to_nat D + N.to_nat a) / INR (N.to_nat D) <= exp epsilon)%R.
  Proof.
    unfold certified in yes. rewrite !andb_true_iff in yes.
    destruct yes as [[[[[[HD _] Hb] Hs] Hp] Hq] He].
    apply N.ltb_lt in HD, Hb. apply Z.leb_le in Hp, He. apply Z.ltb_lt in Hq.
    rewrite terms_series in He. cbn [snd] in He.
    repeat split; try assumption.
    rewrite !INR_IZR_INZ, Nat2Z.inj_add, !N_nat_Z.
    apply (increments_below_exp p q (2 ^ 400) n); try assumption; lia.
  Qed.

  (** The weights of the certificate are those of the sampler. *)
  Theorem weights_are_the_files w : In w c -> (D * N.div w D)%N = w.
  Proof.
    intros Hw. unfold certified in yes. rewrite !andb_true_iff in yes.
    destruct yes as [[[[[[_ H] _] _] _] _] _]. rewrite forallb_forall in H.
    apply N.eqb_eq. apply H. assumption.
  Qed.

  (** Any two words, a word and a string that is none, and the other way round. *)
  Theorem the_answer_is_right s t :
    In s rows -> In t rows ->
    loses nat epsilon (each s) (each t) /\
    loses nat epsilon (each s) other /\ loses nat epsilon other (each s).
  Proof.
    intros Hs Ht. destruct parts as [HD [Hb [Hc He]]].
    pose proof (sparse_check _ _ _ Hc) as Hk.
    assert (Hpos : (0 < N.to_nat D)%nat) by lia.
    assert (Hsome : (0 < total b)%nat) by (unfold b; rewrite sum_total; lia).
    assert (Is := in_map (fun s => dense 0 s (base D c)) _ _ Hs).
    assert (It := in_map (fun s => dense 0 s (base D c)) _ _ Ht).
    split.
    - apply (two_words _ _ _ _ _ _ Hk Hsome Hpos He); assumption.
    - apply (word_and_no_word _ _ _ _ _ _ Hk Hsome Hpos He). assumption.
  Qed.
End Answer.
