"""`TYPE_CHECKING` for the modules that every check of a job loads: to type checkers, a name like this is true.

`typing` has it, too, and importing that takes longer than the modules themselves.
"""

TYPE_CHECKING = False
