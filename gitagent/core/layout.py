"""Where everything is kept: refs and committed paths, each named here alone.

Those that end in a slash are folders; an id follows.
"""

HEADS = "refs/heads/"
FOR = "refs/for/"  # pushed to, and never there

TASK_RECORDS = "refs/gitagent/tasks/"
EXCHANGES = "refs/gitagent/exchanges/"  # with models, by task
CONVERSATIONS = "refs/gitagent/conversations/"  # by task, and of chats by "_<id>"
SUBMISSIONS = "refs/gitagent/submissions/"
CANDIDATES = "refs/gitagent/candidates/"  # pins of what is being checked
APPROVALS = "refs/gitagent/approvals/"  # by submission
QUEUE = "refs/gitagent/queue"  # its switch
OPERATIONS = "refs/gitagent/memory/operations"  # on the memory, and their rulings
PROPOSALS = "refs/gitagent/memory/proposals/"  # of the memory's review, by id
INBOX = "refs/gitagent/inbox"  # which outcomes were acknowledged
RECEIPTS = "refs/gitagent/receipts/"  # by month
ARCHIVE = "refs/gitagent/archive/"  # by month
CLAIMS = "refs/gitagent/claims/"  # on the remote
WITNESS = "refs/gitagent/witness/"  # by clone, on the remote too
WITNESSED = (
    "refs/gitagent/witnessed/"  # by remote: what it has, while that is looked at
)
CHAPTER_TAGS = "refs/tags/chapter/"
REMOTES = "refs/gitagent/remote/"  # by remote: its target, as it was seen last
HARVEST = "refs/gitagent/harvest/"  # pins of what is being taken over
KEPT = "refs/gitagent/kept/"  # work that is on no branch

AGENT = ".agent/"
CONFIG = ".agent/config.toml"
AGENTS = ".agent/agents/"
CLAUDE_AGENTS = ".claude/agents/"  # made for Claude Code
AUTOMATIONS = ".agent/automations/"
SKILLS = (".agent/skills/", ".claude/skills/")
TASKS = ".agent/tasks/"
DONE = ".agent/tasks/done/"
ANSWERS = ".agent/tasks/answers/"  # what people wrote to questions of tasks
LANDINGS = ".agent/landings/"
MEMORY = ".agent/memory/"
CHAPTERS = ".agent/memory/chapters/"  # what was carried over when an era was closed
RECORD_FOLDERS = (TASKS, LANDINGS, MEMORY)  # not part of the product tree
