(** OCaml of the checker: make reader. *)

Require Import List NArith ZArith.
From Dpsan Require Import Sparse.
Require Extraction.
Require Import ExtrOcamlBasic.

Extraction "checker.ml" certified N.gcd N.add N.mul N.succ N.compare.
