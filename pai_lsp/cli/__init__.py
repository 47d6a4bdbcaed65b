"""The command line.

Exit statuses: 0 for success, those below, and `OWN_FAILURE` of source/failures.py.
"""

FINDINGS = 1
WRONG_USAGE = 2
