"""The plugin that a project gets with the package: here the package is not installed, so it is
loaded by name.
"""

pytest_plugins = ["converter.laws.pytest_plugin"]
