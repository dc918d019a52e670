"""The lab: installs real model servers, starts each with a small model, and tries it through the
addon.
"""
