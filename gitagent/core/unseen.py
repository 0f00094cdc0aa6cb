"""Characters that nobody sees, and that hide, move or reorder what is seen.

What a person reads and what a model reads have to be the same text. The joiners of
emoji and of some scripts (U+200C, U+200D), and the variation selectors of emoji, stay:
they change how others look.
"""

from typing import Final

# For a class of a regular expression. Soft hyphens, zero-width and filling characters,
# and tags and the selectors beyond Unicode's first 65,536, in which whole sentences can
# be written that only a model reads.
BLANK: Final = (
    "\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180e\u200b\u2060-\u2065\u206a-\u206f"
    "\u3164\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff"
)
# Bidirectional controls, and what ends a line for Python and for browsers.
MOVING: Final = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\u2028\u2029"
UNSEEN: Final = BLANK + MOVING
