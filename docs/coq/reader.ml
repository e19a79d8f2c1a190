(* A third reader of certificates: make reader && ./reader FILE

   It reads the form "sparse" without public words, whose rows have one sum, and asks [certified],
   which Sparse.v proves right.  What it does not prove: that it reads the file as it is written.
   The digest of the file is left to docs/check_certificate.py. *)

open Checker

exception Wrong of string

let require holds why = if not holds then raise (Wrong why)

(* --- a line: an object of strings, numbers and lists of numbers, or such a list --- *)

type value = Word of string | Numbers of int list

let position = ref 0
let line = ref ""
let peek () = if !position < String.length !line then !line.[!position] else '\n'

let take wanted =
  require (peek () = wanted) "a line is written otherwise";
  incr position

let while_ what =
  let first = !position in
  while what (peek ()) do incr position done;
  String.sub !line first (!position - first)

let is_digit each = each >= '0' && each <= '9'

let number () =
  let digits = while_ is_digit in
  require (digits <> "" && String.length digits <= 18) "an integer out of range";
  require (digits = "0" || digits.[0] <> '0') "a line is written otherwise";
  int_of_string digits

let word () =
  take '"';
  let plain each = is_digit each || (each >= 'a' && each <= 'z') || String.contains ".-_" each in
  let found = while_ plain in
  take '"';
  found

let numbers () =
  take '[';
  let rec more found =
    let found = number () :: found in
    if peek () = ',' then (take ','; more found) else found in
  let found = if peek () = ']' then [] else more [] in
  take ']';
  List.rev found

let value () =
  match peek () with
  | '"' -> Word (word ())
  | '[' -> Numbers (numbers ())
  | _ -> Numbers [ number () ]

let ended () = require (!position = String.length !line) "a line is written otherwise"

let claim () =
  take '{';
  let rec more found =
    let key = word () in
    require (not (List.mem_assoc key found)) "a key stands there twice";
    take ':';
    let found = (key, value ()) :: found in
    if peek () = ',' then (take ','; more found) else found in
  let found = more [] in
  take '}';
  ended ();
  found

let row () =
  let found = numbers () in
  ended ();
  let rec pairs = function
    | output :: mass :: rest -> (output, mass) :: pairs rest
    | [] -> []
    | _ -> raise (Wrong "a row without a mass") in
  List.sort compare (pairs found)

(* --- numbers of Coq --- *)

let rec positive k =
  if k = 1 then XH else if k land 1 = 1 then XI (positive (k lsr 1)) else XO (positive (k lsr 1))

let binary k = if k = 0 then N0 else Npos (positive k)
let signed = function N0 -> Z0 | Npos p -> Zpos p
let rec unary k = if k = 0 then O else S (unary (k - 1))

let fraction text =
  let whole, part =
    match String.split_on_char '.' text with
    | [ whole ] -> (whole, "")
    | [ whole; part ] -> (whole, part)
    | _ -> raise (Wrong "no epsilon") in
  let digits = List.of_seq (String.to_seq (whole ^ part)) in
  require (whole <> "" && String.length whole <= 3 && List.for_all is_digit digits) "no epsilon";
  let ten = binary 10 in
  let shift found each = N.add (N.mul found ten) (binary (Char.code each - 48)) in
  let scale = String.fold_left (fun found _ -> N.mul found ten) (binary 1) part in
  (List.fold_left shift N0 digits, scale, int_of_string whole)

(* --- what the answer is asked for --- *)

(* The scale D of weights c = D * b: the largest divisor of all of them with which no mass is above
   its b.  A wrong guess is refused by [certified], and never accepted. *)
let scale weights rows =
  let rec gcd a b = if b = 0 then a else gcd b (a mod b) in
  let common = Array.fold_left gcd 0 weights in
  let least = ref common in
  let look (output, mass) =
    require (mass > 0 && output < Array.length weights) "an output or a mass out of range";
    least := min !least (weights.(output) / mass) in
  List.iter (List.iter look) rows;
  require (!least > 0) "a mass without a weight";
  let rec divisor k = if common mod k = 0 then common / k else divisor (k + 1) in
  divisor ((common + !least - 1) / !least)

let lines path =
  let file = open_in_bin path in
  let next () =
    try input_line file with End_of_file -> raise (Wrong "the file ends before its digest") in
  let rec more found =
    let text = next () in
    if String.starts_with ~prefix:{|{"sha256"|} text then List.rev found
    else (line := text; position := 0; more (row () :: found)) in
  line := next ();
  let first = claim () in
  (first, more [])

let check path =
  let claim, rows = lines path in
  let text key = match List.assoc_opt key claim with Some (Word found) -> found | _ -> "" in
  let list key = match List.assoc_opt key claim with Some (Numbers found) -> found | _ -> [ -1 ] in
  require (list "dpsan_certificate" = [ 2 ] && text "delta" = "0") "no claim known here";
  require (text "weights" = "sparse" && list "public" = []) "not the form that this program reads";
  require (rows <> [] && list "words" = [ List.length rows ]) "not a row for every word";
  let weights = Array.of_list (list "common") in
  require (Array.length weights = List.length rows) "not a weight for every word";
  let sum row = List.fold_left (fun found (_, mass) -> found + mass) 0 row in
  let increment =
    match list "increment" with [ one ] when one >= 0 -> one | _ -> raise (Wrong "no increment") in
  let p, q, whole = fraction (text "epsilon") in
  let pair (output, mass) = (binary output, binary mass) in
  let answer =
    certified
      (List.map binary (Array.to_list weights))
      (List.map (List.map pair) rows)
      (binary (sum (List.hd rows)))
      (binary (scale weights rows))
      (binary increment) (signed p) (signed q)
      (unary (400 + (4 * whole))) in
  require answer ("the loss is more than " ^ text "epsilon" ^ ", or the rows differ in their sum");
  Printf.printf "PROVED: epsilon %s, delta 0, for %d words and any other string\n" (text "epsilon")
    (List.length rows);
  Printf.printf "%s, vocabulary %s; the digest was not looked at\n" (text "mechanism")
    (text "vocabulary")

let () =
  try check Sys.argv.(1) with
  | Wrong why -> prerr_endline ("REJECTED: " ^ why); exit 1
  | Sys_error why -> prerr_endline ("REJECTED: " ^ why); exit 1
  | Invalid_argument _ -> prerr_endline "usage: reader FILE"; exit 2
