"""The parts that meet mitmproxy live, beside `think_addon.py`: the tap, what is kept of a flow,
content views, commands, the terminal.
"""
