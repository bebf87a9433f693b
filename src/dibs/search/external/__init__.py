"""Engines of others, under the same guide and the same driver: Glucose, CaDiCaL, Kissat, CP-SAT.

An engine is one small adapter file and one line of `registry.ENGINES`.
"""
