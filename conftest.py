"""The plugin that a project gets with the package: here the package is not installed, so it is
loaded by name.
"""

pytest_plugins = ["laws.pytest_plugin"]
