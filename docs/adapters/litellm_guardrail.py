"""A guardrail for LiteLLM's proxy: chat messages are drawn before a model sees them.

    guardrails:
      - guardrail_name: dpsan
        litellm_params:
          guardrail: litellm_guardrail.Dpsan    # this file, beside config.yaml
          mode: pre_call
          default_on: true
          memo: chat.memo                       # a directory, see dpsan rewrite --memo
          epsilon: 8
          # options: {only: sensitive}          # of dpsan.Sanitizer
          # pass_roles: [system]                # messages that pass unchanged: NOT PROTECTED

A growing chat sends each message again: the memo draws it once.  Clients cannot switch the
guardrail off.  What it cannot draw (images, calls of tools, other endpoints than chats) is refused.
Of the request only ``messages`` are drawn; other fields that may hold text are named on stderr and
pass.  Answers are not touched, streaming or not: the model wrote them from what it was sent.
"""

import asyncio
import re
import sys
from concurrent.futures import ThreadPoolExecutor

from fastapi import HTTPException
from litellm.integrations.custom_guardrail import CustomGuardrail

from dpsan import Memo, Sanitizer

CHATS = {"completion", "acompletion"}
TEXTS = {"prompt", "input", "system", "instructions", "prediction", "documents", "suffix"}
"""Fields of requests that are refused: they hold text, and are no messages."""
ROLES = {"system", "developer", "user", "assistant", "tool"}
MESSAGE = {"role", "content", "tool_call_id"}
KNOWN = {
    *(
        "messages",
        "model",
        "stream",
        "stream_options",
        "temperature",
        "top_p",
        "top_k",
        "n",
        "seed",
    ),
    *("max_tokens", "max_completion_tokens", "presence_penalty", "frequency_penalty", "timeout"),
    "request_timeout",
    # What the proxy adds for itself.
    *("proxy_server_request", "secret_fields", "litellm_metadata", "litellm_call_id"),
    *("litellm_logging_obj", "guardrails", "standard_logging_guardrail_information"),
}


def refused(what):
    return HTTPException(400, {"error": f"dpsan: {what}: it cannot be drawn, so it is not sent"})


def slots(message):
    """The places of a message that hold its texts: pairs of an object and a key."""
    if message.get("role") not in ROLES:
        raise refused("a message of an unknown role")
    if not re.fullmatch(r"[\w-]{1,64}", message.get("tool_call_id") or "none", re.ASCII):
        raise refused("a message with such a tool_call_id")
    if more := sorted(key for key in message.keys() - MESSAGE if message[key] is not None):
        raise refused(f"a message with {', '.join(more)}")
    content = message.get("content")
    if isinstance(content, str):
        return [(message, "content")]
    for part in content or ():
        known = isinstance(part, dict) and part.keys() - {"cache_control"} == {"type", "text"}
        if not known or part["type"] != "text" or not isinstance(part["text"], str):
            raise refused("a part of a message that is no text")
    return [(part, "text") for part in content or ()]


class Dpsan(CustomGuardrail):
    """Draws the messages of a chat; see the top of the file for its parameters."""

    def __init__(self, memo, epsilon, pass_roles=(), options=None, **more):
        super().__init__(**more)
        self.pass_roles, self.said = frozenset(pass_roles), set()
        # A memo belongs to one thread.
        self.thread = ThreadPoolExecutor(max_workers=1)
        sanitizer = Sanitizer(epsilon=float(epsilon), **(options or {}))
        self.memo = self.thread.submit(Memo, memo, sanitizer).result()
        for role in sorted(self.pass_roles):
            self.say(f"NOT PROTECTED: messages of the role {role}")

    def say(self, line):
        if line not in self.said:
            self.said.add(line)
            print(f"dpsan: {line}", file=sys.stderr)

    def should_run_guardrail(self, data, event_type):
        return event_type == "pre_call"  # whatever the request says

    async def async_pre_call_hook(self, user_api_key_dict, cache, data, call_type):
        if call_type not in CHATS or not isinstance(data.get("messages"), list):
            raise refused(f"a request of the kind {call_type}")
        for key in sorted(key for key in data.keys() - KNOWN if data[key] is not None):
            if key in TEXTS:
                raise refused(f"the field {key}")
            self.say(f"passes unchanged: the field {key} of requests")
        messages = [dict(each) for each in data["messages"]]
        places = []
        for message in messages:
            if isinstance(message.get("content"), list):
                message["content"] = [
                    dict(part) if isinstance(part, dict) else part for part in message["content"]
                ]
            if message.get("role") not in self.pass_roles:
                places += slots(message)
        texts = [holder[key] for holder, key in places]
        loop = asyncio.get_running_loop()
        drawn = await loop.run_in_executor(self.thread, self.memo.rewrite, texts)
        for (holder, key), text in zip(places, drawn, strict=True):
            holder[key] = text
        data["messages"] = messages
        # Loggers read the request as it came from here.
        request = data.get("proxy_server_request")
        if isinstance(request, dict) and isinstance(request.get("body"), dict):
            request["body"] = {**request["body"], "messages": messages}
        return data
