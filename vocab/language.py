"""Count the trigram model of public text that comes with the vocabulary.

    python vocab/language.py     # writes vocab/en/language.npz and its hash; three minutes, 4 GB

To be run again whenever the words change.
"""

from __future__ import annotations

import sys
from pathlib import Path

_HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(_HERE), str(_HERE.parent)]  # recipe.*, and dpsan of this source tree

from recipe.kneser_ney import BIGRAMS, TRIGRAMS, estimated, to_bytes  # noqa: E402
from recipe.language import counted  # noqa: E402
from recipe.options import parser_of  # noqa: E402
from recipe.package import record_file  # noqa: E402

from dpsan.embeddings.loading import LANGUAGE, bundled_digest  # noqa: E402


def main() -> int:
    """Run from the command line."""
    parser = parser_of(__doc__)
    parser.add_argument("--bigrams", type=int, default=BIGRAMS)
    parser.add_argument("--trigrams", type=int, default=TRIGRAMS)
    chosen = parser.parse_args()
    if not chosen.corpus.is_dir():
        parser.error(f"no folder {chosen.corpus}: give --corpus DIR")
    counts = counted(chosen.folder, chosen.corpus, chosen.processes)
    model = estimated(counts, chosen.bigrams, chosen.trigrams)
    data = to_bytes(model, bundled_digest(folder=chosen.folder))
    (chosen.folder / LANGUAGE).write_bytes(data)
    record_file(chosen.folder, LANGUAGE)
    print(f"{len(model.bigrams):,} bigrams, {len(model.trigrams):,} trigrams, {len(data):,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
