"""Which globs, paths and places in a tree a file may name."""

from gitagent.core.glob import matching


def glob_problem(glob: str) -> str | None:
    """Return how to mend a glob over paths of the tree, or None if it is good."""
    if glob.startswith(("!", "#")):
        return f"list what is meant, without {glob[0]} in front"
    if why := path_problem(glob):
        return why
    try:
        matching((glob,), ())
    except ValueError:
        return "write a glob as in gitignore(5)"
    return None


def path_problem(path: str) -> str | None:
    """Return how to mend a path in the tree, or None if it is good."""
    if path.startswith(("/", "~")):
        return "write it from the top of the repository, without / in front"
    if "\\" in path or not path.isprintable():
        return "write it with / and without control characters"
    parts = path.removesuffix("/").split("/")
    if ".." in parts:
        return "write it without .."
    if "." in parts or "" in parts:
        return "write it without ./ and //"
    return None


def inside_problem(path: str) -> str | None:
    """Return how to mend a path of a file or folder below the top, or None."""
    if path.split("/", 1)[0].lower() == ".git":
        return "name a path outside .git"
    return path_problem(path)


def command_problem(command: str) -> str | None:
    """Return how to mend a shell command, or None if it can be run."""
    if "\0" in command:
        return "write it without a NUL character"
    if command.lstrip().startswith("#"):
        return "write a command, not a comment"
    return None
