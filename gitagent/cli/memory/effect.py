"""``gitagent memory effect``: whether memory helps, from receipts."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

import click

from gitagent.cli import page, say
from gitagent.cli.here import Here
from gitagent.core import uplift
from gitagent.core.interval import LEVEL, Difference
from gitagent.core.outcomes import Row
from gitagent.core.uplift import LARGE, SMALL, Comparison, Harm, Verdict
from gitagent.daemon import effects
from gitagent.errors import UserError

_LOOKS = (
    "The intervals hold for one look, at a number of tasks decided beforehand. Whether"
    f" it helps or hurts is said at {uplift.SURE * 100:.0f} %, since records are looked"
    " at again and again."
)
_ITEMS = 20  # for people; --json has all


@click.command(name="effect")
@click.option("--since", metavar="DATE", help="Only tasks that began then or later.")
@click.option("--item", metavar="SLUG", help="Only that item.")
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
@click.pass_obj
def command(here: Here, since: str | None, item: str | None, as_json: bool) -> None:  # noqa: FBT001 - click's way
    """Say whether memory helps.

    A coin keeps recall, or single items, from a share of the tasks
    (memory.withhold). Both kinds are compared: first tries that landed with receipts,
    retries, tokens; each difference with its 95 % interval. What has no receipt is no
    success.

    \b
    Examples:
      gitagent memory effect
      gitagent memory effect --item deploy-order --since 2026-11-01
    """
    begin = _begin(since)
    with here.repository.objects() as objects:
        found = effects.read(objects)
    known = [row for row in found.rows if row.at >= begin]
    rows, others = uplift.one_rate(known)
    left_out = dict(found.left_out)
    if others:
        left_out["another rate was in force for them"] = others
    names = uplift.slugs(rows)
    if item is not None and item not in names:
        raise UserError(
            f'no coin was tossed for an item "{item}" yet',
            "see: gitagent memory list",
        )
    rate = rows[0].rate if rows else 0.0
    asked = names if item is None else [item]
    of_items = {slug: uplift.of_item(rows, slug) for slug in asked}
    against = [each for each in uplift.hurting(rows) if each.slug in of_items]
    recall = uplift.of_recall(rows) if item is None else None
    if as_json:
        say.dump(_json(rows, rate, recall, of_items, against, left_out))
        return
    for line in _lines(rows, rate, recall, of_items, against, left_out):
        say.out(line)


def _begin(since: str | None) -> str:
    if since is None:
        return ""
    try:
        datetime.fromisoformat(since)
    except ValueError:
        raise click.UsageError(
            f'--since "{since}" is no date such as 2026-11-01'
        ) from None
    return since


def _lines(
    rows: list[Row],
    rate: float,
    recall: Comparison | None,
    of_items: dict[str, Comparison],
    against: list[Harm],
    left_out: dict[str, int],
) -> Iterator[str]:
    if not rows:
        yield (
            "Nothing can be told yet: no task has ended whose coin was tossed"
            " (memory.withhold)."
        )
    elif recall is not None:
        yield from _whole(recall, "Recall", rate)
        yield from _items(of_items)
    else:
        for slug, found in of_items.items():
            yield from _whole(found, slug, rate)
    if against:
        yield from ("", "To be withdrawn, says the review")
        yield from (f"  {each.slug}: {each.sentence}" for each in against)
    if rows:
        yield from ("", _LOOKS)
    if left_out:
        yield from ("", "Not compared")
        yield from page.table([(f"{n:,}", why) for why, n in left_out.items()])


def _items(of_items: dict[str, Comparison]) -> Iterator[str]:
    shown = _shown(of_items)
    if shown:
        yield from ("", "Items")
        yield from page.table([_row(slug, of_items[slug]) for slug in shown])
    if len(of_items) > len(shown):
        yield f"  and {len(of_items) - len(shown)} more: --json"
    if len(of_items) > 1:
        yield (
            f"  Of {len(of_items)} items some stand out by chance; the review takes"
            " their number into account."
        )


def _whole(found: Comparison, what: str, rate: float) -> Iterator[str]:
    yield uplift.sentence(found, what, rate)
    yield ""
    given, other = found.given, found.withheld
    rows = [
        ("", "given", "withheld", "difference"),
        ("tasks", f"{given.tasks:,}", f"{other.tasks:,}", ""),
        (
            "landed at the first try",
            _share(given.first_tries, given.tasks),
            _share(other.first_tries, other.tasks),
            uplift.spoken(found.first_try),
        ),
        (
            "retries",
            _mean(given.retries, 2),
            _mean(other.retries, 2),
            _between(found.retries, 2),
        ),
        (
            "tokens",
            _mean(given.tokens, 0),
            _mean(other.tokens, 0),
            _between(found.tokens, 0),
        ),
    ]
    yield from page.table(rows)
    plan = uplift.enough(rate)
    if plan and found.verdict is not Verdict.UNKNOWN:  # else it was said above
        yield ""
        yield (
            f"At a rate of {rate:g}, {plan[LARGE]:,} tasks find a difference of"
            f" {LARGE * 100:.0f} points in four of five cases or more, and"
            f" {plan[SMALL]:,} one of {SMALL * 100:.0f}."
        )


def _shown(of_items: dict[str, Comparison]) -> list[str]:
    """Return the items with the clearest differences."""

    def clear(slug: str) -> float:
        found = of_items[slug].first_try
        return max(found.low, -found.high) if found else -2.0

    return sorted(of_items, key=clear, reverse=True)[:_ITEMS]


def _row(slug: str, found: Comparison) -> tuple[str, ...]:
    sizes = f"{found.given.tasks:,} given, {found.withheld.tasks:,} withheld"
    return (slug, sizes, uplift.spoken(found.first_try), str(found.verdict))


def _share(count: int, of: int) -> str:
    return f"{count:,} ({count / of * 100:.0f} %)" if of else "0"


def _mean(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:,.{digits}f}"


def _between(found: Difference | None, digits: int) -> str:
    if found is None:
        return "too few, or all alike"
    low, high = f"{found.low:+,.{digits}f}", f"{found.high:+,.{digits}f}"
    return f"{found.estimate:+,.{digits}f} ({low} to {high})"


def _json(
    rows: list[Row],
    rate: float,
    recall: Comparison | None,
    of_items: dict[str, Comparison],
    against: list[Harm],
    left_out: dict[str, int],
) -> dict[str, Any]:
    plan = uplift.enough(rate)
    return {
        "version": 1,
        "level": LEVEL,
        "sure": uplift.SURE,
        "tasks": len(rows),
        "rate": rate,
        "needed": {"20": plan.get(LARGE), "10": plan.get(SMALL)},
        "recall": _compared(recall, "Recall", rate) if recall else None,
        "items": [
            {"slug": slug, **_compared(found, slug, rate)}
            for slug, found in of_items.items()
        ],
        "withdraw": [
            {
                "slug": each.slug,
                "kind": each.kind,
                "sentence": each.sentence,
                "evidence": list(each.evidence),
            }
            for each in against
        ],
        "not_compared": left_out,
    }


def _compared(found: Comparison, what: str, rate: float) -> dict[str, Any]:
    return {
        "verdict": str(found.verdict),
        "sentence": uplift.sentence(found, what, rate),
        **{
            name: {
                "tasks": arm.tasks,
                "first_tries": arm.first_tries,
                "retries": arm.retries,
                "tokens": arm.tokens,
            }
            for name, arm in (("given", found.given), ("withheld", found.withheld))
        },
        "difference": {
            "first_tries": _interval(found.first_try),
            "first_tries_sure": _interval(found.sure),
            "retries": _interval(found.retries),
            "tokens": _interval(found.tokens),
        },
    }


def _interval(found: Difference | None) -> dict[str, float] | None:
    if found is None:
        return None
    return {"estimate": found.estimate, "low": found.low, "high": found.high}
