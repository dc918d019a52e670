"""`python -m converter.command`: runs the command `think-addon` (`converter.extras.command`) where
nothing is installed.
"""

import sys

from converter.extras.command.__main__ import main

if __name__ == "__main__":
    sys.exit(main())
