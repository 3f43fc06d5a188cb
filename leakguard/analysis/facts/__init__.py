"""What the judgement found out, as values: ``words`` makes the sentences of them at the end.

measured   what an instrument measured, as evidence of a growth
excluded   other explanations that were tested and rejected
harmless   growth that is no leak, and why
fix        what to change
doubt      why a run is undecided, and what it could not have detected
no_line    why no line is named that made the objects
end        how a run died, and who held the memory then
job        which processes of a job grow, and how much they hold
"""
