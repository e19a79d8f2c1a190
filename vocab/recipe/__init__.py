"""The recipe of the bundled vocabulary, one step a module: corpus, words, training, shaping."""
