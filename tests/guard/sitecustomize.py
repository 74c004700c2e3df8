"""Python imports this module at start-up in every process that a test starts: see connections.py."""

import connections

connections.install()
