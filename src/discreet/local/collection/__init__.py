"""Describe a collection: domain, policy, signature, guarantee.

Modules: canonical_json, collection, domains, guarantee, policy, promises, signing.
"""
