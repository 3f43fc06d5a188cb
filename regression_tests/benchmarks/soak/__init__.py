"""Tens of thousands of generations under a guard with everything on: what does it keep itself?"""
