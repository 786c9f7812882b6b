"""Compile a question: parse SQL, bound its expressions, plan the noise, answer it.

Modules: bins, builder, cache_key, ir, preview, question, answer/, bounds/, parse/, plan/.
"""
