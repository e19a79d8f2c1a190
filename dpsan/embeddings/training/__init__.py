"""How vocabularies are made of public text: words, vectors, counts and usual spellings."""
