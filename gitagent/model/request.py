"""What a request of an agent asks for, and what is changed in it before it is sent.

The bytes of a request pass as they are, but for the name of a model that stands in, and
for the usage that a stream of chat completions tells only when it is asked to.

Source: Anthropic Messages API; OpenAI chat completions and responses APIs.
"""

import json
import threading
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, NoReturn

from gitagent.core.exchange import Api
from gitagent.model import beyond

MOST_OUT = 32_000  # tokens that a request may answer with when it sets no limit
_LARGEST = 10**9  # tokens; more is no number that means something
_VALUES = 1_000_000  # JSON values that a body may have; each takes 100 bytes once read
_LARGE = 2**20  # bytes of a body; of longer ones one is read at a time
_one = threading.Lock()

# Tokens are at least so many bytes of JSON on average. Code and English have 3.5 to 4,
# and what a provider adds for tools has to fit in as well.
_BYTES = 2.5
_IMAGE = 3_000  # tokens of an image at most, whatever its bytes
_IMAGE_FROM = 4_000  # bytes; a shorter text is counted as one

_PATHS = {
    "/messages": Api.MESSAGES,
    "/messages/count_tokens": Api.COUNT,
    "/chat/completions": Api.CHAT,
    "/responses": Api.RESPONSES,
}
_LIMITS = {
    Api.MESSAGES: ("max_tokens",),
    Api.COUNT: (),
    Api.CHAT: ("max_completion_tokens", "max_tokens", "n_predict"),
    Api.RESPONSES: ("max_output_tokens",),
}
_TIMES = ("n", "best_of")  # answers to one request, of a chat


@dataclass(frozen=True, slots=True)
class Asked:
    """What a request asks for."""

    api: Api
    model: str
    stream: bool
    most_in: int  # tokens of its input, estimated high
    most_out: int  # tokens of its answer
    usage: bool  # a stream of it tells its usage to the agent


def path(target: str) -> str:
    """Return the path of a request's target without its query and ``/v1``."""
    return "/" + target.partition("?")[0].removeprefix("/v1").strip("/")


def api_of(target: str) -> Api | None:
    """Return what is asked for by a POST; None: nothing that is passed on."""
    return _PATHS.get(path(target))


def speaks(api: Api) -> str:
    """Return the kind of provider that has an API."""
    return "anthropic" if api in (Api.MESSAGES, Api.COUNT) else "openai"


def read(api: Api, body: bytes, *, server_tools: bool = False) -> Asked | str:
    """Return what a request asks for, or a sentence that says why it is refused.

    ``server_tools`` is as in `beyond.refused`.
    """
    if sum(map(body.count, (b",", b"[", b"{"))) > _VALUES:
        return f"The request has more than {_VALUES} values."
    with _turn(body):
        return _read(api, body, server_tools=server_tools)


def _turn(body: bytes) -> AbstractContextManager[Any]:
    return _one if len(body) > _LARGE else nullcontext()


def _read(api: Api, body: bytes, *, server_tools: bool) -> Asked | str:
    try:
        value = _parse(body)
    except (ValueError, RecursionError) as error:
        return f"The request is no JSON that can be read: {_short(error)}."
    if not isinstance(value, dict):
        return "The request is no JSON object."
    model = value.get("model")
    if not isinstance(model, str) or not model:
        return "The request names no model."
    if value.get("background"):
        return "Answers in the background are not passed on: nobody meters them."
    if not isinstance(value.get("stream"), bool | None):
        return "stream of the request is neither true nor false."
    why = beyond.refused(api, value, server_tools=server_tools)
    if why:
        return why
    most = _most_out(api, value)
    if isinstance(most, str):
        return most
    options = value.get("stream_options")
    usage = isinstance(options, dict) and options.get("include_usage") is True
    stream = api is not Api.COUNT and value.get("stream") is True
    estimate = 0 if api is Api.COUNT else _most_in(api, value, len(body))
    return Asked(api, model, stream, estimate, most, usage or not stream)


def added(asked: Asked) -> str:
    """Return what is put into a request before it is sent, "" if nothing is."""
    if asked.api is Api.CHAT and asked.stream and not asked.usage:
        return "stream_options.include_usage"
    return ""


def prepared(asked: Asked, body: bytes, model: str) -> bytes:
    """Return the body as it is sent, for the model of that name."""
    if model == asked.model and not added(asked):
        return body
    with _turn(body):
        value = json.loads(body)
        value["model"] = model
        if added(asked):
            options = value.get("stream_options")
            given = options if isinstance(options, dict) else {}
            value["stream_options"] = {**given, "include_usage": True}
        return json.dumps(value, ensure_ascii=True, separators=(",", ":")).encode()


def _parse(body: bytes) -> Any:  # noqa: ANN401 - a JSON value
    # Two readers of a doubled key can take one value each, such as of two models; so
    # can those of a body in another encoding.
    return json.loads(
        body.decode(), object_pairs_hook=_object, parse_constant=_no_number
    )


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError("an object has one key twice")
    return value


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is no number")


def _short(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "it is too deep"
    text = str(error).splitlines()[0] if str(error) else "it is empty"
    return text[:120].encode("ascii", "replace").decode()


def _most_out(api: Api, value: dict[str, Any]) -> int | str:
    given: list[int] = []
    times = 1
    for name in (*_LIMITS[api], *(_TIMES if api is Api.CHAT else ())):
        number = value.get(name)
        if number is None:
            continue
        if not isinstance(number, int) or isinstance(number, bool) or number < 1:
            return f"{name} of the request is no whole number from 1."
        if name in _TIMES:
            times = max(times, min(number, _LARGEST))
        else:
            given.append(min(number, _LARGEST))
    if api is Api.COUNT:
        return 0
    return max(given, default=MOST_OUT) * times


def _most_in(api: Api, value: dict[str, Any], size: int) -> int:
    found = [
        len(data) for each in beyond.pieces(api, value) if (data := _picture(each))
    ]
    pictures = [each for each in found if each >= _IMAGE_FROM]
    rest = max(0, size - sum(pictures))
    return int(rest / _BYTES) + len(pictures) * _IMAGE + 1


def _picture(value: dict[str, Any]) -> str:
    """Return the base64 text of an object that is the source of an image, else ""."""
    if str(value.get("media_type")).startswith("image/"):
        data = value.get("data")
        return data if isinstance(data, str) else ""
    for name in ("url", "image_url"):
        url = value.get(name)
        if isinstance(url, str) and url.startswith("data:image/"):
            return url
    return ""
