"""The memory of replies: the stores that the user's settings name, waits for them, and the lessons
about servers that processes share through them. Also the turns of earlier requests. The classes on
which all stores stand are in `converter.core.model.memory`.
"""
