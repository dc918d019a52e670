"""Keys and people, taken out of what is kept or sent elsewhere: the words that may stay, and the
crossing out of others.
"""
