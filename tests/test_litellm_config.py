"""docs/adapters/litellm_config.yaml: a stranger copies two files and starts a proxy."""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from threading import Thread

import pytest
from support import ROOT

FOLDER = ROOT / "docs" / "adapters"
CONFIG = (FOLDER / "litellm_config.yaml").read_text()


def test_it_is_what_the_guardrail_says_of_itself():
    """Without LiteLLM: the settings at the top of the guardrail are in the file."""
    head = (FOLDER / "litellm_guardrail.py").read_text().split('"""')[1]
    settings = re.findall(r"^ +(?:# )?(?:- )?(\w+: \S+(?:, \w+\])?)", head, re.M)
    assert len(settings) > 5
    for setting in settings:
        if "unit_fields" not in setting and "options" not in setting:
            assert setting in CONFIG, setting
    assert "options: {only: people}" in CONFIG
    assert "litellm_config.yaml" in (FOLDER / "README.md").read_text()


class _Model(BaseHTTPRequestHandler):
    """Answers with the text that it got, and keeps it."""

    got: list[str] = []  # noqa: RUF012 - of all requests

    def log_message(self, *given):
        pass

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        text = body["messages"][-1]["content"]
        self.got.append(json.dumps(body))
        message = {"role": "assistant", "content": f"Done: {text}"}
        choice = {"index": 0, "finish_reason": "stop", "message": message}
        answer = {"id": "1", "object": "chat.completion", "created": 1, "model": "m"}
        answer |= {"choices": [choice], "usage": {"prompt_tokens": 1, "completion_tokens": 1}}
        data = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


@pytest.mark.slow
def test_a_proxy_with_it_hides_a_name_from_the_model_and_brings_it_back(tmp_path):
    if not (find_spec("litellm") and find_spec("apscheduler")):
        pytest.skip("LOUD: litellm[proxy] is not installed, the file was NOT tried")
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Model)
    Thread(target=server.serve_forever, daemon=True).start()
    shutil.copy(FOLDER / "litellm_guardrail.py", tmp_path)
    base = f"api_base: http://127.0.0.1:{server.server_port}/v1"
    (tmp_path / "litellm_config.yaml").write_text(re.sub(r"# api_base: \S+", base, CONFIG))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    paths = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    env = {**os.environ, "OPENAI_API_KEY": "none", "PYTHONPATH": paths}
    env |= {"LITELLM_MASTER_KEY": "sk-here", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    code = "from litellm import run_server; run_server()"
    words = ["--config", "litellm_config.yaml", "--host", "127.0.0.1", "--port", str(port)]
    log = (tmp_path / "log").open("w")
    given = {"cwd": tmp_path, "env": env, "stdout": log, "stderr": log}
    proxy = subprocess.Popen([sys.executable, "-c", code, *words], **given)
    message = {"role": "user", "content": "Write one line to Grace Young in Boston."}
    body = {"model": "chat", "litellm_session_id": "4711", "messages": [message]}
    headers = {"Authorization": "Bearer sk-here", "Content-Type": "application/json"}
    address = f"http://127.0.0.1:{port}/v1/chat/completions"
    request = urllib.request.Request(address, json.dumps(body).encode(), headers)
    try:
        for _ in range(120):
            time.sleep(1)
            assert proxy.poll() is None, Path(log.name).read_text()[-2000:]
            try:
                with urllib.request.urlopen(request, timeout=60) as done:  # noqa: S310 - ours
                    answer = json.loads(done.read())
                break
            except urllib.error.HTTPError:
                raise
            except OSError:  # it is not up yet
                continue
    finally:
        proxy.kill()
        proxy.wait()
        log.close()
        server.shutdown()
        server.server_close()
    assert "Grace Young" in answer["choices"][0]["message"]["content"]
    assert _Model.got
    assert not any(re.search("Grace|Young|Boston", text) for text in _Model.got)
