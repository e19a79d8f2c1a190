# mypy: disable-error-code="dict-item"
"""The guardrail in LiteLLM's own proxy, before a stand-in for the model that records requests."""

import asyncio
import json
import os
import random
import re
import shutil
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
from support import ROOT

from dpsan import Sanitizer
from dpsan.only.hashes import Hashes

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # else it asks the network
pytest.importorskip("litellm", reason="LOUD: litellm is not installed, the guardrail was NOT tried")
pytest.importorskip("apscheduler", reason="LOUD: litellm[proxy] is not installed")

pytestmark = pytest.mark.filterwarnings("ignore")  # of their libraries
FILE = ROOT / "docs" / "adapters" / "litellm_guardrail.py"
CONFIG = """
model_list:
  - model_name: chat
    litellm_params: {{model: openai/chat, api_base: "http://127.0.0.1:{port}/v1", api_key: none}}
  - model_name: claude
    litellm_params: {{model: anthropic/claude, api_base: "http://127.0.0.1:{port}", api_key: none}}
guardrails:
  - guardrail_name: dpsan
    litellm_params:
      guardrail: litellm_guardrail.Dpsan
      mode: [pre_call, post_call]
      default_on: true
      memo: {memo}
"""


class Model:
    """Records what it gets, and answers with the last names that it saw, or with a call."""

    def __init__(self):
        self.bodies = []
        model = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *given):
                pass

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                model.bodies.append(body)
                data, kind = model.answer(self.path, body)
                self.send_response(200)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def said(self):
        """The last question of the last request."""
        texts = [each for each in strings(self.bodies[-1]) if "?" in each]
        return f"I found this: {texts[-1]} Bye."

    def answer(self, path, body):
        text = self.said()
        endpoint = path.rsplit("/", 1)[1]
        if body.get("stream"):
            rows = STREAMED[endpoint](text)
            heads = ((f"event: {row['type']}\n" if "type" in row else "", row) for row in rows)
            frames = [f"{head}data: {json.dumps(row)}\n\n" for head, row in heads]
            end = "data: [DONE]\n\n" if endpoint == "completions" else ""
            return "".join([*frames, end]).encode(), "text/event-stream"
        if endpoint == "messages":
            content = [{"type": "text", "text": text}]
            about = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude"}
            usage = {"input_tokens": 1, "output_tokens": 1}
            whole = {**about, "content": content, "stop_reason": "end_turn", "usage": usage}
        elif endpoint == "responses":
            content = [{"type": "output_text", "text": text, "annotations": []}]
            item = {"type": "message", "id": "m", "role": "assistant", "status": "completed"}
            whole = {"id": "resp_1", "object": "response", "created_at": 1, "model": "chat"}
            whole |= {"status": "completed", "output": [{**item, "content": content}]}
            whole |= {"parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
        else:
            function = {"name": "find", "arguments": arguments_of(text)}
            calls = [{"id": "call_1", "type": "function", "function": function}]
            message = {"role": "assistant", "content": text, "tool_calls": calls}
            choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
            whole = {"id": "c", "created": 1, "model": "chat"}
            whole |= {"object": "chat.completion", "choices": [choice]}
        return json.dumps(whole).encode(), "application/json"


def arguments_of(text):
    return json.dumps({"text": text, "limit": 5})


def pieces(text, size=8):
    """Return a text in pieces, which cut the names; each costs LiteLLM up to 3 ms."""
    return [text[at : at + size] for at in range(0, len(text), size)]


def streamed_chat(text):
    """The chunks of an answer of /v1/chat/completions: a text and a call of a tool."""
    about = {"id": "c", "created": 1, "model": "chat", "object": "chat.completion.chunk"}
    first = {"index": 0, "id": "call_1", "type": "function"}
    calls = [{**first, "function": {"name": "find", "arguments": ""}}]
    parts = pieces(arguments_of(text), 24)
    calls += [{"index": 0, "function": {"arguments": part}} for part in parts]
    deltas = [{"role": "assistant", "content": ""}]
    deltas += [{"content": part} for part in pieces(text)]
    deltas += [{"tool_calls": [call]} for call in calls]
    choices = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
    choices += [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]
    return [{**about, "choices": [choice]} for choice in choices]


def streamed_message(text):
    """The events of an answer of /v1/messages: a text and a call of a tool."""
    about = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude"}
    usage = {"input_tokens": 1, "output_tokens": 1}
    yield {"type": "message_start", "message": {**about, "content": [], "usage": usage}}
    call = {"type": "tool_use", "id": "t_2", "name": "find", "input": {}}
    blocks = [({"type": "text", "text": ""}, "text_delta", "text", pieces(text))]
    blocks += [(call, "input_json_delta", "partial_json", pieces(arguments_of(text), 24))]
    for index, (block, kind, name, parts) in enumerate(blocks):
        yield {"type": "content_block_start", "index": index, "content_block": block}
        for part in parts:
            delta = {"type": kind, name: part}
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    yield {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": usage}
    yield {"type": "message_stop"}


def streamed_response(text):
    """The events of an answer of /v1/responses: a text and a call of a tool."""
    whole = {"id": "resp_1", "object": "response", "created_at": 1, "model": "chat"}
    whole |= {"parallel_tool_calls": True, "tool_choice": "auto", "tools": [], "output": []}
    arguments = arguments_of(text)
    said = {"type": "output_text", "text": text, "annotations": []}
    item = {"type": "message", "id": "m_1", "role": "assistant", "status": "completed"}
    item["content"] = [said]
    call = {"type": "function_call", "id": "f_1", "call_id": "call_2", "name": "find"}
    call |= {"arguments": arguments, "status": "completed"}
    at = {"item_id": "m_1", "output_index": 0, "content_index": 0}
    rows = [("created", {"response": {**whole, "status": "in_progress"}})]
    rows += [("output_text.delta", {**at, "delta": part}) for part in pieces(text)]
    rows += [("output_text.done", {**at, "text": text})]
    rows += [("content_part.done", {**at, "part": said})]
    rows += [("output_item.done", {"output_index": 0, "item": item})]
    at = {"item_id": "f_1", "output_index": 1}
    kind = "function_call_arguments"
    rows += [(f"{kind}.delta", {**at, "delta": part}) for part in pieces(arguments, 24)]
    rows += [(f"{kind}.done", {**at, "arguments": arguments})]
    rows += [("output_item.done", {"output_index": 1, "item": call})]
    rows += [("completed", {"response": {**whole, "status": "completed", "output": [item, call]}})]
    for number, (name, row) in enumerate(rows):
        yield {"type": f"response.{name}", "sequence_number": number, **row}


STREAMED = {"completions": streamed_chat, "messages": streamed_message}
STREAMED |= {"responses": streamed_response}


def strings(value):
    """All strings of a value, also those in JSON in strings."""
    if isinstance(value, str):
        try:
            yield from strings(json.loads(value)) if value[:1] in "[{" else [value]
        except ValueError:
            yield value
    for inner in value if isinstance(value, list) else ():
        yield from strings(inner)
    for key, inner in value.items() if isinstance(value, dict) else ():
        yield key
        yield from strings(inner)


class Client:
    """Sends requests within one event loop, as a server does; each new one costs time."""

    def __init__(self, runner, http):
        self.runner, self.http = runner, http

    def post(self, path, **given):
        return self.runner.run(self.http.post(path, **given))


@pytest.fixture(scope="module")
def proxy(tmp_path_factory):
    """A client of the proxy, and the stand-in for the model."""
    import httpx
    from litellm.proxy import proxy_server

    folder = tmp_path_factory.mktemp("proxy")
    model = Model()
    shutil.copy(FILE, folder)
    config = folder / "config.yaml"
    config.write_text(CONFIG.format(port=model.port, memo=folder / "memo"))
    # Without the start of the application, which needs a master key.
    transport = httpx.ASGITransport(proxy_server.app)
    with asyncio.Runner() as runner:
        runner.run(proxy_server.initialize(config=str(config)))
        yield Client(runner, httpx.AsyncClient(transport=transport, base_url="http://proxy")), model
    model.server.shutdown()
    model.server.server_close()


def posted(proxy, path, **body):
    client, model = proxy
    model.bodies.clear()
    done = client.post(path, json=body)
    assert done.status_code == 200, done.text
    return done, json.dumps(model.bodies, ensure_ascii=False)


def leaked(sent):
    names = ["Maria", "Lopez", "Grace", "Murphy", "Peter", "Novak"]
    return [name for name in names if name.lower() in sent.lower()]


def events(done):
    """The events of a stream, in order."""
    rows = [row for row in done.text.splitlines() if row.startswith("data: {")]
    return [json.loads(row.removeprefix("data: ")) for row in rows]


ASKED = "Who is Maria Lopez? She knows Peter Novak."
SAID = f"I found this: {ASKED} Bye."


def test_streamed_events_of_responses_are_restored(proxy):
    body = {"model": "chat", "input": ASKED, "stream": True}
    done, sent = posted(proxy, "/v1/responses", **body)
    assert leaked(sent) == []
    rows = events(done)
    deltas = [row["delta"] for row in rows if row["type"] == "response.output_text.delta"]
    assert "".join(deltas) == SAID
    assert len(deltas) > 2  # it did not wait for the end
    (text,) = [row["text"] for row in rows if row["type"] == "response.output_text.done"]
    assert text == SAID
    kind = "response.function_call_arguments"
    arguments = "".join(row["delta"] for row in rows if row["type"] == f"{kind}.delta")
    assert json.loads(arguments) == {"text": SAID, "limit": 5}
    (whole,) = [row["arguments"] for row in rows if row["type"] == f"{kind}.done"]
    assert whole == arguments
    (last,) = [row["response"] for row in rows if row["type"] == "response.completed"]
    assert last["output"][0]["content"][0]["text"] == SAID
    assert json.loads(last["output"][1]["arguments"]) == {"text": SAID, "limit": 5}
    types = [row["type"] for row in rows]
    last_delta = len(types) - types[::-1].index("response.output_text.delta")
    assert types.index("response.output_text.done") == last_delta


def test_frames_may_be_cut_anywhere(proxy):
    """An answer of /v1/messages comes in bytes, whatever their size."""
    own = guardrail()
    unit = {"litellm_session_id": "cut", "model": "claude"}
    body = drawn(own, "cut", messages=[{"role": "user", "content": ASKED}], **unit)
    said = f"I found this: {body['messages'][0]['content']} Bye."
    rows = streamed_message(said)
    whole = "".join(f"event: {row['type']}\r\ndata: {json.dumps(row)}\r\n\r\n" for row in rows)
    for size in (1, 7, 64, len(whole)):

        async def chunks(size=size):
            for part in pieces(whole.encode(), size):
                yield part

        async def all_of(stream):
            return b"".join([part async for part in stream])

        request = {"litellm_call_id": "cut"}
        drawn(own, "cut", messages=[], **unit)
        stream = own.async_post_call_streaming_iterator_hook(None, chunks(), request)
        got = asyncio.run(all_of(stream)).decode()
        found = [json.loads(row[5:]) for row in got.splitlines() if row.startswith("data:")]
        deltas = [row["delta"] for row in found if row["type"] == "content_block_delta"]
        assert "".join(delta.get("text", "") for delta in deltas) == SAID
        assert [row["type"] for row in found].count("content_block_stop") == 2
        assert found[-1]["type"] == "message_stop"


def guardrail():
    import litellm

    return next(each for each in litellm.callbacks if type(each).__name__ == "Dpsan")


def drawn(own, call, **data):
    data = {"litellm_call_id": call, **data}
    return asyncio.run(own.async_pre_call_hook(None, None, data, "acompletion"))


def test_metadata_and_what_loggers_read(proxy):
    """A conversation that has a name is one unit; metadata and headers of a client are drawn."""
    about = {"customer": "Maria Lopez", "session_id": "chat 1"}
    turns = []
    for call in ("a", "b"):
        body = {"messages": [{"role": "user", "content": "Maria Lopez?"}], "metadata": about}
        metadata = {**about, "requester_metadata": dict(about), "user_api_key": "k"}
        copy = {**body, "litellm_metadata": metadata}  # as it is kept for /v1/messages
        request = {"proxy_server_request": {"body": copy}, "litellm_metadata": dict(metadata)}
        request |= {"metadata": metadata, "headers": {"x-customer": "Maria Lopez"}}
        turns.append(drawn(guardrail(), call, messages=body["messages"], model="m", **request))
    assert leaked(json.dumps(turns)) == []
    assert turns[0]["messages"] == turns[1]["messages"]
    assert turns[0]["metadata"]["user_api_key"] == "k"


def test_what_cannot_be_drawn_is_refused(proxy):
    client, model = proxy
    model.bodies.clear()
    image = {"type": "image_url", "image_url": {"url": "https://example.com/maria.png"}}
    source = {"type": "image", "source": {"type": "base64", "data": "TWFyaWE="}}
    coded = {"type": "file", "file": {"file_data": "TWFyaWE="}}
    named = {"type": "text", "text": "a", "name": "Maria"}
    link = {"type": "text", "text": "data:image/png;base64,TWFyaWE="}
    keyed = {"type": "text", "text": '{"rows": [{"Maria Lopez": 3}]}'}
    kind = {"type": "Maria Lopez", "text": "a"}
    used = {"type": "tool_use", "id": "t", "name": "Maria Lopez", "input": {}}
    for content in ([image], [source], [coded], [named], [link], [keyed], [kind], [used]):
        body = {"model": "chat", "messages": [{"role": "user", "content": content}]}
        done = client.post("/v1/chat/completions", json=body)
        assert done.status_code == 400
        assert "it is not sent" in done.text
    odd = {"role": "tool", "content": "a", "tool_call_id": "Maria in Paris"}
    done = client.post("/v1/chat/completions", json={"model": "chat", "messages": [odd]})
    assert done.status_code == 400
    assert "Maria" not in done.text
    choice = {"type": "function", "function": {"name": "Maria Lopez"}}
    inline = {"contents": [{"parts": [{"inlineData": {"mimeType": "a/b", "data": "TWFyaWE="}}]}]}
    for more in (inline, {"tool_choice": choice}, {"previous_response_id": "Maria Lopez"}):
        with pytest.raises(Exception, match="it is not sent"):
            drawn(guardrail(), "refused", **more)
    assert model.bodies == []


def test_properties_of_tools_may_be_called_like_what_passes(proxy):
    """A tool has a ``type`` and a ``format`` of its own; their descriptions are drawn."""
    about = {"type": "string", "description": "as Maria Lopez says"}
    fields = dict.fromkeys(("type", "format", "name", "pattern", "status", "file_url"), about)
    schema = {"type": "object", "properties": fields, "required": ["type"]}
    function = {"type": "function", "function": {"name": "find", "parameters": schema}}
    form = {"type": "json_schema", "name": "out", "schema": schema}
    given = {"id": "of Lopez", "type": "a b"}
    call = {"type": "tool_use", "id": "t", "name": "find", "input": given}
    body = {"tools": [function], "response_format": {"type": "json_schema", "json_schema": form}}
    body |= {"text": {"format": form}, "messages": [{"role": "assistant", "content": [call]}]}
    got = drawn(guardrail(), "tools", tool_choice="auto", **body)
    text = json.dumps({name: got[name] for name in body})
    assert leaked(text) == []
    said = got["tools"][0]["function"]["parameters"]["properties"]["type"]["description"]
    name = said.removeprefix("as ").removesuffix(" says")
    again = text.replace(name, "Maria Lopez").replace(f"of {name.split()[1]}", "of Lopez")
    assert json.loads(again) == body


def test_a_guardrail_that_fails_sends_nothing(proxy, monkeypatch):
    client, model = proxy
    model.bodies.clear()
    own = guardrail()
    monkeypatch.setattr(own.memo, "rewrite_object", lambda *given, **more: 1 / 0)
    body = {"model": "chat", "messages": [{"role": "user", "content": "Who is Maria Lopez?"}]}
    done = client.post("/v1/chat/completions", json=body)
    assert (done.status_code, model.bodies) == (400, [])


def test_conversations_without_a_name_are_forgotten(proxy):
    own = guardrail()
    before = own.thread.submit(own.memo.totals).result().units
    body = {"model": "chat", "messages": [{"role": "user", "content": "Who is Maria Lopez?"}]}
    posted(proxy, "/v1/chat/completions", **body)
    posted(proxy, "/v1/chat/completions", **body, stream=True)
    assert own.thread.submit(own.memo.totals).result().units == before


FILLER = "Please look at the list of orders and tell me which of them are late or were sent back. "
"""A sentence without a name, as prompts of agents have many."""
SENTENCES = int(os.environ.get("SENTENCES", "20"))
"""How many of them the prompt of the system has, before the name of a person."""
KINDS = {"type": "string", "description": "What is looked for, as the customer has written it."}
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": name,
            "description": f"{FILLER}Returns the rows that were found, and nothing without one.",
            "parameters": {
                "type": "object",
                "properties": {"name": KINDS, "mail": KINDS, "limit": {"type": "integer"}},
                "required": ["name"],
            },
        },
    }
    for name in ("find", "list_orders", "open_ticket", "send_mail", "refund", "close_ticket")
]


def people(generator, many):
    """Names that the lists know and no list of outputs has: a name in an output is no draw.

    None is another word in small letters: ``misty_kenney.pdf`` keeps *misty*.
    """
    lists = Sanitizer(only="people").by_unit().replacing
    written = {word.lower() for words in lists.outputs.values() for word in words}
    lexicon = lists.lexicon
    words = np.array([*{*lexicon.lines("words.txt")} - written], "U")
    rows = lexicon.table.rows(Hashes.of_words(words.tolist()))
    kinds = {}
    for label in ("given_f", "surname"):
        both = (lexicon.codes[rows, :2] == lexicon.code[label]).all(axis=1) & (rows >= 0)
        found = words[both & (np.char.str_len(words) > 4)].tolist()
        kinds[label] = sorted(word.capitalize() for word in found if word.isascii())
    chosen = ([generator.sample(names, 3) for names in kinds.values()] for _ in range(many))
    return [list(zip(*each, strict=True)) for each in chosen]


def turns(names):
    """Three requests of one conversation, by endpoint, with names in eleven positions.

    These are system, user, assistant and tool messages, content parts, arguments and results of
    tools, names of files, inputs of responses, blocks of Anthropic, metadata.  Answers are
    streamed.
    """
    (a, b), (c, d), (e, f) = names
    mail = f"{c}.{d}@acme.com".lower()
    everybody = f"Who are {a} {b} and {c} {d} and {e} {f} ?"
    call = json.dumps({"name": f"{e} {f}", "to": [mail], "limit": 5})
    found = json.dumps({"rows": [{"name": f"{c} {d}", "mail": mail, "n": 3}]})
    about = {"customer": f"{a} {b}"}
    function = {"id": "call_1", "type": "function", "function": {"name": "find", "arguments": call}}
    file = {"type": "file", "file": {"file_id": "file-7", "filename": f"{a}_{b}_2023.pdf".lower()}}
    system = f"{FILLER * SENTENCES}You work for {a} {b}."
    messages = [
        {"role": "system", "content": system},
        {"role": "user", "content": f"{FILLER}Ask {c} {d}.", "name": a},
        {"role": "assistant", "content": f"I ask {c} {d}.", "tool_calls": [function]},
        {"role": "tool", "tool_call_id": "call_1", "content": found},
        {"role": "user", "content": [{"type": "text", "text": f"Thanks, {e} {f}"}, file]},
        {"role": "user", "content": everybody},
    ]
    yield "/v1/chat/completions", everybody, {"messages": messages, "tools": TOOLS, "user": a}
    items = [
        {"role": "user", "content": [{"type": "input_text", "text": f"{FILLER}Ask {c} {d}."}]},
        {"type": "function_call", "call_id": "call_2", "name": "find", "arguments": call},
        {"type": "function_call_output", "call_id": "call_2", "output": found},
        {"role": "user", "content": everybody},
    ]
    tools = [{"type": "function", **tool["function"]} for tool in TOOLS]
    more = {"instructions": system, "tools": tools, "metadata": about}
    yield "/v1/responses", everybody, {"input": items, **more}
    used = {"type": "tool_use", "id": "t_1", "name": "find", "input": json.loads(call)}
    result = {"type": "tool_result", "tool_use_id": "t_1"}
    result["content"] = [{"type": "text", "text": f"{c} {d} is it."}]
    blocks = [
        {"role": "user", "content": f"{FILLER}Ask {c} {d}."},
        {"role": "assistant", "content": [used]},
        {"role": "user", "content": [result, {"type": "text", "text": everybody}]},
    ]
    keys = {"name": "name", "input_schema": "parameters", "description": "description"}
    tools = [{key: tool["function"][of] for key, of in keys.items()} for tool in TOOLS]
    more = {"system": [{"type": "text", "text": system}], "tools": tools, "max_tokens": 99}
    yield "/v1/messages", everybody, {"messages": blocks, **more}


def asked(proxy, path, body, names, **more):
    """The answer, the request that the model got without a name, and what it calls the people."""
    model = "claude" if "messages" in path else "chat"
    done, sent = posted(proxy, path, model=model, **more, **body)
    originals = {name.lower() for person in names for name in person}
    assert not originals & {*re.findall(r"[^\W\d_]+", sent.lower())}
    (received,) = proxy[1].bodies
    texts = [*strings(received)]
    assert not any(text[:1] in "[{" for text in texts)  # each was JSON
    (question,) = [text for text in texts if text.endswith(" ?")]
    return done, received, question.removeprefix("Who are ").removesuffix(" ?").split(" and ")


def test_what_the_model_gets_has_its_form_and_answers_in_one_piece_come_back(proxy):
    """Messages of all roles, names of people, parts, names of files, arguments, results, tools."""
    (names,) = people(random.Random("3"), 1)
    for (path, question, body), used in zip(turns(names), ("call_1", "call_2", "t_1"), strict=True):
        done, received, (first, second, third) = asked(proxy, path, body, names)
        texts = [*strings(received)]
        mail = f"{second.replace(' ', '.')}@".lower()
        assert {"find", third, used} <= {*texts}
        assert any(text.endswith(f"You work for {first}.") for text in texts)
        assert any(text.endswith(f"Ask {second}.") for text in texts)
        assert any(text.startswith(mail) for text in texts)
        calls = 1 if "completions" in path else 0
        assert [*strings(done.json())].count(f"I found this: {question} Bye.") == 1 + calls
        if calls:
            roles = [[message["role"] for message in sent["messages"]] for sent in (body, received)]
            assert roles[0] == roles[1]
            function = received["messages"][2]["tool_calls"][0]["function"]
            assert json.loads(function["arguments"])["limit"] == 5


def answered(rows):
    """Texts of a streamed answer of any endpoint, and the arguments of its call."""
    texts, calls = [], []
    for row in rows:
        if row.get("object") == "chat.completion.chunk":
            for choice in row["choices"]:
                texts.append(choice["delta"].get("content") or "")
                parts = choice["delta"].get("tool_calls") or ()
                calls += [part["function"]["arguments"] for part in parts]
        elif row["type"] == "content_block_delta":
            texts.append(row["delta"].get("text", ""))
            calls.append(row["delta"].get("partial_json", ""))
        elif row["type"] == "response.output_text.delta":
            texts.append(row["delta"])
        elif row["type"] == "response.function_call_arguments.delta":
            calls.append(row["delta"])
    return texts, "".join(calls)


class Clock:
    """Processor time of the guardrail for each request, and the time of the commits of its memo."""

    def __init__(self, own, monkeypatch):
        self.rows, self.commits = [], []
        drawn, ask, spent = own.drawn, own.memo._ask, [0.0]

        def timed_ask(text, *given):
            if text != "COMMIT":
                return ask(text, *given)
            begun, wall = time.thread_time(), time.perf_counter()
            done = ask(text, *given)
            self.commits.append(1e3 * (time.perf_counter() - wall))
            spent[0] += time.thread_time() - begun
            return done

        def timed(body, *given):
            begun, spent[0] = time.thread_time(), 0.0
            done = drawn(body, *given)
            milliseconds = 1e3 * (time.thread_time() - begun - spent[0])
            self.rows.append((milliseconds, len(json.dumps(body)) / 4))
            return done

        monkeypatch.setattr(own.memo, "_ask", timed_ask)
        monkeypatch.setattr(own, "drawn", timed)

    def said(self):
        def at(values):
            values = sorted(values)
            return f"{values[len(values) // 2]:.2f} and {values[len(values) * 95 // 100]:.2f} ms"

        tokens = [size for _, size in self.rows]
        each = at([1e3 * spent / size for spent, size in self.rows])
        return (
            f"{len(tokens):,} requests of {min(tokens):,.0f} to {max(tokens):,.0f} tokens;"
            f" p50 and p95: {each} of a processor for 1,000 tokens,"
            f" {at([spent for spent, _ in self.rows])} a request,"
            f" {at(self.commits)} of waiting for a commit beside"
        )


@pytest.mark.parametrize("chats", [int(os.environ.get("CHATS", "10"))])
def test_made_up_chats_with_calls_of_tools(proxy, chats, monkeypatch, capsys):
    """Nothing leaks, each person of a conversation has one name, and all answers come back.

    ``CHATS=1000`` prints the time of the guardrail, ``SEED=4`` takes other people,
    ``SENTENCES=60`` longer prompts.  Tokens are a quarter of the characters.
    """
    clock, became, parsed = Clock(guardrail(), monkeypatch), {}, 0
    generator = random.Random(os.environ.get("SEED", "3"))
    for number, names in enumerate(people(generator, chats)):
        for path, question, body in turns(names):
            about = {"stream": True, "litellm_session_id": f"chat {number}"}
            done, _, written = asked(proxy, path, body, names, **about)
            parsed += 1
            for person, other in zip(names, written, strict=True):
                assert became.setdefault((number, person), other) == other
            texts, call = answered(events(done))
            assert sum(map(bool, texts)) > 5  # it did not wait for the end
            text = "".join(texts)
            assert text == f"I found this: {question} Bye."
            assert json.loads(call) == {"text": text, "limit": 5}
    assert (parsed, len(became)) == (3 * chats, 3 * chats)
    with capsys.disabled():
        print(f"\n{chats:,} chats, {clock.said()}")
