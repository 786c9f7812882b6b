"""Report what an audit found, in text and HTML.

Modules: event_text, findings, html, terminal, verdict.
"""
