"""The database: objects, refs, merges, worktrees, remotes.

The only importer of pygit2 and the only runner of git(1).
"""
