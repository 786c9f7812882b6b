"""Build what is attacked: subjects, pairs, neighbours, extremes.

Modules: extremes, mutation_check, neighbours, pairs, subject.
"""
