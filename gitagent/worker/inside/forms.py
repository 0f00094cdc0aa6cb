"""What the tools that an agent has of gitagent take, and what it is told of them."""

from typing import Any

from gitagent.core.memory import LINE, Kind
from gitagent.core.remembering import Op
from gitagent.worker import questions, returns

_TEXT = {"type": "string"}
_TEXTS = {"type": "array", "items": _TEXT}

ASK: dict[str, Any] = {
    "type": "object",
    "properties": {
        "questions": {
            "type": "array",
            "maxItems": questions.QUESTIONS,
            "items": {
                "type": "object",
                "properties": {
                    "text": {**_TEXT, "description": "what has to be decided"},
                    "options": {
                        **_TEXTS,
                        "maxItems": questions.OPTIONS,
                        "description": "answers to choose from, if there are any",
                    },
                },
                "required": ["text"],
            },
        }
    },
    "required": ["questions"],
}
FINISH: dict[str, Any] = {
    "type": "object",
    "properties": {
        "status": {"type": "string", "enum": [*returns.STATUSES]},
        "summary": {
            **_TEXT,
            "description": "what was done, in a sentence or two; if blocked, what is "
            "missing",
        },
        "divergence": {
            **_TEXT,
            "description": "what differs from what was asked, each path by name, or "
            '"None"',
        },
        "evidence": {
            **_TEXTS,
            "description": "one line for each thing that was asked: how it is known "
            "to be met",
        },
        "commands": {
            **_TEXTS,
            "description": "commands that pass now; they are run again on the merged "
            "result",
        },
        "risks": {**_TEXTS, "description": "what a reviewer should look at"},
    },
    "required": ["status", "summary", "divergence"],
}
NOTHING: dict[str, Any] = {"type": "object", "properties": {}}


def _said(text: str) -> dict[str, Any]:
    return {**_TEXT, "description": text}


SEARCH: dict[str, Any] = {
    "type": "object",
    "properties": {"query": _said("words to look for")},
    "required": ["query"],
}
SHOW: dict[str, Any] = {
    "type": "object",
    "properties": {"slug": _said("name of the item")},
    "required": ["slug"],
}
REMEMBER: dict[str, Any] = {
    "type": "object",
    "properties": {
        "op": {
            **_TEXT,
            "enum": [str(op) for op in Op if op is not Op.DECIDE],
            "description": "add, or what is done to the item of that name",
        },
        "slug": _said("name of the item, in small letters, digits and hyphens"),
        "kind": {**_TEXT, "enum": [*map(str, Kind)], "description": "what it says"},
        "line": _said(f"the one thing it says, at most {LINE} characters"),
        "body": _said("more than its line, if it needs it; of a decision the reasons"),
        "sources": {
            **_TEXTS,
            "description": "where it is known from: COMMIT:PATH:FIRST-LAST with a full"
            " commit id, receipt:BLOB, landing:SUBMISSION or decision:TASK:NUMBER",
        },
        "verify": _said("a command that passes as long as it is true"),
        "supersedes": {**_TEXTS, "description": "items that it stands in place of"},
        "because": _said("withdraw, dispute: why"),
        "against": _said("dispute: the other item"),
    },
    "required": ["op", "slug"],
}

ASKS = (
    "Ask a person what only a person can decide, then stop. The answer comes as the "
    "next message when you are continued; your work so far is kept."
)
FINISHES = "Say how this task ended, before you stop."
SEARCHES = (
    "Search what earlier work has shown: the memory's items, what landed, what became"
    " of earlier attempts, and the repository's documents. Look here before you decide"
    " something that may have been decided before."
)
SHOWS = "Show an item of the memory whole, with the lines that it rests on."
REMEMBERS = (
    "Propose a change of the memory, for whoever works here next: what only work could"
    " show, never what the files say by themselves. It has to rest on the lines that"
    " you cite, in their words. The answer says what does not hold; you can mend it"
    " once. It counts after your work has passed."
)
TELLS = (
    "The task's bounds, what has to pass, the time left and what is left of the budget."
)
