(** A fraction below e^x: [exp_from_below] of docs/check_certificate.py.

    Every term of the series is an integer, rounded down.  x = p/q. *)

Require Import ZArith Reals Lra Lia Psatz.
Open Scope R_scope.

(** The term number n, in units of 1/one. *)
Fixpoint term (p q one : Z) (n : nat) : Z :=
  match n with
  | O => one
  | S m => (term p q one m * p / (q * Z.of_nat (S m)))%Z
  end.

Fixpoint series (p q one : Z) (n : nat) : Z :=
  match n with
  | O => one
  | S m => (series p q one m + term p q one (S m))%Z
  end.

Lemma floor_below (t d : Z) : (0 < d)%Z -> IZR (t / d) <= IZR t / IZR d.
Proof.
  intros Hd. assert (0 < IZR d) by (apply (IZR_lt 0); assumption).
  apply (Rmult_le_reg_l (IZR d)); [assumption|].
  replace (IZR d * (IZR t / IZR d)) with (IZR t) by (field; lra).
  rewrite <- mult_IZR. apply IZR_le. apply Z.mul_div_le. assumption.
Qed.

Lemma term_nonneg p q one n : (0 <= p)%Z -> (0 < q)%Z -> (0 <= one)%Z -> (0 <= term p q one n)%Z.
Proof.
  intros Hp Hq Ho. induction n as [|n IH]; [assumption|].
  cbn [term]. apply Z.div_pos; [|lia]. apply Z.mul_nonneg_nonneg; assumption.
Qed.

Lemma term_below p q one n :
  (0 <= p)%Z -> (0 < q)%Z -> (0 <= one)%Z ->
  IZR (term p q one n) <= IZR one * (/ INR (fact n) * (IZR p / IZR q) ^ n).
Proof.
  intros Hp Hq Ho. induction n as [|n IH]; [simpl; lra|].
  cbn [term].
  eapply Rle_trans; [apply floor_below; lia|].
  assert (Hq' : 0 < IZR q) by (apply (IZR_lt 0); assumption).
  assert (Hp' : 0 <= IZR p) by (apply (IZR_le 0); assumption).
  assert (Hn : 0 < INR (S n)) by (apply lt_0_INR; lia).
  assert (Hf : 0 < INR (fact n)) by apply INR_fact_lt_0.
  rewrite !mult_IZR. rewrite <- INR_IZR_INZ.
  change (fact (S n)) with (S n * fact n)%nat. rewrite mult_INR.
  cbn [pow].
  replace (IZR one * (/ (INR (S n) * INR (fact n)) * (IZR p / IZR q * (IZR p / IZR q) ^ n)))
    with ((IZR one * (/ INR (fact n) * (IZR p / IZR q) ^ n)) * (IZR p / (IZR q * INR (S n))))
    by (field; repeat split; lra).
  replace (IZR (term p q one n) * IZR p / (IZR q * INR (S n)))
    with (IZR (term p q one n) * (IZR p / (IZR q * INR (S n)))) by (field; split; lra).
  apply Rmult_le_compat_r; [|assumption].
  apply Rmult_le_pos; [assumption|]. left. apply Rinv_0_lt_compat. apply Rmult_lt_0_compat; lra.
Qed.

Lemma series_below_sum p q one n :
  (0 <= p)%Z -> (0 < q)%Z -> (0 <= one)%Z ->
  IZR (series p q one n) <=
  IZR one * sum_f_R0 (fun i => / INR (fact i) * (IZR p / IZR q) ^ i) n.
Proof.
  intros Hp Hq Ho. induction n as [|n IH].
  - simpl. lra.
  - cbn [series sum_f_R0]. rewrite plus_IZR, Rmult_plus_distr_l.
    apply Rplus_le_compat; [assumption|]. apply term_below; assumption.
Qed.

Lemma sum_below_exp x n : 0 <= x -> sum_f_R0 (fun i => / INR (fact i) * x ^ i) n <= exp x.
Proof.
  intros Hx. apply sum_incr.
  - unfold exp. destruct (exist_exp x) as [l Hl]. exact Hl.
  - intros i. apply Rmult_le_pos; [|apply pow_le; assumption].
    left. apply Rinv_0_lt_compat. apply INR_fact_lt_0.
Qed.

(** Lemma (4): the fraction is never above e^x. *)
Theorem series_below_exp p q one n :
  (0 <= p)%Z -> (0 < q)%Z -> (0 < one)%Z ->
  IZR (series p q one n) / IZR one <= exp (IZR p / IZR q).
Proof.
  intros Hp Hq Ho. assert (0 < IZR one) by (apply (IZR_lt 0); assumption).
  apply (Rmult_le_reg_l (IZR one)); [assumption|].
  replace (IZR one * (IZR (series p q one n) / IZR one)) with (IZR (series p q one n))
    by (field; lra).
  eapply Rle_trans; [apply series_below_sum; lia|].
  apply Rmult_le_compat_l; [lra|]. apply sum_below_exp.
  assert (0 < IZR q) by (apply (IZR_lt 0); assumption).
  assert (0 <= IZR p) by (apply (IZR_le 0); assumption).
  apply Rmult_le_pos; [assumption|]. left. apply Rinv_0_lt_compat. assumption.
Qed.

(** The integers of a sampler: a comparison of integers proves (D + a)/D <= e^x. *)
Corollary increments_below_exp p q one n D a :
  (0 <= p)%Z -> (0 < q)%Z -> (0 < one)%Z -> (0 < D)%Z ->
  ((D + a) * one <= D * series p q one n)%Z ->
  IZR (D + a) / IZR D <= exp (IZR p / IZR q).
Proof.
  intros Hp Hq Ho HD H.
  eapply Rle_trans; [|apply (series_below_exp p q one n); assumption].
  assert (0 < IZR one) by (apply (IZR_lt 0); assumption).
  assert (0 < IZR D) by (apply (IZR_lt 0); assumption).
  apply IZR_le in H. rewrite !mult_IZR in H.
  apply (Rmult_le_reg_l (IZR D * IZR one)); [apply Rmult_lt_0_compat; assumption|].
  replace (IZR D * IZR one * (IZR (D + a) / IZR D)) with (IZR (D + a) * IZR one) by (field; lra).
  replace (IZR D * IZR one * (IZR (series p q one n) / IZR one))
    with (IZR D * IZR (series p q one n)) by (field; lra).
  assumption.
Qed.
