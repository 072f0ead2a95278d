"""`python -m translator` is the command line."""

import sys

from translator.cli import main

sys.exit(main())
