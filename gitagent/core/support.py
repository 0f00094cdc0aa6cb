"""Whether what an item says is said by what it quotes, as far as words can tell.

No model judges here, so that the same proposal is always ruled the same. Numbers and
names have to stand in a quote; of all words, so many that the quotes are about the same
thing; and what a quote denies may not be claimed. Whether the quotes *prove* it, words
cannot tell; docs/decisions/0029 says what that lets through.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from gitagent.core.wording import Wording, read

SHARE: Final = 0.5  # of what the line says; measured in docs/decisions/0029
PART_SHARE: Final = 0.3  # of each part of the line between commas
PART: Final = 3  # words that make such a part say something of its own
BODY_SHARE: Final = 0.25  # of the body: reasons may weigh what no committed line says
_SHOWN: Final = 4  # words that a reason names

_BREAK = re.compile(r"[;:,](?=\s)|\.(?=\s|$)|\b(?:and|but|because|since|so)\b")
_ADVICE = re.compile(
    r"(?:^|(?<=[.;:,] ))(?:do not|don['\u2019]t|never)\s", re.IGNORECASE
)
_BULLET = re.compile(r"^\s*(?:\d+[.)]|[-*#]+)\s", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Support:
    """What of a claim its quotes share."""

    share: float  # of the line's words, numbers and names, 0 to 1
    words: tuple[str, ...] = ()  # words of the line that no quote has
    exact: tuple[str, ...] = ()  # numbers and names of both that no quote has
    denied: tuple[str, ...] = ()  # words that one side denies and the other claims
    parts: tuple[str, ...] = ()  # of the line, that the quotes do not speak of
    body: float = 1.0  # share of the body's

    @property
    def problem(self) -> str:
        """Why it is not supported, a clause; "" if it is."""
        if self.exact:
            return f"no line that it cites has {_listed(self.exact)}"
        if self.denied:
            word = self.denied[0]
            return f'it and the lines that it cites disagree on whether "{word}" is so'
        if self.share < SHARE:
            missing = f" (not {_listed(self.words)})" if self.words else ""
            said = f"{self.share:.0%} of what its line says{missing}"
            return f"the lines that it cites have {said}, and {SHARE:.0%} are needed"
        if self.parts:
            return f'no line that it cites speaks of "{self.parts[0]}"'
        if self.body < BODY_SHARE:
            said = f"{self.body:.0%} of what its body says"
            needed = f"{BODY_SHARE:.0%} are needed"
            return f"the lines that it cites have {said}, and {needed}"
        return ""


def support(line: str, body: str, quotes: Sequence[str]) -> Support:
    """Return how far quotes bear out an item's line and body.

    The name of what a quote is from may stand before it, since that is cited too.
    """
    said = read("\n".join(quotes))
    # Advice against what is so denies nothing of it.
    claim, more = read(_ADVICE.sub("", line)), read(_BULLET.sub("", body))
    exact = dict.fromkeys((*claim.exact, *more.exact))
    share, missing = _shared(claim, said)
    return Support(
        share=share,
        words=missing,
        exact=tuple(each for each in exact if not said.has(each)),
        denied=_contradicted(claim, said),
        parts=tuple(_unspoken(line, said)),
        body=_shared(more, said)[0] if more.words else 1.0,
    )


def against(reason: str, known: Sequence[str], quotes: Sequence[str]) -> str:
    """Return why quotes do not bear out a reason against items, a clause, or "".

    ``known`` are the lines of these items, which the reason may speak of. What it says
    beyond them has to stand in the quotes: an item is no evidence against itself.
    """
    if problem := support(reason, "", (*quotes, *known)).problem:
        return problem
    own = support(reason, "", known)
    more = " ".join(dict.fromkeys((*own.words, *own.exact)))
    if not more:
        return "it says nothing that the item does not say"
    return support(more, "", quotes).problem


def _shared(claim: Wording, said: Wording) -> tuple[float, tuple[str, ...]]:
    """Return the share of a claim that is said, and the words that are not."""
    missing = tuple(
        word for stem, word in claim.words.items() if not said.speaks_of(stem)
    )
    there = sum(map(said.has, claim.exact)) + len(claim.words) - len(missing)
    whole = len(claim.exact) + len(claim.words)
    return (there / whole if whole else 0.0), missing


def _unspoken(line: str, said: Wording) -> Iterator[str]:
    """Yield the parts of a line that say something else altogether."""
    for part in _BREAK.split(line):
        wording = read(part)
        if len(wording.words) >= PART and _shared(wording, said)[0] < PART_SHARE:
            yield part.strip()


def _contradicted(claim: Wording, said: Wording) -> tuple[str, ...]:
    """Return the words that one side only denies and the other only claims.

    Where both deny something in common they speak of the same case, in other words.
    """
    if claim.denied & said.denied:
        return ()
    ours = (claim.claimed - claim.denied) & (said.denied - said.claimed)
    theirs = (claim.denied - claim.claimed) & (said.claimed - said.denied)
    return tuple(sorted(claim.words[stem] for stem in ours | theirs))


def _listed(words: Sequence[str]) -> str:
    shown = [f'"{word}"' for word in words[:_SHOWN]]
    if more := len(words) - len(shown):
        shown.append(f"{more} more")
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
