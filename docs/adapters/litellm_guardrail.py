"""A guardrail for LiteLLM's proxy: a model sees drawn names, and its answers have the originals.

    guardrails:
      - guardrail_name: dpsan
        litellm_params:
          guardrail: litellm_guardrail.Dpsan    # this file, beside config.yaml
          mode: [pre_call, post_call]
          default_on: true
          memo: chat.memo                       # a directory, see dpsan rewrite --memo
          # options: {only: people}             # of dpsan.Sanitizer
          # unit_fields: [litellm_session_id]   # what names a conversation, see UNITS

Every string of a request is drawn, whatever its endpoint: messages of all roles, parts, arguments
and results of tools, also as JSON in strings, definitions of tools, metadata, names of files.  What
passes is listed in SHAPE.  Within a conversation each name has one replacement.  A request that
names none is a conversation of its own, which is forgotten with its answer.  Answers get their
originals back, streaming or not.  What cannot be drawn (images, sound, files) is refused.
"""

import asyncio
import gc
import hashlib
import json
import re
import uuid
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor

from fastapi import HTTPException
from litellm.integrations.custom_guardrail import CustomGuardrail
from litellm.proxy.guardrails.guardrail_hooks.unified_guardrail.unified_guardrail import (
    UnifiedLLMGuardrails,
)
from litellm.types.utils import ChatCompletionDeltaToolCall

from dpsan import Memo, Sanitizer
from dpsan.errors import UsageError
from dpsan.only.keys import holds_person
from dpsan.restore.restoring import Chunks, Originals

UNITS = ("litellm_session_id", "session_id", "thread_id", "conversation_id", "previous_response_id")
"""Fields of a request, or of its metadata, that name a conversation; the first one counts."""
OWN = {
    *("proxy_server_request", "secret_fields", "litellm_metadata", "litellm_call_id", "guardrails"),
    *("litellm_logging_obj", "litellm_session_id", "litellm_trace_id", "metadata", "timeout"),
    *("standard_logging_guardrail_information", "guardrail_to_apply", "shared_session", "model"),
}
"""Fields that are the proxy's: they pass."""
CHOICES = {
    *("tool_choice", "reasoning_effort", "service_tier", "previous_response_id", "include"),
    *("truncation", "modalities", "encoding_format"),
}
"""Fields that choose how a model works."""
TEXTS = {
    "headers",
    "messages",
    "prompt",
    "input",
    "system",
    "instructions",
    "suffix",
    "documents",
    "query",
}
_TOOL = ["type", "id", "index", "function.name", "name", "call_id", "status", "role"]
_PART = ["type", "id", "tool_use_id", "name", "call_id", "status", "cache_control", "file.file_id"]
SHAPE = [
    *(f"{name}?" for name in sorted(CHOICES)),
    *(f"messages[].{name}?" for name in ("role", "tool_call_id", "cache_control")),
    *(f"messages[].tool_calls[].{name}?" for name in _TOOL),
    *(f"messages[].content[].{name}?" for name in _PART),
    *(f"messages[].content[].content[].{name}?" for name in _PART),
    *(f"input[].{name}?" for name in ("type", "id", "call_id", "status", "role", "name")),
    *(f"input[].content[].{name}?" for name in _PART),
    *(f"system[].{name}?" for name in _PART),
    *(f"tools[].{name}?" for name in _TOOL),
    *(f"tools[].**.{name}?" for name in ("type", "required", "format", "pattern")),
    *(f"response_format.**.{name}?" for name in ("type", "required", "name", "format")),
    *(f"text.**.{name}?" for name in ("type", "required", "name", "format", "verbosity")),
    *(f"reasoning.{name}?" for name in ("effort", "summary")),
    "thinking.type?",
]
"""Paths of what passes of a request: kinds and roles, names of tools, ids that models gave."""
_PLACES = [f"[].{path}" for path in SHAPE]
"""The same of a request and its metadata."""
_ID = re.compile(r"[\w.:/-]{1,128}", re.ASCII)
_IDS = {"id", "tool_call_id", "tool_use_id", "call_id", "file_id"}
_WORDS = _IDS | CHOICES | {"type", "role", "status", "format", "verbosity", "effort", "summary"}
"""Fields whose strings, where they pass, are single words."""
_NESTED = {"type", "required", "name", "format", "pattern", "verbosity", "effort", "summary"}
"""Fields that pass, and are properties of a tool if they hold an object."""
_APART = "\0"
_ARGUMENTS = {"input", "arguments", "args", "response", "variables"}
"""Objects of which each string is drawn, whatever its field is called."""
_BINARY = {
    "image_url",
    "input_image",
    "image",
    "input_audio",
    "audio",
    "video_url",
    "container_upload",
    "computer_screenshot",
    "image_generation_call",
}
_FILES = {"file_data", "file_url", "mimeType", "mime_type"}
_DATA = re.compile(r"data:[\w.+/-]+[;,]")
_CALLS = {
    "tool_use",
    "server_tool_use",
    "mcp_tool_use",
    "function_call",
    "custom_tool_call",
    "mcp_call",
}
"""Kinds of parts whose name is that of a tool."""
_DELTAS = {
    "text_delta": "text",
    "thinking_delta": "thinking",
    "input_json_delta": "partial_json",
}
"""Kinds of deltas of /v1/messages, and where their text is."""
_WHERE = ("item_id", "output_index", "content_index", "summary_index", "index")
"""What tells one text of a stream from another."""
_LAST = {f"response.{name}" for name in ("completed", "incomplete", "failed")} | {"message_stop"}
_JSON = {"arguments", "partial_json"}
_PLAIN = _IDS | {
    *("type", "item_id", "object", "role", "status", "model", "name", "event_id"),
    *("previous_response_id", "response_id", "signature", "encrypted_content", "stop_reason"),
}
"""Fields of answers without text."""
_OPEN = 10_000
"""Requests without an answer, and lists of tools, that are remembered."""


def refused(what):
    return HTTPException(400, {"error": f"dpsan: {what}: it cannot be drawn, so it is not sent"})


def check(value, name="", word=False, free=False):
    """Refuse what holds no text, and what could be a text where nothing is drawn.

    It is inside of a field with a name.  ``word``: all of it passes.  ``free``: all of it is drawn,
    whatever its fields are called.
    """
    if isinstance(value, str):
        if value.startswith("data:") and _DATA.match(value):
            raise refused("a part that is no text")
        if word and not free and not _ID.fullmatch(value):
            raise refused("a part with such an id or kind")
    elif isinstance(value, dict):
        kind, source, tool = value.get("type"), value.get("source"), value.get("name")
        kind = kind if isinstance(kind, str) else ""  # a property of that name
        coded = isinstance(source, dict) and source.get("type") not in ("text", "content")
        if not free and not _FILES.isdisjoint(value):
            coded |= any(isinstance(value.get(field), str) for field in _FILES)
        if coded or kind in _BINARY:
            raise refused("a part that is no text")
        called = name in ("tools", "function", "tool_choice") or kind in _CALLS
        if called and isinstance(tool, str) and not free and not _ID.fullmatch(tool):
            raise refused("a tool with such a name")
        for field, inner in value.items():
            passes = field in (_WORDS if plain(inner) else ("cache_control", "tool_choice"))
            given = field in _ARGUMENTS and isinstance(inner, dict)
            check(inner, field, word or passes, free or given)
    elif isinstance(value, list):
        for inner in value:
            check(inner, name, word, free)


def check_keys(value):
    """Refuse keys that hold the name or the address of a person, also of JSON in strings."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            value = json.loads(value)
        except ValueError:  # it is drawn as a text
            return
    if isinstance(value, dict):
        if any(map(holds_person, map(str, value))):
            raise refused("a key with the name of a person")
        value = [*value.values()]
    for inner in value if isinstance(value, list) else ():
        check_keys(inner)


def plain(value):
    """Return whether a value has no object inside of it."""
    if not isinstance(value, list):
        return not isinstance(value, dict)
    return not any(isinstance(inner, (dict, list)) for inner in value)


def apart(value):
    """Return a value in which no property of a tool is called like what passes."""
    if isinstance(value, dict):
        return {
            name if name not in _NESTED or plain(inner) else name + _APART: apart(inner)
            for name, inner in value.items()
        }
    return [*map(apart, value)] if isinstance(value, list) else value


def together(value):
    """Return what :func:`apart` got, with other strings."""
    if isinstance(value, dict):
        return {name.removesuffix(_APART): together(inner) for name, inner in value.items()}
    return [*map(together, value)] if isinstance(value, list) else value


def check_names(parts, drawn=False):
    """Refuse a part whose name is not that of a tool, and is not drawn."""
    for part in parts if isinstance(parts, list) else ():
        if isinstance(part, dict):
            if "name" in part and part.get("type") not in _CALLS and not drawn:
                raise refused("a part with a name")
            check_names(part.get("content"))


def restored(originals, value, name=""):
    """Return a value with the originals in its strings; objects are copied."""
    if type(value) is str:
        if name in _PLAIN:
            return value
        return restored_json(originals, value) if name in _JSON else originals.restore(value)
    if isinstance(value, list):
        return [restored(originals, inner, name) for inner in value]
    if isinstance(value, dict):
        return {key: restored(originals, inner, key) for key, inner in value.items()}
    if hasattr(value, "model_copy"):
        made = value.model_copy()
        for key, inner in dict(value).items():
            setattr(made, key, restored(originals, inner, key))
        return made
    return value


def restored_json(originals, text):
    """Return the arguments of a call, which are JSON in a string, with the originals."""
    try:
        value = json.loads(text)
    except ValueError:
        return originals.restore(text)
    return json.dumps(restored(originals, value), ensure_ascii=False)


def at(event, *names):
    """Return what an event, a dict or an object, has under names in each other; None: nothing."""
    for name in names:
        event = event.get(name) if isinstance(event, dict) else getattr(event, name, None)
    return event


class Events:
    """Restores the events of a stream of /v1/responses or /v1/messages.

    A delta is held until a later one cannot change what stands for it.  Arguments of tools, which
    are JSON, come in one delta at their end.
    """

    def __init__(self, originals):
        self.originals, self.bytes = originals, None
        """The begin of a frame; None while events come as objects."""
        self.held = {}
        """By its place the last delta of a text, and what is held of the text."""

    def of_chunk(self, chunk):
        """Yield the chunks that stand for one: an event, or bytes of some, cut anywhere."""
        if not isinstance(chunk, bytes | str):
            yield from self.of_event(chunk)
            return
        self.bytes = (self.bytes or b"") + (chunk.encode() if isinstance(chunk, str) else chunk)
        *frames, self.bytes = re.split(rb"(?<=\n\n)|(?<=\r\n\r\n)", self.bytes)
        for frame in frames:
            yield from self.of_frame(frame)

    def of_frame(self, frame):
        """Yield a frame of server-sent events, and what comes before it."""
        lines = [line[5:] for line in frame.splitlines() if line.startswith(b"data:")]
        try:
            event = json.loads(b"\n".join(lines))
        except ValueError:  # a comment, or the end
            event = None
        if not isinstance(event, dict):
            yield frame
            return
        yield from map(self.frame, self.of_event(event))

    @staticmethod
    def frame(event):
        text = json.dumps(event, ensure_ascii=False)
        return f"event: {event.get('type')}\ndata: {text}\n\n".encode()

    def ended(self):
        """Yield the chunks after the last one of a stream."""
        if self.bytes:
            yield from self.of_frame(self.bytes)
        for event in self.end():
            yield self.frame(event) if self.bytes is not None else event

    def of_event(self, event):
        """Yield an event with its originals, after what was held of texts that it ends."""
        kind = str(getattr(at(event, "type"), "value", at(event, "type")))
        where = tuple(at(event, name) for name in _WHERE)
        block = at(event, "delta", "type") if kind == "content_block_delta" else None
        name = _DELTAS.get(block) if block else "delta" * kind.endswith(".delta")
        text = at(event, "delta", name) if block and name else at(event, "delta") if name else None
        if isinstance(text, str):
            place = (block or kind.removesuffix(".delta"), *where)
            is_json = block == "input_json_delta" or "arguments" in kind
            _, chunks = self.held.get(place) or (None, [] if is_json else Chunks(self.originals))
            self.held[place] = event, chunks
            if is_json:
                chunks.append(text)
            elif added := chunks.add(text):
                yield self.delta(event, added)
            return
        ended = kind.removesuffix(".done")
        for place in [*self.held]:
            if place[1:] == where and (place[0] == ended or kind == "content_block_stop"):
                yield from self.rest(place)
        if kind in _LAST:
            yield from self.end()
        yield restored(self.originals, event)

    def rest(self, place):
        """Yield what is held of a text."""
        event, chunks = self.held.pop(place)
        is_json = isinstance(chunks, list)
        text = restored_json(self.originals, "".join(chunks)) if is_json else chunks.end()
        if text:
            yield self.delta(event, text)

    def end(self):
        """Yield what is held of all texts."""
        for place in [*self.held]:
            yield from self.rest(place)

    @staticmethod
    def delta(event, text):
        """Return a delta with another text."""
        if not isinstance(event, dict):
            return event.model_copy(update={"delta": text})
        if isinstance(event["delta"], str):
            return {**event, "delta": text}
        return {**event, "delta": {**event["delta"], _DELTAS[event["delta"]["type"]]: text}}


class Dpsan(CustomGuardrail):
    """Draws requests and restores answers; see the top of the file for its parameters."""

    # Else requests without a text, and names, metadata and files beside texts, would pass.
    use_native_lifecycle_hooks = True

    def __init__(self, memo, options=None, unit_fields=UNITS, **more):
        super().__init__(**more)
        self.unit_fields, self.open = tuple(unit_fields), OrderedDict()
        self.passing = set()
        """Digests of lists of tools of which nothing is drawn."""
        # A memo belongs to one thread.
        self.thread = ThreadPoolExecutor(max_workers=1)
        sanitizer = Sanitizer(**(options or {"only": "people"}))
        self.memo = self.thread.submit(Memo, memo, sanitizer).result()
        self.thread.submit(self.memo.passes, "").result()  # compiles rules now: nobody waits yet
        gc.freeze()  # a third of the time, the collector would look at what the proxy has loaded
        self.answers = UnifiedLLMGuardrails()

    def should_run_guardrail(self, data, event_type):
        return event_type in ("pre_call", "post_call")  # whatever the request says

    async def run(self, function, *given):
        return await asyncio.get_running_loop().run_in_executor(self.thread, function, *given)

    # --- requests ----------------------------------------------------------------------------

    async def async_pre_call_hook(self, user_api_key_dict, cache, data, call_type):
        try:
            unit, once = self.unit(data, user_api_key_dict)
            sent = self.sent(data)
            names = ({*sent} or {*data}) | TEXTS  # what else is there, the proxy adds
            body = {key: data[key] for key in names - OWN if data.get(key) is not None}
            metadata = self.metadata(data)
            drawn, about = await self.run(self.drawn, body, metadata, unit)
        except HTTPException:
            raise
        except Exception as error:  # noqa: BLE001 - whatever it is, nothing is sent
            raise refused(f"{type(error).__name__} in a request") from None
        data.update(drawn)
        for holder in (data.get("metadata"), data.get("litellm_metadata")):
            if isinstance(holder, dict):
                same = (key for key in about if key in holder and holder[key] == metadata[key])
                holder.update({key: about[key] for key in same})
                if "requester_metadata" in holder:
                    holder["requester_metadata"] = about
        if sent:  # loggers read it
            whole = {**sent, **drawn, "metadata": about}
            whole["litellm_metadata"] = data.get("litellm_metadata")
            data["proxy_server_request"]["body"] = {key: whole[key] for key in sent}
        self.open[data.get("litellm_call_id")] = unit, once
        if len(self.open) > _OPEN:
            self.open.popitem(last=False)
        return data

    def all_drawn(self, body, metadata, unit):
        """Draw a request without its tools; a name that one message declares is drawn in all."""
        check(body)
        check_names(body.get("messages"), drawn=True)
        check_names(body.get("input"))
        check_names(body.get("system"))
        check_keys([body, metadata])
        drawn = self.memo.rewrite_object([apart(body), metadata], unit, except_=_PLACES)
        return together(drawn[0]), drawn[1]

    def drawn(self, body, metadata, unit):
        """Draw a request; tools of which nothing was drawn before are looked at no more."""
        tools = {"tools": body["tools"]} if body.get("tools") else {}
        about = hashlib.blake2b(json.dumps(tools).encode()).digest()
        drawn = self.all_drawn({**body, "tools": []} if tools else body, metadata, unit)
        if tools and about not in self.passing:
            check(tools)
            check_keys(tools)
            parts = apart(tools)
            tools = together(self.memo.rewrite_object(parts, unit, except_=SHAPE))
            if self.memo.passes(parts, except_=SHAPE):
                if len(self.passing) >= _OPEN:
                    self.passing.clear()
                self.passing.add(about)
        return {**drawn[0], **tools}, drawn[1]

    def unit(self, data, caller):
        """The name of a conversation within what a key may see, and whether it ends with it."""
        places = [data, self.metadata(data), data.get("litellm_metadata") or {}]
        names = (place.get(field) for field in self.unit_fields for place in places)
        name = next((name for name in names if isinstance(name, str) and name), None)
        key = getattr(caller, "api_key", None) or ""
        return (f"{key} {name}", False) if name else (uuid.uuid4().hex, True)

    @staticmethod
    def metadata(data):
        """The metadata that the client sent."""
        for name in ("metadata", "litellm_metadata"):
            found = (data.get(name) or {}).get("requester_metadata")
            if isinstance(found, dict):
                return found
        return {}

    @staticmethod
    def sent(data):
        """The request as the client sent it."""
        request = data.get("proxy_server_request")
        body = request.get("body") if isinstance(request, dict) else None
        return body if isinstance(body, dict) else {}

    # --- answers -----------------------------------------------------------------------------

    async def apply_guardrail(self, inputs, request_data, input_type, logging_obj=None):
        """LiteLLM's method for texts and calls of tools of all endpoints."""
        unit = self.open.get(request_data.get("litellm_call_id"), (uuid.uuid4().hex, True))[0]
        parts = {key: inputs[key] for key in ("texts", "tool_calls") if inputs.get(key)}
        if input_type == "request":
            check(parts)
            check_keys(parts)
            shape = [f"tool_calls[].{name}?" for name in _TOOL]
            found = await self.run(self.memo.rewrite_object, parts, unit, "**", shape)
            return {**inputs, **found}
        originals = await self.run(self.originals, unit)
        texts = [originals.restore(text) for text in inputs.get("texts") or ()]
        for call in inputs.get("tool_calls") or ():
            function = call["function"] if isinstance(call, dict) else call.function
            self.restore_arguments(originals, function)
        return {**inputs, "texts": texts}

    def originals(self, unit):
        """What puts the originals of a unit back; nothing of one of which no request was drawn."""
        try:
            return self.memo.originals(unit)
        except UsageError:
            return Originals()

    async def async_post_call_success_hook(self, data, user_api_key_dict, response):
        given = {**data, "guardrail_to_apply": self}
        await self.answers.async_post_call_success_hook(given, user_api_key_dict, response)
        await self.close(data)
        return response

    async def close(self, data):
        unit, once = self.open.pop(data.get("litellm_call_id"), ("", False))
        if once:
            await self.run(self.memo.forget, unit)

    def restore_arguments(self, originals, function):
        """Restore the arguments of a call, which are JSON in a string."""
        text = function["arguments"] if isinstance(function, dict) else function.arguments
        text = restored_json(originals, text or "")
        if isinstance(function, dict):
            function["arguments"] = text
        else:
            function.arguments = text

    async def async_post_call_streaming_iterator_hook(
        self, user_api_key_dict, response, request_data
    ):
        """Restore the stream of a chat, of /v1/responses or of /v1/messages."""
        unit = self.open.get(request_data.get("litellm_call_id"), ("", False))[0]
        originals = await self.run(self.originals, unit)
        texts, calls, events = {}, {}, Events(originals)
        try:
            async for chunk in response:
                if hasattr(chunk, "choices"):
                    for choice in chunk.choices:
                        self.restore_delta(originals, choice, texts, calls)
                    yield chunk
                else:
                    for made in events.of_chunk(chunk):
                        yield made
            for made in events.ended():
                yield made
        finally:
            await self.close(request_data)

    def restore_delta(self, originals, choice, texts, calls):
        """Restore what a chunk adds to a choice; arguments of tools come with its last chunk."""
        ends = choice.finish_reason is not None
        delta = choice.delta if hasattr(choice, "delta") else choice  # of /v1/completions
        for name in ("content", "reasoning_content", "refusal", "text"):
            text, key = getattr(delta, name, None), (choice.index, name)
            if isinstance(text, str) or (ends and key in texts):
                chunks = texts.setdefault(key, Chunks(originals))
                setattr(delta, name, chunks.add(text or "") + (chunks.end() if ends else ""))
        mine = calls.setdefault(choice.index, {})
        for call in getattr(delta, "tool_calls", None) or ():
            mine[call.index] = mine.get(call.index, "") + (call.function.arguments or "")
            call.function.arguments = ""
        if ends and mine:
            delta.tool_calls = [*(delta.tool_calls or ())] + [
                ChatCompletionDeltaToolCall(
                    index=index,
                    type="function",
                    function={"arguments": restored_json(originals, text)},
                )
                for index, text in mine.items()
            ]
            mine.clear()
