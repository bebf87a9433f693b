"""The commands of the shell, a file for each."""


class Refused(Exception):
    """Options or arguments that make no sense: one line for the user, exit code 2."""
