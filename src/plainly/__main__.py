"""``python -m plainly`` is ``plainly``."""

import sys

from plainly.cli import main

sys.exit(main())
