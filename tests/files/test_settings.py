import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitagent.core.settings import (
    Check,
    Guard,
    LanderMode,
    Provider,
    SandboxMode,
    Settings,
    Strategy,
)
from gitagent.errors import ConfigError
from gitagent.files.duration import LIMIT, duration
from gitagent.files.settings import parse, peek_guard, peek_target, seconds

# Every setting with its default.
CONTRACT = """
target = "main"

[worker]
agent = "shell"
parallel = 2
timeout = "30m"
retries = 0
branch = "agent/{task}"     # where a task's work is kept
setup = []
setup_key = []
copy = []

[sandbox]
mode = "required"
network = []
read = []
write = []

[lander]
submit = ["refs/heads/land/**"]
window = 0
mode = "batch"
strategy = "merge"
push = ""
protected = [".agent/**", ".claude/**", ".mcp.json", ".github/workflows/**"]
guard = "warn"
name = ""
email = ""
signing_key = ""
flaky_budget = 3
allow_unchecked = false

[[check]]
name = "tests"
group = 1
run = "make test"
timeout = "10m"
network = []
cache = []
cache_key = []
history = false

[model]
default = "anthropic:claude-sonnet-4-5"

[model.providers.anthropic]
kind = "anthropic"
base_url = "https://api.anthropic.com"
key_env = "ANTHROPIC_API_KEY"
prices = {}

[budget]
task = { usd = 5 }
day = { usd = 50 }

[memory]
limit = 150

[records]
keep = "30d"

[notify]
desktop = false
webhook = ""

[trust]
allowed_signers = ""
"""


def settings(text):
    return parse(text.encode())


def test_the_contract_holds_the_defaults():
    assert replace(Settings(), check=(Check("tests", "make test"),)) == settings(
        CONTRACT
    )


@pytest.mark.parametrize(
    "data", [b"", b"\n# nothing\n", b"\xef\xbb\xbf", b"[worker]\n"]
)
def test_a_file_that_sets_nothing_is_all_defaults(data):
    assert Settings() == parse(data)


def test_windows_line_endings_do_no_harm():
    assert settings(CONTRACT) == settings(CONTRACT.replace("\n", "\r\n"))


def test_what_is_set_is_what_holds():
    got = settings(
        """\
target = "refs/heads/agents"
check = [{ name = "a", run = "make a" }, { name = "B", run = "make b", group = 2 }]
[worker]
timeout = 90
setup = ["npm ci"]
[sandbox]
mode = "off"
network = ["localhost:8080", "[::1]:443"]
read = ["~/.cargo", "/opt/tools"]
[lander]
mode = "chain"
strategy = "squash"
guard = "refuse"
submit = []
[budget]
day = {}
task = { tokens = 5_000 }
"""
    )

    assert got.target_ref == "refs/heads/agents"
    assert got.check == (Check("a", "make a"), Check("B", "make b", group=2))
    assert (got.worker.timeout, got.worker.setup) == (90, ("npm ci",))
    assert got.sandbox.mode is SandboxMode.OFF
    assert got.sandbox.network == ("localhost:8080", "[::1]:443")
    assert got.sandbox.read == ("~/.cargo", "/opt/tools")
    assert got.lander.mode is LanderMode.CHAIN
    assert got.lander.strategy is Strategy.SQUASH
    assert got.lander.guard is Guard.REFUSE
    assert got.lander.submit == ()
    assert (got.budget.day, got.budget.task) == ({}, {"tokens": 5000.0})


def test_a_provider_is_added_to_the_default_one():
    got = settings(
        '[model.providers.local]\nkind = "openai"\nbase_url = "http://localhost:1/v1"\n'
        "[model.providers.anthropic]\n"
        'prices = { "x.y" = { input = 3, output = 15.5 } }\n'
    )

    assert got.model.providers == {
        "anthropic": Provider(
            key_env="ANTHROPIC_API_KEY", prices={"x.y": {"input": 3, "output": 15.5}}
        ),
        "local": Provider(kind="openai", base_url="http://localhost:1/v1"),
    }


def test_a_provider_whose_key_is_in_a_file_needs_no_variable():
    got = settings('[model.providers.anthropic]\nkey_file = "~/.key"\n')

    assert got.model.providers == {"anthropic": Provider(key_file="~/.key")}


def line(text):
    with pytest.raises(ConfigError) as caught:
        settings(text)
    assert len(caught.value.line().splitlines()) == 1
    return caught.value.line()


def test_an_unknown_key_is_named_with_the_nearest_one_and_its_line():
    said = line('target = "main"\n[lander]\nmod = "batch"\n')

    assert said.startswith(".agent/config.toml:3: ")
    assert said.endswith("lander.mod is not a setting; did you mean lander.mode?")


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("[wroker]\n", "worker?"),
        ("parallel = 2\n", "worker.parallel?"),
        ("[sandbox]\ntimeout = 3\n", "worker.timeout?"),
        ("[model.providers.x]\nkeyenv = 'X'\n", "model.providers.x.key_env?"),
        ("[[check]]\nname='t'\nrun='x'\ntimout=3\n", "check.t.timeout?"),
        ("[records]\nzzz = 1\n", "known are keep"),
        ("[[check]]\nname='t'\nrum='x'\n", "check.t.run? (and 1 more)"),
    ],
)
def test_the_key_that_was_meant(text, meant):
    assert line(text).endswith(meant)


def test_of_several_faults_the_first_is_said_and_the_others_are_counted():
    said = line("[worker]\nretries = -1\nparallel = 0\n[lander]\nwindow = -1\n")

    assert ":2: worker.retries" in said
    assert said.endswith("(and 2 more)")


def test_faults_of_form_and_of_duration_are_counted_together():
    said = line('[worker]\ntimeout = "soon"\nparallel = "2"\n')

    assert ":2: worker.timeout" in said
    assert said.endswith("(and 1 more)")


@pytest.mark.parametrize(
    ("data", "target"),
    [
        (b'target = "dev"\n[lander]\nmod = 1\n', "dev"),
        (b"target = 'dev'\n[[check]\n", "dev"),
        (b"[[check]\ntarget = 'dev'\n", "main"),
        (b"", "main"),
        (b"target = 3", "main"),
        (b"not toml", "main"),
        (b"\xff", "main"),
        (b"x = " + b"[" * 9000, "main"),
    ],
)
def test_the_target_alone_is_read_fast_and_from_any_file(data, target):
    assert target == peek_target(data)


@given(st.integers(1, LIMIT))
def test_a_duration_is_read_as_it_was_written(number):
    assert number == seconds(duration(number)) == seconds(number)


@pytest.mark.parametrize(
    "value",
    ["", "5", "m", "5 minutes", "1h30m", "-5s", "0s", 0, -1, True, 1.5, None, "9" * 99],
)
def test_what_is_no_duration_is_refused(value):
    with pytest.raises(ValueError, match="write"):
        seconds(value)


keys = st.sampled_from([*CONTRACT.split(), "target", "worker", "check", "sandbox", "x"])
values = st.recursive(
    st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | keys,
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(keys, inner, max_size=3)
    ),
    max_leaves=6,
)


@given(
    st.dictionaries(
        st.sampled_from(["target", "worker", "sandbox", "lander", "check", "model"]),
        st.dictionaries(st.sampled_from(["mode", "read", "branch", "name"]), values)
        | values,
    )
)
def test_any_values_are_settings_or_one_line(given_values):
    rows = "\n".join(f"{key} = {toml(value)}" for key, value in given_values.items())
    try:
        said = str(parse(rows.encode(errors="replace")).target)
    except ConfigError as error:
        said = error.line()

    assert len(said.splitlines()) == 1


def toml(value):
    if isinstance(value, dict):
        pairs = (f"{json.dumps(k)} = {toml(v)}" for k, v in value.items())
        return f"{{ {', '.join(pairs)} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(toml, value))}]"
    return str(value).lower() if isinstance(value, float) else json.dumps(value)


@pytest.mark.parametrize(
    ("text", "guard"),
    [
        ("", Guard.WARN),
        ('[lander]\nguard = "refuse"\n', Guard.REFUSE),
        ('\ufeff[lander]\nguard = "off"\nunknown = 1\n', Guard.OFF),
        ('[lander]\nguard = "maybe"\n', None),
        ("[lander]\nguard = 1\n", None),
        ("lander = 1\n", None),
        ("[lander\n", None),
    ],
)
def test_the_guard_is_peeked_or_left_to_the_whole_reader(text, guard):
    assert guard == peek_guard(text.encode())
