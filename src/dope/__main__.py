"""`python -m dope` is the command `dope`."""

import sys

from dope.cli import main

sys.exit(main())
