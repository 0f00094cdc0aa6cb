"""What the tools that an agent has of gitagent take, and what it is told of them."""

from typing import Any

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

ASKS = (
    "Ask a person what only a person can decide, then stop. The answer comes as the "
    "next message when you are continued; your work so far is kept."
)
FINISHES = "Say how this task ended, before you stop."
TELLS = (
    "The task's bounds, what has to pass, the time left and what is left of the budget."
)
