"""Malformed files: each is one line with its path, its place and the mend."""

import re

import pytest

from gitagent.core.task import Refusal
from gitagent.errors import ConfigError
from gitagent.files import settings, taskfile

TASK = ".agent/tasks/fix-login.md"


def toml(rows, body="text\n"):
    return f"+++\n{rows}\n+++\n{body}".encode()


def yaml(rows):
    return f"---\n{rows}\n---\ntext\n".encode()


# name: (file, line, what the reason has to name, what the mend has to name)
TASKS = {
    "an empty file": (b"", 0, "nothing", "write"),
    "only blank lines": (b"\n \n", 0, "nothing", "write"),
    "a file over the limit": (b"x" * 262_145, 0, "KiB", "move"),
    "not UTF-8": (b"# T\n\xff", 2, "0xff", "UTF-8"),
    "UTF-16": ("# T".encode("utf-16"), 1, "UTF-16", "UTF-8"),
    "a NUL character": (b"# T\n\0", 2, "NUL", "delete"),
    "no closing fence": (b"+++\ntitle = 'x'\n", 1, "+++", "+++"),
    "another closing fence": (b"+++\ntitle = 'x'\n---\nx", 3, "---", "+++"),
    "a fence below a blank line": (
        b"\n+++\nland = 'auto'\n+++\n",
        2,
        "line 2",
        "line 1",
    ),
    "a fence below the heading": (
        b"# T\n+++\nland = 'auto'\n+++\n",
        2,
        "line 2",
        "line 1",
    ),
    "a fence with a word": (b"+++ toml\nland = 'auto'\n+++\n", 1, "+++", "alone"),
    "YAML between TOML fences": (toml("title: x"), 2, "YAML", "key ="),
    "TOML between YAML fences": (yaml("title = 'x'"), 2, "TOML", "+++"),
    "a key twice in TOML": (toml("land = 'auto'\nland = 'auto'"), 3, "twice", "one"),
    "a key twice in YAML": (yaml("land: auto\nland: auto"), 3, "land is set", "one"),
    "a text without quotes": (toml("title = Fix it"), 2, "title", "quotes"),
    "a colon in a YAML text": (yaml("title: fix: it"), 2, "YAML", "quotes"),
    "a YAML anchor": (yaml("after: &a [x]"), 2, "anchors", "write"),
    "a YAML tag": (yaml("title: !!python/name:os.x"), 2, "YAML", "quotes"),
    "a YAML list": (yaml("- title"), 2, "keys", "key:"),
    "brackets without end": (toml("after = " + "[" * 9000), 0, "nested", "fewer"),
    "front matter over the limit": (
        toml(f"title = '{'x' * 17000}'"),
        1,
        "KiB",
        "below",
    ),
    "a huge number": (toml("priority = " + "1" * 5000), 0, "digits", "smaller"),
    "a huge hex number": (
        toml("priority = 0x" + "f" * 5000),
        2,
        "priority",
        "priority",
    ),
    "an unknown key": (toml("titel = 'x'"), 2, "titel", "title"),
    "an unknown key far from all": (toml("zzz = 1"), 2, "zzz", "priority"),
    "a title that is a number": (toml("title = 3"), 2, "number 3", 'title = "'),
    "a blank title": (toml("title = ' '"), 2, "title", 'title = "'),
    "a priority that is a text": (toml("priority = '1'"), 2, "text", "priority = 1"),
    "a priority that is true": (toml("priority = true"), 2, "true", "priority = 1"),
    "a priority out of range": (toml("priority = 9999999"), 2, "9999999", "priority"),
    "retries below zero": (toml("retries = -1"), 2, "-1", "retries ="),
    "retries with a dot": (toml("retries = 1.5"), 2, "1.5", "retries ="),
    "a list that is a text": (toml("after = 'a'"), 2, "after", 'after = ["a"]'),
    "a YAML list that is a text": (yaml("after: a"), 2, "after", 'after: ["a"]'),
    "a list with a number": (toml("paths = ['a', 1]"), 2, "number 1", "paths = ["),
    "a list with a blank": (toml("accept = ['']"), 2, "accept", "accept = ["),
    "a date": (toml("after = 2026-11-30"), 2, "date", "after = ["),
    "a bad id in after": (toml("after = ['Fix It']"), 2, "Fix It", "lower case"),
    "itself in after": (toml("after = ['fix-login']"), 2, "fix-login", "itself"),
    "a bad agent": (toml("agent = '../x'"), 2, "../x", "a-z"),
    "a duration in words": (toml("timeout = '5 minutes'"), 2, "5 minutes", '"20m"'),
    "a duration of nothing": (toml("timeout = 0"), 2, "timeout", '"20m"'),
    "a duration that is a list": (toml("timeout = ['20m']"), 2, "list", '"20m"'),
    "an unknown way to land": (toml("land = 'later'"), 2, "later", "land ="),
    "land as a truth": (toml("land = false"), 2, "false", "land ="),
    "a budget that is a number": (toml("budget = 5"), 2, "budget", "usd = 5"),
    "an unknown unit": (toml("budget = { eur = 5 }"), 2, "eur", "usd"),
    "a budget below zero": (toml("budget = { usd = -1 }"), 2, "-1", "usd = 5"),
    "a budget without end": (toml("budget = { usd = inf }"), 2, "inf", "usd = 5"),
    "an absolute glob": (toml("paths = ['/etc/**']"), 2, "/etc", "top"),
    "a glob that climbs": (toml("forbidden = ['src/../x']"), 2, "src/../x", ".."),
    "a glob with a dot in front": (toml("paths = ['./src']"), 2, "./src", "./"),
    "a negated glob": (toml("forbidden = ['!src']"), 2, "!src", "!"),
    "a glob with a backslash": (toml(r"paths = ['src\x']"), 2, "src", "/"),
    "a sh block without end": (b"# T\n\n```sh\nmake\n", 3, "sh block", "fence"),
    "a sh block without end below front matter": (
        toml("land = 'auto'", "# T\n```sh\nx\n"),
        5,
        "sh block",
        "fence",
    ),
}

SETTINGS = {
    "no TOML": ("target: main", 1, "YAML", "key ="),
    "not UTF-8": (b"target = '\xff'", 1, "0xff", "UTF-8"),
    "a table twice": ("[worker]\n[worker]\n", 2, "worker", "one"),
    "a key twice": ("target = 'a'\ntarget = 'a'\n", 2, "target", "one"),
    "a file over the limit": ("#" * 262_145, 0, "KiB", "move"),
    "an endless key": ("a" + ".a" * 5000 + " = 1", 1, "dots", "fewer"),
    "an unknown table": ("[landers]\n", 1, "landers", "lander"),
    "an unknown key": ("[lander]\nmod = 1\n", 2, "lander.mod", "lander.mode"),
    "a number as text": ("[worker]\nparallel = '2'\n", 2, "worker.parallel", "quotes"),
    "true as a number": ("[worker]\nretries = true\n", 2, "true", "retries = 2"),
    "a number with a dot": ("[worker]\nretries = 1.0\n", 2, "number 1", "dot"),
    "a number as truth": ("[notify]\ndesktop = 1\n", 2, "notify.desktop", "true"),
    "a list as text": ("[worker]\nsetup = 'x'\n", 2, "worker.setup", "["),
    "a number in a list": ("[worker]\nsetup = ['x', 1]\n", 2, "number 1", "quotes"),
    "a table as text": ("worker = 'x'\n", 1, "worker", "[worker]"),
    "one table for the checks": ("[check]\nname='a'\n", 1, "check", "[[check]]"),
    "a date as text": ("target = 2026-11-30\n", 1, "date", "quotes"),
    "a huge number": ("[worker]\nretries = 0x" + "f" * 30, 2, "huge", "retries"),
    "an unknown choice": ("[lander]\nmode = 'x'\n", 2, '"x"', '"chain"'),
    "a duration in words": ("[records]\nkeep = 'ever'\n", 2, "ever", '"20m"'),
    "a duration below zero": ("[worker]\ntimeout = -5\n", 2, "-5", '"20m"'),
    "no workers": ("[worker]\nparallel = 0\n", 2, "0", "from 1"),
    "a target that is no branch": ("target = 'a b'\n", 1, "a b", "spaces"),
    "a target that is a tag": ("target = 'refs/tags/x'\n", 1, "refs/tags/x", "branch"),
    "a branch without the task": ("[worker]\nbranch = 'x'\n", 2, "x", "{task}"),
    "a branch that is no ref": ("[worker]\nbranch = 'a..{task}'\n", 2, "..", ".."),
    "a branch that can be the target": (
        "target = 'agent/x'\n",
        0,
        "worker.branch",
        "target",
    ),
    "a branch that submits itself": (
        "[worker]\nbranch = 'land/{task}'\n",
        2,
        "land/{task}",
        "lander.submit",
    ),
    "a place that is relative": ("[sandbox]\nread = ['tools']\n", 2, "tools", "~/"),
    "a place that is all": ("[sandbox]\nwrite = ['/']\n", 2, "/", "folders"),
    "a place that climbs": ("[sandbox]\nread = ['~/../x']\n", 2, "~/../x", ".."),
    "a host without a port": ("[sandbox]\nnetwork = ['a.b']\n", 2, "a.b", "host:port"),
    "a port out of range": ("[sandbox]\nnetwork = ['a:99999']\n", 2, "99999", "65535"),
    "a short ref": ("[lander]\nsubmit = ['land/*']\n", 2, "land/*", "refs/heads/"),
    "submissions of the target": (
        "[lander]\nsubmit = ['refs/heads/*']\n",
        2,
        "*",
        "target",
    ),
    "submissions of records": (
        "[lander]\nsubmit = ['refs/gitagent/**']\n",
        2,
        "refs/gitagent",
        "records",
    ),
    "a glob that climbs": ("[lander]\nprotected = ['../x']\n", 2, "../x", ".."),
    "a remote that is an option": (
        "[lander]\npush = '--mirror'\n",
        2,
        "--mirror",
        "name",
    ),
    "a name with brackets": ("[lander]\nname = 'a <b>'\n", 2, "a <b>", "<"),
    "a copy of .git": ("[worker]\ncopy = ['.git/config']\n", 2, ".git", "outside"),
    "an absolute copy": ("[worker]\ncopy = ['/etc/x']\n", 2, "/etc/x", "top"),
    "a check without a command": ("[[check]]\nname = 'a'\n", 1, "check.a.run", "run ="),
    "a check without a name": ("[[check]]\nrun = 'a'\n", 1, "name", "name ="),
    "a check with a blank command": (
        "[[check]]\nname='a'\nrun=' '\n",
        3,
        "run",
        "write",
    ),
    "a check whose name is a path": (
        "[[check]]\nname='a/b'\nrun='x'\n",
        2,
        "a/b",
        "a-z",
    ),
    "two checks of one name": (
        "[[check]]\nname='a'\nrun='x'\n[[check]]\nname='A'\nrun='x'\n",
        5,
        "two",
        "own",
    ),
    "a check in group 0": (
        "[[check]]\nname='a'\nrun='x'\ngroup=0\n",
        4,
        "group",
        "from 1",
    ),
    "a cache outside": (
        "[[check]]\nname='a'\nrun='x'\ncache=['../c']\n",
        4,
        "../c",
        "..",
    ),
    "a model without a provider": (
        "[model]\ndefault = 'x'\n",
        2,
        "x",
        "provider:model",
    ),
    "a budget in another coin": ("[budget]\ntask = { eur = 5 }\n", 2, "eur", "usd"),
    "a budget below zero": ("[budget]\nday = { usd = -5 }\n", 2, "-5", "from 0"),
    "a budget as text": ("[budget]\nday = { usd = '5' }\n", 2, "5", "quotes"),
    "a webhook of no kind": ("[notify]\nwebhook = 'me'\n", 2, "me", "https://"),
}


def one_line(said, path, line, named, mend):
    where = f"{path}:{line}" if line else f"{path}: "

    assert len(said.splitlines()) == 1
    assert said.startswith(where), said
    assert not re.search(r"\d", said[len(where) :][:1]), said
    problem, _, last = said.rpartition("; ")
    assert named in problem or named in last, said
    assert mend in last, said
    assert len(said) < 400


@pytest.mark.parametrize("name", TASKS)
def test_a_malformed_task_is_refused_in_one_line(name):
    data, line, named, mend = TASKS[name]
    got = taskfile.parse("fix-login", "b" * 40, data, TASK)

    assert isinstance(got, Refusal)
    assert got.path == TASK
    one_line(got.reason, TASK, line, named, mend)


@pytest.mark.parametrize("name", SETTINGS)
def test_malformed_settings_are_an_error_in_one_line(name):
    data, line, named, mend = SETTINGS[name]
    data = data if isinstance(data, bytes) else data.encode()
    with pytest.raises(ConfigError) as caught:
        settings.parse(data)

    assert caught.value.hint
    one_line(caught.value.line(), ".agent/config.toml", line, named, mend)
