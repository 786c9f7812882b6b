"""Report what an audit found, as text, JSON and HTML.

verdict      the records of an attack and of all attacks on one subject
findings     all that one run found, its summary and its JSON
terminal     the findings as tables in a terminal
html         the findings as one HTML page
event_text   descriptions of events and values
"""
