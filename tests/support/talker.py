"""A small agent: asks its model, runs what it says, until it says no more.

Its requests have what those of the real ones have: a session, the time, and the output
of commands.
"""

import sys

PROGRAM = """\
import json, os, subprocess, sys, time, urllib.request, uuid

def ask(messages):
    body = {
        "model": os.environ["GITAGENT_MODEL"],
        "messages": messages,
        "stream": True,
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": "shell",
                    "parameters": {
                        "type": "object",
                        "properties": {"command": {"type": "string"}},
                    },
                },
            }
        ],
        "user": "session_" + uuid.uuid4().hex,
    }
    request = urllib.request.Request(
        os.environ["OPENAI_BASE_URL"] + "/chat/completions",
        json.dumps(body).encode(),
        {
            "content-type": "application/json",
            "authorization": "Bearer " + os.environ["OPENAI_API_KEY"],
        },
    )
    text, calls = "", {}
    with urllib.request.urlopen(request) as answer:
        for line in answer:
            if not line.startswith(b"data: {"):
                continue
            for choice in json.loads(line[6:])["choices"]:
                delta = choice["delta"]
                text += delta.get("content") or ""
                for call in delta.get("tool_calls") or ():
                    kept = calls.setdefault(
                        call["index"], {"type": "function", "id": call.get("id")}
                    )
                    part = call.get("function", {})
                    known = kept.setdefault("function", {"name": "", "arguments": ""})
                    known["name"] += part.get("name") or ""
                    known["arguments"] += part.get("arguments") or ""
    said = {"role": "assistant", "content": text or None}
    if calls:
        said["tool_calls"] = list(calls.values())
    return said

messages = [
    {"role": "system", "content": "It is " + time.ctime() + ". You have a shell."},
    {"role": "user", "content": sys.stdin.read()},
]
while True:
    said = ask(messages)
    messages.append(said)
    print(said["content"] or "", flush=True)
    if not said.get("tool_calls"):
        break
    for call in said["tool_calls"]:
        command = json.loads(call["function"]["arguments"])["command"]
        done = subprocess.run(command, shell=True, capture_output=True, text=True)
        messages.append(
            {
                "role": "tool",
                "tool_call_id": call["id"],
                "content": done.stdout + done.stderr + time.ctime(),
            }
        )
"""

KEY = "TALKER_KEY"  # variable that has its provider's key

AGENT = f"""\
+++
backend = "command"
argv = ["{sys.executable}", "{{worktree}}/talk.py"]
model = "local:tiny"
+++
Be brief.
"""


def providers(url: str) -> str:
    """Return settings that name a server as the provider ``local``."""
    return (
        f'[model.providers.local]\nkind = "openai"\nbase_url = "{url}/v1"\n'
        f'key_env = "{KEY}"\n'
    )
