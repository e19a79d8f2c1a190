(** The integers that dpsan draws with, at three epsilons: (D + a)/D is below e^epsilon.

    tests/test_coq.py compares these numbers with the program's. *)

Require Import ZArith Reals Lra Lia.
From Dpsan Require Import Series.
Open Scope R_scope.

Definition one : Z := 2 ^ 400.
Definition terms : nat := 100.

Ltac by_integers p D a :=
  replace (IZR p) with (IZR p / IZR 1) by (field; lra);
  apply (increments_below_exp p 1 one terms D a);
  [lia | lia | reflexivity | lia | apply Z.leb_le; vm_compute; reflexivity].

(** Lemma (5). *)
Theorem epsilon_4 : IZR (1099511627776 + 58931789188724) / IZR 1099511627776 <= exp 4.
Proof. by_integers 4%Z 1099511627776%Z 58931789188724%Z. Qed.

Theorem epsilon_8 : IZR (274877906944 + 819124614259085) / IZR 274877906944 <= exp 8.
Proof. by_integers 8%Z 274877906944%Z 819124614259085%Z. Qed.

Theorem epsilon_12 : IZR (137438953472 + 22368710766228072) / IZR 137438953472 <= exp 12.
Proof. by_integers 12%Z 137438953472%Z 22368710766228072%Z. Qed.

(** A number more, and the comparison fails: the bound is not generous. *)
Theorem epsilon_8_is_tight :
  ((274877906944 + 819124614259086) * one <=? 274877906944 * series 8 1 one terms)%Z = false.
Proof. vm_compute. reflexivity. Qed.
