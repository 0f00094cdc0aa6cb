from hypothesis import given
from hypothesis import strategies as st

from gitagent.core.clip import Most, clip

BLOB = "b" * 40


def text_of(data):
    return data.decode("utf-8", "replace")


def cut(data, most=None, **more):
    return clip(data, most or Most(), text_of, blob=BLOB, **more)


def test_what_fits_is_left_as_it_is():
    whole = b"x\n" * 2000
    made = cut(whole)

    assert (whole.decode(), False) == (made.text, made.cut)


def test_of_too_many_lines_the_head_and_a_little_of_the_end_are_shown():
    made = cut(b"".join(b"%d\n" % n for n in range(5000)))
    lines = made.text.split("\n")

    assert [*map(str, range(1800))] == lines[:1800]
    assert "[… what stood here is left out …]" == lines[1800]
    assert [*map(str, range(4800, 5000))] == lines[1801:-1]
    assert (
        f"[output cut: 23890 bytes, 5000 lines in all; the whole is blob {BLOB}]"
        == lines[-1]
    )


def test_a_long_line_is_cut_between_letters():
    made = cut("é€😀".encode() * 20_000)

    assert made.cut
    assert "\ufffd" not in made.text


def test_what_was_dropped_is_said_and_has_no_end_to_show():
    made = cut(b"a\nb\n", dropped=10)

    assert made.text == (
        "a\nb\n[… what stood here is left out …]\n"
        f"[output cut: 14 bytes, 2 lines in all; the first 4 bytes are blob {BLOB}]"
    )


@given(
    data=st.one_of(
        st.binary(max_size=6000),
        st.text(alphabet="aé€😀\n", max_size=3000).map(str.encode),
    ),
    lines=st.integers(1, 50),
    grow=st.booleans(),
)
def test_no_more_than_the_limits_is_shown_whatever_it_is(data, lines, grow):
    def show(part):
        found = text_of(part)
        return found.replace("a", "\\x61") if grow else found

    made = clip(data, Most(1, lines), show, blob=BLOB)
    shown = made.text.split("\n")
    own = 2 if made.cut else 0  # lines that are ours

    if made.cut:
        assert BLOB in shown[-1]
    else:
        assert show(data) == made.text
    assert len(made.text.rstrip("\n").split("\n")) <= lines + own
    assert len("\n".join(shown[:-1] if made.cut else shown).encode()) <= 1024 + 60
