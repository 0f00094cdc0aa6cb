"""``gitagent chapter``: close an era, list what was closed, restore it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from gitagent.cli import say
from gitagent.cli.here import Here
from gitagent.core.chapter import Carried
from gitagent.daemon import chapters, restoring
from gitagent.daemon.restoring import Restored
from gitagent.errors import ConfigError
from gitagent.files import clean
from gitagent.host import clock
from gitagent.memory.chapters import Chapter

_SHORT = 12  # characters of an object id
_SHOWN = 20  # refs that differ


@click.group(name="chapter", context_settings={"help_option_names": ["-h", "--help"]})
def command() -> None:
    """Close an era of the repository, so that all of it can be restored.

    A chapter is a tag, a bundle of the target and of every record, and a committed
    file with what goes on: the items that count, the open tasks, the automations, and
    a handoff for whoever goes on.

    \b
    Examples:
      gitagent chapter close spring --handoff notes.md --to /backup/spring.bundle
      gitagent chapter restore /backup/spring.bundle
    """


@command.command(name="close")
@click.argument("name", metavar="NAME")
@click.option(
    "--handoff",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Text for whoever goes on, kept byte for byte.",
)
@click.option(
    "--to",
    metavar="PATH",
    type=click.Path(path_type=Path),
    help="Where the bundle goes; else below .git/gitagent/chapters.",
)
@click.option("--now", is_flag=True, help="Close it although something runs.")
@click.option(
    "--key",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="SSH key that signs the tag; else lander.signing_key, or Git's own.",
)
@click.pass_obj
def close(
    here: Here,
    name: str,
    handoff: Path | None,
    to: Path | None,
    now: bool,  # noqa: FBT001 - click's way
    key: Path | None,
) -> None:
    """Close a chapter: commit what goes on, tag it, and bundle all records.

    It is refused while an attempt or a check runs. A call that was cut short is made
    whole by the same call. A bundle inside .git is no backup: name a place with --to.

    \b
    Example:
      gitagent chapter close spring --to /backup/spring.bundle
    """
    text = None if handoff is None else _bytes(handoff)
    place = None if to is None else (here.folder / to)
    made = chapters.close(
        here.repository, name, handoff=text, to=place, now=now, key=key
    )
    say.out(str(made.bundle))
    state = made.state
    signed = "signed" if made.signed else "not signed"
    if not made.new:
        say.note(f"the chapter {name} was closed at {state.at} already")
        return
    say.note(
        f"closed by {made.commit[:_SHORT]}, tag chapter/{name} ({signed});"
        f" carried over: {_carried(state)}"
    )


@command.command(name="list")
@click.option("--json", "as_json", is_flag=True, help="Print them as JSON.")
@click.pass_obj
def list_(here: Here, as_json: bool) -> None:  # noqa: FBT001 - click's way
    """List the chapters, newest first.

    \b
    Example:
      gitagent chapter list
    """
    found = chapters.closed(here.repository)
    if as_json:
        made = [_json(each, place) for each, place in found]
        say.dump({"version": 1, "chapters": made})
        return
    now = clock.stamp()
    for each, place in found:
        for row in _rows(each, place, now):
            say.out(row)
    if not found:
        say.note("no chapter was closed; see: gitagent chapter close --help")


@command.command(name="restore")
@click.argument(
    "bundle",
    metavar="BUNDLE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
)
@click.pass_obj
def restore(here: Here, bundle: Path) -> None:
    """Restore a chapter from its bundle; nothing that is here is overwritten.

    In an empty repository all of it comes back. In one with a target, records are
    added that are not here, and items join the memory: what both know under one name
    and say differently is disputed, and what was withdrawn here stays withdrawn. If
    there would be too many items, nothing is done.

    \b
    Example:
      gitagent chapter restore /backup/spring.bundle
    """
    made = restoring.restore(here.repository, bundle)
    say.out(made.name)
    for row in _told(made):
        say.note(row)


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from error


def _told(made: Restored) -> Iterator[str]:
    short = made.target.removeprefix("refs/heads/")
    if made.made:
        yield f"{short} is at {made.made[:_SHORT]}"
    yield f"{_count(made.created, 'ref')} made, {made.same} there already"
    for ref, here, there in made.differing[:_SHOWN]:
        yield f"{ref} differs and stays at {here[:_SHORT]}; the chapter has {there}"
    if (left := len(made.differing) - _SHOWN) > 0:
        yield f"{left} more refs differ, and stay"
    for slug in made.withdrawn:
        yield f"{slug} was withdrawn here, and stays so"
    for ruled in made.ruled:
        slug = ruled.slug or ruled.operation.slug
        verdict = "joined" if ruled.admitted else "refused"
        yield f"{ruled.operation.op} {slug}: {verdict}. {ruled.reason}"
    for each in made.proposed:
        yield f"{each.operation.slug} was withdrawn there: to decide, {each.id}"


def _rows(each: Chapter, place: Path | None, now: str) -> Iterator[str]:
    if each.tag is None or each.state is None:
        yield f"{each.name}  it cannot be read: {clean.sentence(each.problem)}"
        return
    state = each.state
    signed = "signed" if each.tag.signature else "not signed"
    by = clean.line(each.tag.tagger.name)
    when = say.ago(state.at, now)
    yield f"{each.name}  {each.tag.commit[:_SHORT]}  by {by}, {when}, {signed}"
    yield f"  {_carried(state)}"
    yield f"  {place}" if place else "  its bundle is elsewhere"


def _json(each: Chapter, place: Path | None) -> dict[str, Any]:
    state, tag = each.state, each.tag
    return {
        "name": each.name,
        "tag": tag.oid if tag else None,
        "commit": tag.commit if tag else None,
        "by": tag.tagger.ident if tag else None,
        "signed": bool(tag and tag.signature),
        "at": state.at if state else None,
        "items": len(state.items) if state else None,
        "disputed": len(state.disputed) if state else None,
        "tasks": [each.id for each in state.tasks] if state else None,
        "automations": list(state.automations) if state else None,
        "bundle": str(place) if place else None,
        "problem": each.problem or None,
    }


def _carried(state: Carried) -> str:
    items = _count(len(state.items), "item")
    tasks = _count(len(state.tasks), "open task")
    return f"{items}, {tasks}, {_count(len(state.automations), 'automation')}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
