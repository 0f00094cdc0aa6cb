"""``gitagent context``: what an attempt sent to models, and who put it there."""

from collections.abc import Iterable, Iterator

import click

from gitagent.cli import page, say
from gitagent.cli.here import Here
from gitagent.core.exchange import Exchange
from gitagent.core.usage import Usage
from gitagent.daemon import exchanges
from gitagent.daemon.exchanges import Piece
from gitagent.files import clean

_LINE = 100  # characters of a block's first line


@click.command(name="context")
@click.argument("name", metavar="ID")
@click.option(
    "--attempt",
    metavar="N",
    type=click.IntRange(min=1),
    help="That attempt, not the newest.",
)
@click.option(
    "--request",
    metavar="N",
    type=click.IntRange(min=1),
    help="The blocks of that request.",
)
@click.option(
    "--explain",
    is_flag=True,
    help="Say of each block how it begins, and how much each producer put there.",
)
@click.option("--raw", is_flag=True, help="The very bytes of the request.")
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
@click.pass_obj
def command(
    here: Here,
    name: str,
    attempt: int | None,
    request: int | None,
    explain: bool,  # noqa: FBT001 - click's way
    raw: bool,  # noqa: FBT001 - click's way
    as_json: bool,  # noqa: FBT001 - click's way
) -> None:
    """List the requests that a task's attempt made to models, or the blocks of one.

    ID is a task, or a submission of one. A block is a system prompt, the list of tools,
    or a part of a message; all of them in order are the request, byte for byte. Beside
    each stand its tokens (its share, by size, of what the provider counted), its bytes,
    its blob, and who put it there. --explain and --raw without --request are about
    the newest request.

    \b
    Examples:
      gitagent context fix-login
      gitagent context fix-login --request 3
      gitagent context fix-login --explain
      gitagent context fix-login --request 3 --raw > request.json
    """
    if raw and (as_json or explain):
        raise click.UsageError("--raw goes with neither --json nor --explain")
    with here.repository.objects(fast=True) as objects:
        task = exchanges.task_of(objects, name)
        number = attempt or task.attempt
        found = exchanges.of_attempt(objects, task, number)
        if request is None and not explain and not raw:
            if as_json:
                rows = [_json(each) for each in found]
                say.dump(_head(task.id, number) | {"requests": rows})
            else:
                _list(found, task.id, number)
            return
        one = exchanges.require(found, task.id, request)
        pieces = list(exchanges.pieces(objects, one))
    if raw:
        say.raw(b"".join(each.data for each in pieces))
    elif as_json:
        blocks = [_json_block(each, explain=explain) for each in pieces]
        made = _json(one) | {"blocks": blocks, "answer": one.answer or None}
        say.dump(_head(task.id, number) | {"request": made})
    else:
        _show(one, pieces, explain=explain)


def _list(found: list[Exchange], task: str, attempt: int) -> None:
    for line in page.table([_row(each) for each in found], indent=""):
        say.out(line)
    if not found:
        say.note(f"attempt {attempt} of {task} has made no request to a model")


def _row(each: Exchange) -> tuple[str, ...]:
    usage = each.usage
    why = each.reason or (f"in place of {each.fallback}" if each.fallback else "")
    return (
        str(each.number),
        each.state,
        each.model,
        f"{_read(usage):,} in",
        f"{usage.output:,} out",
        _money(usage),
        each.started,
        why,
    )


def _show(one: Exchange, pieces: list[Piece], *, explain: bool) -> None:
    say.out(
        f"attempt {one.attempt}, request {one.number} to {one.model}: {one.state},"
        f" {_read(one.usage):,} tokens in, {one.usage.output:,} out"
        f" {_money(one.usage)}".rstrip()
    )
    shown = [each for each in pieces if each.block.kind]
    for line in page.table([_block(each, explain=explain) for each in shown]):
        say.out(line)
    between = sum(each.block.size for each in pieces if not each.block.kind)
    say.out(f"and {between:,} bytes of settings and syntax around them")
    if explain:
        say.out()
        for line in page.table(list(_producers(pieces))):
            say.out(line)


def _block(each: Piece, *, explain: bool) -> tuple[str, ...]:
    block = each.block
    row = (
        block.kind,
        f"{block.tokens:,} tokens",
        f"{block.size:,} bytes",
        block.oid[:12],
        block.producer,
    )
    return (*row, clean.sentence(each.line, _LINE)) if explain else row


def _producers(pieces: Iterable[Piece]) -> Iterator[tuple[str, ...]]:
    """Yield how much each producer put there, the one with most first."""
    sums: dict[str, tuple[int, int]] = {}
    for each in pieces:
        who = each.block.producer.partition(", ")[0].partition(": ")[0]
        tokens, size = sums.get(who, (0, 0))
        sums[who] = (tokens + each.block.tokens, size + each.block.size)
    for who, (tokens, size) in sorted(sums.items(), key=lambda row: -row[1][1]):
        yield (f"{tokens:,} tokens", f"{size:,} bytes", who)


def _head(task: str, attempt: int) -> dict[str, object]:
    return {"version": 1, "task": task, "attempt": attempt}


def _json(each: Exchange) -> dict[str, object]:
    usage = each.usage
    return {
        "number": each.number,
        "api": each.api,
        "asked": each.asked,
        "model": each.model,
        "state": each.state,
        "started": each.started,
        "ended": each.ended or None,
        "status": each.status,
        "failure": each.failure or None,
        "reason": each.reason or None,
        "tries": each.tries,
        "fallback": each.fallback or None,
        "tokens": {
            "input": usage.input,
            "output": usage.output,
            "cache_read": usage.cache_read,
            "cache_write": usage.cache_write,
        },
        "usd": None if usage.unpriced else usage.usd,
        "record": each.oid,
    }


def _json_block(each: Piece, *, explain: bool) -> dict[str, object]:
    block = each.block
    said = {"line": clean.sentence(each.line, _LINE)} if explain else {}
    return {
        "path": block.path,
        "kind": block.kind,
        "tokens": block.tokens,
        "bytes": block.size,
        "oid": block.oid,
        "producer": block.producer,
        **said,
    }


def _read(usage: Usage) -> int:
    return usage.input + usage.cache_read + usage.cache_write


def _money(usage: Usage) -> str:
    return f"${usage.usd:.4f}" if usage.requests and not usage.unpriced else ""
