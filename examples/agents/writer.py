#!/usr/bin/env python3
"""An agent from outside that works on a shared context of legwork: it waits for an
outline and its sources, writes a draft of them, and writes it anew whenever the
outline changes. It has no model: what it can do is to put findings in order.

All that it knows of the work lies in the shared state, so it can be stopped and
started again at any time. It needs Python 3.9 and nothing else.

    LEGWORK_TOKEN=... python3 writer.py --task ID [--url http://127.0.0.1:8080]
"""

import argparse
import http.client
import json
import os
import random
import signal
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

WAIT = 30  # seconds that one request waits for a change


class Lost(Exception):
    """Somebody else changed what was to be changed: read it again."""


class Problem(Exception):
    """An error as legwork tells it."""

    def __init__(self, status, text, retry_after):
        try:
            told = json.loads(text)
            text = f"{told['title']}: {told.get('detail', '')}"
        except (ValueError, KeyError, TypeError):
            pass  # a proxy may answer with something else
        super().__init__(f"legwork answers {status}: {text}")
        self.status = status
        self.retry_after = retry_after


class Client:
    """Talks to legwork's HTTP API about one task."""

    def __init__(self, url, token, task):
        self.base = url.rstrip("/") + "/v1/tasks/" + urllib.parse.quote(task, safe="")
        self.token = token
        self.task = task

    def call(self, method, path, body=None, headers=None):
        """Sends a request until legwork takes it: a network error, a restart (5xx)
        and "too many requests" (429) are waited out. So each request must be one
        that can be sent twice: it only reads, has an idempotency key, or an
        If-Match."""
        pause = 0.2
        while True:
            try:
                return self.once(method, path, body, headers or {})
            except Problem as problem:
                if problem.status in (409, 412):
                    raise Lost(str(problem)) from problem
                if problem.status < 500 and problem.status != 429:
                    raise
                log(f"waiting for legwork: {problem}")
                after = problem.retry_after
            except (OSError, ValueError, http.client.HTTPException) as problem:  # the connection, or half a reply
                log(f"waiting for legwork: {problem!r}")
                after = 0
            time.sleep(max(after, random.uniform(pause / 2, pause)))  # not all agents at once
            pause = min(2 * pause, 10)

    def once(self, method, path, body, headers):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.base + path, data, method=method)
        request.add_header("Authorization", "Bearer " + self.token)
        request.add_header("Content-Type", "application/json")
        for name, value in headers.items():
            request.add_header(name, value)
        try:
            with urllib.request.urlopen(request, timeout=WAIT + 60) as reply:
                return json.load(reply)
        except urllib.error.HTTPError as error:
            retry_after = error.headers.get("Retry-After", "")
            text = error.read().decode(errors="replace")
            raise Problem(error.code, text, int(retry_after) if retry_after.isdigit() else 0) from None

    def state(self):
        return self.call("GET", "/state")

    def changed(self, after, keys):
        """Returns when one of the keys was changed after a version, the task is
        over, or WAIT has passed."""
        query = urllib.parse.urlencode({"keys": ",".join(keys), "after": after})
        self.call("GET", "/state?" + query, headers={"Prefer": f"wait={WAIT}"})

    def set(self, version, values):
        """Changes keys of the shared state, unless it has changed since that version."""
        self.call("PATCH", "/state", values, {"If-Match": f'"{version}"'})

    def say(self, kind, key, content):
        """Adds a message to the context, once for each key."""
        body = {"type": kind, "content": content, "idempotency_key": f"{self.task}/{key}"}
        self.call("POST", "/messages", body)

    def delegations(self, to):
        """The texts of what was delegated to somebody, in order."""
        texts, after = [], 0
        while after is not None:
            page = self.call("GET", f"/context?type=delegation&after={after}")
            for message in page["messages"]:
                content = message["content"]
                if isinstance(content, dict) and content.get("to") == to:
                    texts.append(content.get("text", ""))
            after = page["next_after"]
        return texts


def write(outline, sources):
    """The draft: a section for each heading, a sentence with its citation for each
    source."""
    by_id = {source["id"]: source for source in sources}
    lines = []
    for section in outline["sections"]:
        lines += ["## " + section["heading"].capitalize(), ""]
        lines += [f"{by_id[i]['finding']} [{i}]" for i in section["sources"]]
        lines.append("")
    lines += ["## Sources", ""]
    lines += [f"- [{s['id']}] {s['authors']} ({s['year']}): {s['title']}" for s in sources]
    return "\n".join(lines)


def step(client, state):
    """Writes what is not written yet; False when it is another one's turn."""
    values = state["state"]
    outline, draft = values.get("outline"), values.get("draft", {"number": 0})
    if outline is None or draft["number"] >= outline["number"]:
        return False
    number = outline["number"]
    asked = client.delegations("writer")
    log(f"draft {number}: {asked[-1] if asked else 'from the outline'}")
    client.say("action", f"draft-{number}", {"action": "write", "draft": number, "asked": asked[-1:]})
    text = write(outline, values["sources"])
    client.set(state["version"], {"draft": {"number": number, "text": text}})
    client.say("observation", f"written-{number}", f"Draft {number} has {len(text.split())} words.")
    return True


def work(client):
    """Does what the shared state asks for next, until the task is over."""
    while True:
        state = client.state()
        if state["over"]:
            log("the task is over")
            return
        try:
            did = step(client, state)
        except Lost as lost:
            log(f"looking again: {lost}")
            did = client.state()["version"] != state["version"]
        if not did:
            client.changed(state["version"], ["outline", "sources"])


def log(text):
    print("writer:", text, file=sys.stderr, flush=True)


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    parser = argparse.ArgumentParser(description="Writes drafts from outlines in a shared context of legwork.")
    parser.add_argument("--task", required=True, help='id of a task that was started with "run": false')
    parser.add_argument("--url", default="http://127.0.0.1:8080", help="where legwork listens")
    args = parser.parse_args()
    token = os.environ.get("LEGWORK_TOKEN")
    if not token:
        parser.error("set LEGWORK_TOKEN to a token of role agent")
    if not args.url.startswith(("http://", "https://")):
        parser.error("--url begins with http:// or https://")
    try:
        work(Client(args.url, token, args.task))
    except Problem as problem:
        sys.exit(f"writer: {problem}")
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
