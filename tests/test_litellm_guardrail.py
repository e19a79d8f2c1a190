"""The guardrail for LiteLLM, with stand-ins for its interface."""

import asyncio
import json
import runpy
import sys
from types import ModuleType, SimpleNamespace

import pytest
from support import ROOT

from dpsan import Memo, Sanitizer

FILE = ROOT / "docs" / "adapters" / "litellm_guardrail.py"
CHAT = "acompletion"
SMALL = {"mechanism": "krr", "vocab_size": 1000}


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
    more = {"options": SMALL, "guardrail_name": "d", "event_hook": "pre_call", **more}
    return adapter.Dpsan(folder / "memo", 8, **more)


def sent(guardrail, messages, kind=CHAT, **more):
    data = {"model": "m", "messages": messages, **more}
    return asyncio.run(guardrail.async_pre_call_hook(None, None, data, kind))


def turns(count):
    """A chat of so many questions, and an answer between two of them."""
    out = []
    for turn in range(count):
        out.append({"role": "user", "content": f"Question {turn}: where does Maria live?"})
        out.append({"role": "assistant", "content": f"Answer {turn}: in the city of Paris."})
    return out[:-1]


def drawn_messages(folder):
    with Memo(folder / "memo", Sanitizer(epsilon=8.0, **SMALL)) as memo:
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


def test_what_cannot_be_drawn_is_refused(adapter, tmp_path):
    guardrail = opened(adapter, tmp_path)
    user = {"role": "user", "content": "Maria"}
    image = {"type": "image_url", "image_url": {"url": "https://example.com/maria.png"}}
    function = {"name": "f", "arguments": '{"who": "Maria"}'}
    call = {"id": "1", "type": "function", "function": function}
    for messages in (
        [user, {"role": "user", "content": [image]}],
        [user, user | {"content": [{"type": "text", "text": "a", "alt": "Maria"}]}],
        [user, user | {"content": ["Maria"]}],
        [user, user | {"content": [{"type": "Maria", "text": "a"}]}],
        [user, user | {"content": [{"type": "text", "text": {"a": "Maria"}}]}],
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
