"""Documents of LangChain: names leave text and metadata before they are split, embedded or stored.

    documents = Sanitized(Sanitizer(only="people")).transform_documents(documents)

Text and metadata of a document are a unit.  Its id is left out: it is often a name of a file.
"""

from langchain_core.documents import BaseDocumentTransformer, Document


class Sanitized(BaseDocumentTransformer):
    def __init__(self, sanitizer) -> None:
        self.mask = sanitizer.rewrite_object

    def transform_documents(self, documents, **_) -> list[Document]:
        said = (self.mask((document.page_content, document.metadata)) for document in documents)
        return [Document(page_content=text, metadata=metadata) for text, metadata in said]
