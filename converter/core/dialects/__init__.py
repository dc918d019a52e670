"""The wire formats of the APIs: a folder for each dialect, and files with the code that several
dialects share. A dialect has a decoder and an encoder of replies, and a reader or a writer of
requests. No dialect imports another.
"""
