"""Recordings: kept exchanges that serve as regression tests. The command `think-addon record`
keeps, shows and checks recordings.
"""
