"""The guardrail for LiteLLM, with stand-ins for its interface, and with its proxy if installed."""

import asyncio
import importlib.util
import json
import os
import runpy
import subprocess
import sys
from itertools import pairwise
from types import ModuleType, SimpleNamespace

import pytest
from support import ROOT

from dpsan import Memo, Sanitizer

FILE = ROOT / "docs" / "adapters" / "litellm_guardrail.py"
CHAT = "acompletion"


class RefusedError(Exception):
    def __init__(self, status, detail):
        super().__init__(f"{status} {detail}")


class Guardrail:
    def __init__(self, guardrail_name=None, event_hook=None, default_on=False):
        self.names = guardrail_name, event_hook, default_on


@pytest.fixture
def adapter(monkeypatch):
    """The file, beside stand-ins for what it needs of LiteLLM and FastAPI."""
    for name, more in {
        "fastapi": {"HTTPException": RefusedError},
        "litellm": {},
        "litellm.integrations": {},
        "litellm.integrations.custom_guardrail": {"CustomGuardrail": Guardrail},
    }.items():
        module = ModuleType(name)
        vars(module).update(more)
        monkeypatch.setitem(sys.modules, name, module)
    return SimpleNamespace(**runpy.run_path(str(FILE)))


def opened(adapter, folder, **more):
    small = {"vocab_size": 3000}
    return adapter.Dpsan(
        folder / "memo", 8, options=small, guardrail_name="d", event_hook="pre_call", **more
    )


def sent(guardrail, messages, kind=CHAT, **more):
    data = {"model": "m", "messages": messages, **more}
    return asyncio.run(guardrail.async_pre_call_hook(None, None, data, kind))


def turns(count):
    """A chat of so many questions, and an answer between two of them."""
    out = []
    for turn in range(count):
        out += [
            {"role": "user", "content": f"Question {turn}: where does Maria live?"},
            {"role": "assistant", "content": f"Answer {turn}: in the city of Paris."},
        ]
    return out[:-1]


def drawn_messages(folder):
    with Memo(folder / "memo", Sanitizer(epsilon=8.0, vocab_size=3000)) as memo:
        return memo.totals().messages


def test_each_message_of_ten_turns_is_drawn_once(adapter, tmp_path):
    """Restarted in between: what was drawn before is sent again as it was."""
    guardrail, before = opened(adapter, tmp_path), []
    for turn in range(1, 11):
        if turn == 6:
            guardrail.thread.submit(guardrail.memo.close).result()
            guardrail = opened(adapter, tmp_path)
        messages = turns(turn)
        given = json.dumps(messages)
        out = sent(guardrail, messages)["messages"]
        assert json.dumps(messages) == given  # the caller's are untouched
        assert [each["role"] for each in out] == [each["role"] for each in messages]
        assert out[: len(before)] == before
        before = out
    guardrail.thread.submit(guardrail.memo.close).result()
    assert drawn_messages(tmp_path) == 19
    assert sum("Maria" in each["content"] for each in before) < 19


def test_two_processes_at_once_draw_a_message_once(tmp_path):
    code = """if True:
        import sys
        from dpsan import Memo, Sanitizer
        with Memo(sys.argv[1], Sanitizer(epsilon=8.0, vocab_size=3000)) as memo:
            sys.stdin.read()
            for line in memo.rewrite([f"Message {at}: Maria lives in Paris." for at in range(20)]):
                print(line)
    """
    command = [sys.executable, "-c", code, tmp_path / "memo"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    two = [
        subprocess.Popen(command, env={**os.environ, "PYTHONPATH": str(ROOT)}, **pipes)
        for _ in range(2)
    ]
    first, second = [each.communicate("")[0] for each in two]
    assert first == second
    assert len(first.splitlines()) == 20
    assert drawn_messages(tmp_path) == 20


def test_what_cannot_be_drawn_is_refused(adapter, tmp_path):
    guardrail = opened(adapter, tmp_path)
    user = {"role": "user", "content": "Maria"}
    image = {"type": "image_url", "image_url": {"url": "https://example.com/maria.png"}}
    call = {
        "id": "1",
        "type": "function",
        "function": {"name": "f", "arguments": '{"who": "Maria"}'},
    }
    for messages in (
        [user, {"role": "user", "content": [image]}],
        [user, {"role": "user", "content": [{"type": "text", "text": "a", "alt": "Maria"}]}],
        [user, {"role": "user", "content": ["Maria"]}],
        [user, {"role": "user", "content": [{"type": "Maria", "text": "a"}]}],
        [user, {"role": "user", "content": [{"type": "text", "text": {"a": "Maria"}}]}],
        [user, {"role": "Maria", "content": "a"}],
        [user, {"role": "tool", "content": "a", "tool_call_id": "Maria in Paris"}],
        [user, {"role": "assistant", "content": None, "tool_calls": [call]}],
        [user, {"role": "user", "content": "a", "name": "Maria"}],
    ):
        with pytest.raises(RefusedError, match="it is not sent") as error:
            sent(guardrail, messages)
        assert "Maria" not in str(error.value)
    for kind in ("aembedding", "atext_completion", "aresponses", "anthropic_messages"):
        with pytest.raises(RefusedError, match=kind):
            sent(guardrail, [user], kind)
    with pytest.raises(RefusedError, match="system"):
        sent(guardrail, [user], system="You help Maria.")
    with pytest.raises(RefusedError):
        sent(guardrail, "Maria")
    assert not guardrail.thread.submit(guardrail.memo.totals).result().messages


def test_parts_of_text_and_what_loggers_read_are_drawn(adapter, tmp_path, capsys):
    guardrail = opened(adapter, tmp_path, pass_roles=["system"])
    parts = [{"type": "text", "text": "Maria"} for _ in range(3)]
    messages = [{"role": "system", "content": "Be Maria."}, {"role": "user", "content": parts}]
    request = {"body": {"messages": messages, "model": "m"}}
    out = sent(guardrail, messages, proxy_server_request=request, user="maria")
    assert out["messages"][0]["content"] == "Be Maria."
    words = {each["text"] for each in out["messages"][1]["content"]}
    assert len(words) == 1  # one message that is sent three times
    assert out["proxy_server_request"]["body"]["messages"] == out["messages"]
    assert parts[0]["text"] == "Maria"
    told = capsys.readouterr().err
    assert "NOT PROTECTED: messages of the role system" in told
    assert "passes unchanged: the field user of requests" in told
    assert guardrail.should_run_guardrail({"metadata": {"guardrails": []}}, "pre_call")
    assert not guardrail.should_run_guardrail({}, "post_call")


PROXY = """
model_list:
  - model_name: fake
    litellm_params: {model: spy/fake}
litellm_settings:
  custom_provider_map:
    - {provider: spy, custom_handler: spy.handler}
guardrails:
  - guardrail_name: dpsan
    litellm_params:
      guardrail: litellm_guardrail.Dpsan
      mode: pre_call
      default_on: true
      memo: memo
      epsilon: 8
      options: {vocab_size: 3000}
"""
SPY = """
import json
from litellm import CustomLLM, completion
class Spy(CustomLLM):
    async def acompletion(self, *args, **more):
        with open("seen", "a") as file:
            print(json.dumps(more["messages"]), file=file)
        return completion(model="gpt-4o", messages=more["messages"], mock_response="It rains.")
handler = Spy()
"""
CLIENT = """
import asyncio, json, sys
sys.path.insert(0, ".")
from fastapi.testclient import TestClient
from litellm.proxy import proxy_server
asyncio.run(proxy_server.initialize(config="config.yaml"))
client, chat = TestClient(proxy_server.app), []
for turn in range(10):
    chat.append({"role": "user", "content": f"Question {turn}: where does Gwendolyn live?"})
    given = {"model": "fake", "messages": chat, "guardrails": []}
    done = client.post("/chat/completions", json=given)
    assert done.status_code == 200, done.text
    chat.append(done.json()["choices"][0]["message"] | {"content": f"Answer {turn}."})
    chat[-1] = {key: chat[-1][key] for key in ("role", "content")}
for path, more in (("completions", {"prompt": "a"}), ("embeddings", {"input": "a"})):
    assert client.post(f"/{path}", json={"model": "fake", **more}).status_code == 400
"""


@pytest.mark.skipif(not importlib.util.find_spec("litellm"), reason="litellm is not installed")
def test_the_proxy_sends_what_was_drawn(tmp_path):
    (tmp_path / "config.yaml").write_text(PROXY)
    (tmp_path / "spy.py").write_text(SPY)
    (tmp_path / "litellm_guardrail.py").write_text(FILE.read_text())
    done = subprocess.run(
        [sys.executable, "-c", CLIENT],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), "LITELLM_LOCAL_MODEL_COST_MAP": "True"},
    )
    assert done.returncode == 0, done.stderr
    seen = [json.loads(line) for line in (tmp_path / "seen").read_text().splitlines()]
    assert [len(each) for each in seen] == [*range(1, 20, 2)]
    for before, after in pairwise(seen):
        assert after[: len(before)] == before
    assert "Gwendolyn" not in json.dumps(seen)  # is no output of so small a vocabulary
    assert drawn_messages(tmp_path) == 19
