"""The adapters of docs/adapters with the packages that they are for, where those are installed."""

import json
import os
import re
import runpy
import subprocess
import sys
import uuid

import pytest
from support import ROOT, cases, make_embeddings

from dpsan import Sanitizer
from dpsan.formats.span_file import Span, SpanFile

EMBEDDINGS = make_embeddings(n=40, d=4)
TEXT = "Maria Gonzalez's word1 is in Paris; (Maria)."


def adapter(name):
    return runpy.run_path(str(ROOT / "docs" / "adapters" / f"{name}.py"))


def converted(name, text, path):
    """Write what a script of docs/adapters makes of the output of another tool."""
    script = [sys.executable, ROOT / "docs" / "adapters" / f"{name}.py"]
    done = subprocess.run(script, input=text, capture_output=True, text=True, check=True)
    path.write_text(done.stdout)
    return SpanFile(path)


def opened(**more):
    return Sanitizer("krr", epsilon=1.0, embeddings=EMBEDDINGS, unknown="mask", **more)


def test_presidio_operator(tmp_path):
    presidio = pytest.importorskip("presidio_anonymizer")
    found = adapter("presidio_operator")
    engine = presidio.AnonymizerEngine()
    engine.add_anonymizer(found["Dpsan"])
    spans = ("PERSON", 0, 14, 0.85), ("LOCATION", 29, 34, 0.5)
    results = [presidio.RecognizerResult(*span) for span in spans]
    how = {"DEFAULT": presidio.OperatorConfig("dpsan", {"sanitizer": opened()})}
    out = engine.anonymize(TEXT, results, how).text
    assert out == "<unk> <unk>'s word1 is in <unk>; (Maria)."
    wrong = {"DEFAULT": presidio.OperatorConfig("dpsan", {})}
    with pytest.raises(ValueError, match="needs a parameter sanitizer"):
        engine.anonymize(TEXT, results, wrong)
    results[0].end = 9  # within a word
    assert found["rewrite_results"](opened(), TEXT, results) == out


def test_spacy_component(tmp_path, monkeypatch):
    spacy = pytest.importorskip("spacy")
    found = adapter("spacy_component")
    small = lambda epsilon, only: Sanitizer(only=only) if only else opened()  # noqa: E731
    monkeypatch.setitem(found["Dpsan"].__init__.__globals__, "Sanitizer", small)
    nlp = spacy.blank("en")
    named = {"Maria Gonzalez": "PERSON", "Paris": "GPE"}
    patterns = [{"label": label, "pattern": text} for text, label in named.items()]
    nlp.add_pipe("entity_ruler").add_patterns(patterns)
    nlp.add_pipe("dpsan", config={"epsilon": 8.0})
    docs = list(nlp.pipe([TEXT, "nobody"]))
    wanted = ["<unk> <unk>'s word1 is in <unk>; (Maria).", "nobody"]
    assert [doc._.sanitized for doc in docs] == wanted
    typed = spacy.blank("en")
    typed.add_pipe("entity_ruler").add_patterns([{"label": "PERSON", "pattern": "blue door"}])
    typed.add_pipe("dpsan", config={"only": "people"})
    drawn = typed("Ask blue door or Maria.")._.sanitized
    assert re.fullmatch(r"Ask \w+ \w+ or \w+\.", drawn)
    assert not {"blue", "door", "Maria"} & set(re.findall(r"\w+", drawn))
    monkeypatch.undo()
    with pytest.raises(Exception, match="epsilon"):  # it has no default
        spacy.blank("en").add_pipe("dpsan")
    text = "".join(json.dumps(doc.to_json()) + "\n" for doc in docs)
    file = converted("spacy_spans", text, tmp_path / "s")
    spans = [(each.start, each.end, each.kind) for each in file.of(1, TEXT)]
    assert spans == [(0, 14, "PERSON"), (29, 34, "GPE")]
    assert file.of(2, "nobody") == []
    file.end()


SPAN = {"start": 0, "end": 5, "score": 0.85}
DATA = {"start_position": 4, "end_position": 5, "entity_value": "x"}
FULL, EMPTY = (
    {"full_text": TEXT, "spans": [DATA | {"entity_type": "A"}]},
    {"text": TEXT, "ents": []},
)
GROUP = {"spans": {"more": [SPAN | {"label": "B"}]}, "ents": [SPAN | {"label": "A"}]}


@cases(
    "name given expected",
    ("presidio_spans", [[[SPAN | {"entity_type": "A"}], []]], [[Span(0, 5, "A")], []]),
    ("presidio_spans", [[FULL]], [[Span(4, 5, "A")]]),
    ("presidio_spans", [[]], []),
    ("spacy_spans", [EMPTY, {"text": TEXT, **GROUP}], [[], [Span(0, 5, "A"), Span(0, 5, "B")]]),
)
def test_layouts_of_other_tools_become_spans(tmp_path, name, given, expected):
    file = converted(name, "\n".join(map(json.dumps, given)), tmp_path / "s")
    assert [file.of(at, TEXT) for at in range(len(expected))] == expected
    file.end()


def test_tau_eval_model(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # it writes a log where it is
    models = pytest.importorskip("tau_eval.models")
    made = adapter("tau_eval_model")["Dpsan"](opened(), lambda text: [(0, 1)])
    assert isinstance(made, models.Anonymizer)
    assert made.name == "dpsan krr epsilon 1"
    assert made.anonymize("a b") == "<unk> b"
    assert made.anonymize_batch(["a b", "c"]) == ["<unk> b", "<unk>"]


FAKE = """
import re
from types import SimpleNamespace as Result
class AnalyzerEngine:
    def analyze(self, text, language):
        return [Result(start=m.start(), end=m.end(), entity_type=language)
                for m in re.finditer("Maria|Zoë", text)]
"""
FOUND_IN = {
    "t.txt": (None, "😀 Maria\r\n\nsays,\r Zoë\nnobody"),
    "t.csv": ("body", '\ufeffid,body\r\n1,"Maria, and\nZoë"\r\n\r\n2,\r\n4,no ""one\r\n5,Zoë\r\n'),
    "t.tsv": ("body", "body\tid\nMaria 😀\t1\n\t2\nZoë\t3\n"),
    "t.jsonl": ("a.b", '{"a": {"b": "Maria \\ud83d\\ude00 Zo\\u00eb"}}\n\n{"a": null}\n{"c": 1}\n'),
}


def find_spans(folder, *arguments):
    command = [sys.executable, ROOT / "docs" / "adapters" / "find_spans.py", *arguments]
    env = {**os.environ, "PYTHONPATH": str(folder)}
    return subprocess.run(command, capture_output=True, cwd=folder, check=True, env=env)


@pytest.mark.parametrize("name", FOUND_IN)
def test_what_a_finder_finds_is_drawn(dpsan, tmp_path, name):
    """Text and columns, with everything that shifts a record or an offset."""
    (tmp_path / "presidio_analyzer.py").write_text(FAKE)
    field, text = FOUND_IN[name]
    (tmp_path / name).write_text(text, newline="")
    key = [] if field is None else ["-k", field]
    done = find_spans(tmp_path, "presidio", name, *key)
    (tmp_path / "spans").write_bytes(done.stdout)
    given = ("rewrite", "-q", "-e", "8", "--unknown", "mask", *key, "--spans", "spans", name)
    done = dpsan(*given, "--vocab-size", "5", cwd=tmp_path, status=0)
    out = done.stdout.decode()
    assert "Maria" not in out
    assert "Zo" not in out
    assert out.count("<unk>") == 2 + (name == "t.csv")
    if name == "t.txt":
        assert out == "😀 <unk>\r\n\nsays,\r <unk>\nnobody"


def test_spacy_finds(tmp_path):
    spacy = pytest.importorskip("spacy")
    nlp = spacy.blank("en")
    nlp.add_pipe("entity_ruler").add_patterns([{"label": "PERSON", "pattern": "Maria"}])
    nlp.to_disk(tmp_path / "model")
    (tmp_path / "t.txt").write_text("so Maria is\n")
    done = find_spans(tmp_path, "spacy", "t.txt", "--model", "model")
    assert json.loads(done.stdout)["spans"] == [{"start": 3, "end": 8, "type": "PERSON"}]


SAID = {"role": "user", "content": [{"type": "text", "text": "Maria Gonzalez asks."}]}
SAID |= {"arguments": '{"name": "Maria Gonzalez", "limit": 1.50}'}
NAMES = ("Maria", "Gonzalez", "maria", "gonzalez")


def masked_like_one_person(said):
    """A value like SAID has another name everywhere, the same one, and is else what it was."""
    name = json.loads(said["arguments"])["name"]
    assert not any(part in json.dumps(said) for part in NAMES)
    assert json.dumps(said).replace(name, "Maria Gonzalez") == json.dumps(SAID)


def package(name, why):
    """Skip loudly: the test is worth something against the real package only."""
    return pytest.importorskip(name, reason=f"LOUD: {name} is not installed, {why} was NOT tried")


def test_langfuse_gets_no_name():
    package("langfuse", "docs/adapters/langfuse_mask.py")
    export = package("opentelemetry.sdk.trace.export.in_memory_span_exporter", "Langfuse")
    spans = export.InMemorySpanExporter()
    keys = {"public_key": "pk-test", "secret_key": "sk-test", "base_url": "http://127.0.0.1:1"}
    client = adapter("langfuse_mask")["masked"](span_exporter=spans, **keys)
    with client.start_as_current_observation(name="step", input=SAID, metadata={"m": SAID}) as span:
        span.update(output=[SAID, object()])
    client.flush()
    (done,) = spans.get_finished_spans()
    masked_like_one_person(json.loads(done.attributes["langfuse.observation.input"]))
    said = str(dict(done.attributes))
    assert not any(name in said for name in NAMES)
    assert "fully masked" in done.attributes["langfuse.observation.output"]  # an unknown type
    client.shutdown()


def test_langsmith_gets_no_name():
    package("langsmith", "docs/adapters/langsmith_mask.py")
    requests, sent = package("requests", "LangSmith"), []

    def record(*given, **more):
        sent.append(more.get("data") or b"")
        answer = requests.Response()
        answer.status_code, answer._content = 202, b"{}"
        return answer

    session = requests.Session()
    session.request = record
    how = {"api_url": "http://127.0.0.1:1", "api_key": "x", "auto_batch_tracing": False}
    client = adapter("langsmith_mask")["masked"](session=session, **how)
    said = {"extra": {"metadata": {"m": SAID}}, "outputs": {"said": [SAID]}, "id": uuid.uuid4()}
    client.create_run("step", SAID, "chain", error="no Maria Gonzalez here", **said)
    client.update_run(said["id"], outputs=SAID, error="no Maria Gonzalez here")
    first, last = (json.loads(data) for data in sent if data)
    masked_like_one_person(first["inputs"])
    masked_like_one_person(last["outputs"])
    assert not any(name in str((first, last)) for name in NAMES)
    assert "here" in first["error"]


def test_opentelemetry_exports_no_name():
    package("opentelemetry.sdk", "docs/adapters/otel_exporter.py")
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    spans, provider = InMemorySpanExporter(), TracerProvider()
    mask = Sanitizer(only="people").rewrite_object
    masked = adapter("otel_exporter")["Masked"](spans, mask)
    provider.add_span_processor(SimpleSpanProcessor(masked))
    with (
        pytest.raises(ValueError, match="Gonzalez"),
        provider.get_tracer("t").start_as_current_span(
            "ask Maria Gonzalez",
            attributes={"input": json.dumps(SAID), "n": 1, "l": ["Maria", "x"]},
        ),
    ):
        raise ValueError("Maria Gonzalez is unknown")
    (done,) = spans.get_finished_spans()
    masked_like_one_person(json.loads(done.attributes["input"]))
    written = done.to_json() + str(done.events[0].attributes)
    assert not any(name in written for name in NAMES)
    assert done.attributes["n"] == 1
    assert done.events[0].attributes["exception.type"] == "ValueError"
    assert done.status.description.startswith("ValueError: ")
    name = json.loads(json.loads(done.attributes["input"])["arguments"])["name"]
    assert done.name == f"ask {name}"


def test_arrow_arrays_keep_type_and_nulls():
    pa = package("pyarrow", "docs/adapters/arrow_arrays.py")
    rewritten = adapter("arrow_arrays")["rewritten"]
    kind = pa.list_(pa.struct([("t", pa.string()), ("n", pa.int8())]))
    rows = [[{"t": "a b", "n": 1}, {"t": None, "n": None}], None, []]
    masked = [[{"t": "<unk> <unk>", "n": 1}, {"t": None, "n": None}], None, []]
    array = pa.array(rows, kind)
    assert rewritten(opened(), array) == pa.array(masked, kind)
    chunked = pa.chunked_array([array.slice(0, 1), array.slice(1)])
    assert rewritten(opened(), chunked) == pa.chunked_array([pa.array(masked, kind)])
    words = pa.array(["a", None, "a"]).dictionary_encode()
    assert rewritten(opened(), words).to_pylist() == ["<unk>", None, "<unk>"]
    assert rewritten(opened(), words).type == words.type


def test_langchain_documents_lose_names_in_text_and_metadata():
    documents = package("langchain_core.documents", "docs/adapters/langchain_documents.py")
    metadata = {"source": "/home/gonzalez/a.txt", "page": 3, "authors": ["Maria Gonzalez"]}
    given = documents.Document(page_content="Maria Gonzalez asks.", metadata=metadata, id="maria")
    made = adapter("langchain_documents")["Sanitized"](Sanitizer(only="people"))
    assert isinstance(made, documents.BaseDocumentTransformer)
    (out,) = made.transform_documents([given])
    assert not any(name in out.model_dump_json() for name in NAMES)
    assert out.page_content == f"{out.metadata['authors'][0]} asks."
    assert out.metadata["page"] == 3


def test_sklearn_transformer_in_a_pipeline():
    pipeline = package("sklearn.pipeline", "docs/adapters/sklearn_transformer.py")
    from sklearn.base import clone
    from sklearn.feature_extraction.text import CountVectorizer

    step = clone(adapter("sklearn_transformer")["Sanitized"](only="people"))
    words = CountVectorizer(lowercase=False)
    made = pipeline.make_pipeline(step, words).fit(["Maria Gonzalez asks.", "nobody"])
    assert made.transform(["nobody asks"]).sum() == 2
    assert not set(NAMES) & set(words.get_feature_names_out())
