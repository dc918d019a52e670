"""Recordings: captured exchanges that are regression fixtures. `think-addon record`
keeps, shows and checks them.
"""
