"""What fits into a budget of tokens."""

from hypothesis import given, settings
from hypothesis import strategies as st

from gitagent.core.packing import Block, listed, pack, tokens

_BLOCKS = st.lists(
    st.builds(
        Block,
        name=st.text("abc", min_size=1, max_size=3),
        text=st.text("xyzä\n", max_size=60),
        priority=st.integers(0, 3),
        most=st.sampled_from([0, 5, 12]),
    ),
    max_size=12,
)
_BUDGETS = st.integers(-5, 120)
_FEW = settings(max_examples=60, deadline=None)


def _sized(name: str, size: int, priority: int = 0) -> Block:
    return Block(name, "x" * (3 * (size - 1)), priority)


@_FEW
@given(_BLOCKS, _BUDGETS)
def test_what_is_kept_is_never_over_the_budget(blocks: list[Block], budget: int):
    packed = pack(blocks, budget)

    assert packed.tokens == sum(tokens(each.text) for each in packed.kept)
    assert packed.tokens <= max(0, budget)
    assert tokens("\n".join(each.text for each in packed.kept)) <= packed.tokens + 1


@_FEW
@given(_BLOCKS, _BUDGETS)
def test_nothing_is_left_out_that_fits_beside_what_is_as_important(
    blocks: list[Block], budget: int
):
    packed = pack(blocks, budget)

    for each in packed.left_out:
        above = [other for other in packed.kept if other.priority >= each.priority]
        used = sum(tokens(other.text) for other in above)
        size = tokens(each.text)
        assert size > budget - used or size > each.most > 0


@_FEW
@given(_BLOCKS, _BUDGETS)
def test_every_block_is_kept_or_left_out_in_the_order_of_priority(
    blocks: list[Block], budget: int
):
    packed = pack(blocks, budget)
    ordered = sorted(blocks, key=lambda block: -block.priority)

    both = [*packed.kept, *packed.left_out]
    assert sorted(map(repr, ordered)) == sorted(map(repr, both))
    for part in (packed.kept, packed.left_out):
        rest = iter(ordered)
        assert all(any(each == other for other in rest) for each in part)


def test_one_block_of_1500_tokens_pushes_out_none_of_the_others():
    large = _sized("large", 1500, priority=9)
    small = [_sized(f"small-{n}", 50) for n in range(20)]

    packed = pack([large, *small], 1400)

    assert tuple(small) == packed.kept
    assert (large,) == packed.left_out


def test_a_block_over_its_own_limit_is_left_out_though_there_is_room():
    capped = Block("capped", "x" * 60, most=10)

    assert (capped,) == pack([capped], 1000).left_out


def test_names_that_do_not_fit_are_counted():
    assert "a, b, c" == listed(["a", "b", "c"], 10)
    assert "one, two and 8 more" == listed(["one", "two", *["three"] * 8], 7)
    assert "10000 more" == listed(["a-rather-long-name"] * 10_000, 4)
    assert "" == listed([], 10)
    assert "" == listed(["a-rather-long-name"], 1)


@_FEW
@given(st.lists(st.text("ab", min_size=1, max_size=9), max_size=30), _BUDGETS)
def test_a_list_of_names_is_never_over_its_budget(names: list[str], budget: int):
    found = listed(names, budget)

    assert not found or tokens(found) <= budget
