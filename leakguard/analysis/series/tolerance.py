"""The numbers that decide whether a series grows.

Each value is derived, measured, by convention, or chosen; its comment says which. Without a unit it
is a share or a count of samples. **Worth** is how many reports of recorded runs change when the
number is halved, and doubled: "1 of 12" is 1 of the first 12 that were tried, a number alone is of
all 226 runs.
"""

from __future__ import annotations

import math

# -- how many samples -----------------------------------------------------------------------------

# The fewest teeth, or steps of a staircase, whose levels are judged as a series of their own; the
# fewest samples of sizes that a set-up leaves, or that growth needs which begins later; so many
# changes, each larger than the one before, are acceleration. Chosen: two more than the three values
# of a trend, because each level is known from a few samples only. Five random changes are positive
# and in ascending order in 1 of 3,840 cases, below RISK.
# Worth: halved 5 of 12, doubled 1.
ENOUGH = 5
# Up to so many steps may be events such as imports; more are a staircase, which leaks. Up to so
# many samples of sizes cannot distinguish random drift from white noise: they are judged under a
# pure random walk only, which makes growth hardest to prove, and each further sample admits one
# more noise model, with less drift, so that the verdict does not jump. Chosen.
# Worth: of the steps, halved 1 of 12, doubled 1; of the samples, halved 0, doubled 0.
MAY_BE_CHANCE = 6
# The most samples that are judged; a longer series is averaged in blocks of neighbours. Teeth are
# searched in more, because averaging hides them. The 8,128 pairwise slopes of 128 samples take
# 2 ms, a whole judgement some 20 ms; the search for teeth takes up to 30 ms. A slope over 128 means
# is as precise as one over all values (to 0.01 % of its error).
# Worth: MOST_LOOKS halved 2 of 12, doubled 0.
MOST_LOOKS, LOOKS_FOR_TEETH = 128, 512
# The number of positions, evenly over the run, at which a ramp may start or end. Chosen: the cost
# of a fit grows with the square of this number. Worth: halved 2, doubled 0.
PLACES = 16

# -- risk of error --------------------------------------------------------------------------------

# Risk of error of each one-sided t test. Chosen: a thousand series of noise show false growth four
# times, and a second measurement must still confirm it. Worth: halved 0, doubled 2.
RISK = 0.004
# The same with one degree of freedom (three samples). Chosen larger than RISK, so that a count that
# rises twice by 11 objects or more is accepted as growth. With RISK, only two rises by 32 would be
# accepted. Worth: halved 3, doubled 1 of 12.
RISK_OF_TWO = 0.0125
# With a risk of error below this, a rise is probably not chance. Growth is only proven at a risk of
# RISK. Chosen. Worth: halved 1 of 39, on 631 recorded runs.
DOUBTFUL = 0.1

# -- what stands out of the noise -----------------------------------------------------------------

# A spike or a jump of this many standard deviations stands out: by chance once in two million
# samples. Worth: halved 1 of 12, doubled 3.
OUTSTANDING = 5.0
# The least variance that is assumed for a count. Chosen so that few small rises may be chance:
# three rises by 1 have a risk of error of 0.036, which is not accepted. Five rises by 1 have a risk
# of 0.0037, which is accepted as growth (RISK is 0.004). Worth: halved 0, doubled 1.
COUNT_VARIANCE = 0.08
# Levels between cuts are level if the whole series rises more steeply by this many standard errors.
# A straight line does not, because it rises as steeply between any cuts. Chosen.
# Worth: halved 0, doubled 1.
STANDARD_ERRORS = 3.0
# Levels between cuts must fit a series better than a straight line does, by this factor in the
# residual sum of squares. Measured on a dozen looks: up to 1.5 for noise, because the cuts are
# chosen to fit the noise, and 3 for three even steps of five standard deviations.
# Worth: halved 0, doubled 1.
CLOSER = 1.6

# -- set-up, rest and steps -----------------------------------------------------------------------

# A change at the start is set-up if it is more than this many times as large as every later change.
# Chosen. Worth: halved 1 of 12, doubled 0.
SET_UP = 1.5
# Growth may begin during the set-up. A change during the set-up is taken for growth if it is at
# least 0.75 times and at most 4 times what the rate of growth adds in the same time. Chosen.
WITH_GROWTH_IN_IT = (0.75, 4.0)
# A rest must last this many times as long as the longest pause before it, and a last rise this many
# times as long as the longest tooth. Chosen. Worth: halved 1 of 12, doubled 0.
OUTLIVES = 2.0
# What little is still to come, or is left, is none: of the height of a saturation (after 1.9 time
# constants), of a rise without its four largest steps. A rest lasts at least this share of the run.
# Chosen, a little below the fifth that is left without four of five equal steps.
# Worth: halved 0, doubled 1 of 12; of the rest, doubled 3.
LITTLE = 0.15
# A rise below this share counts as flat. A tail is flat if its slope is significantly below this
# share of the rate just before the tail. A whole series is flat if its rise is below this share of
# its span. A fall that noise hides is no fall below this share of the median of those that show.
# Chosen. Worth: halved 0, doubled 0.
FLAT = 0.25
# If a step during growth lies within this first share of the samples, only the samples after the
# step give the rate. A later step is subtracted, and all samples give the rate. Chosen.
# Worth: at a half, a unit test of even steps fails; at four fifths, one more false accusation.
STEP_IN_TIME = 0.7
# A value has reached a level if it is within this share of the rise to it. By convention, a
# saturation ends with 5 % of the way left; a warm-up then no longer moves the value.
# Worth: halved 1 of 12, doubled 2 of 12.
NEAR_SHARE = 0.05
# The longest time constant of a warm-up, as a share of the run. Chosen: 86 % of the warm-up is over
# after two time constants, at 0.4 of the run. The other 0.6 of the run then shows whether memory
# leaks. Worth: halved 1, doubled 0.
WARM_UP = 0.2

# -- growth that slows down -----------------------------------------------------------------------

# Growth may slow down a little. Its last slope may be below its first slope by a share that depends
# on the number of samples.
# LOSS: this share per sample from the third sample on, so 2.5 % for three samples and 30 % for 14.
# Chosen.
# MOST_LOSS: the largest share, from the 14th sample on. Measured: growth of 0.2 standard
# deviations per sample over 100 samples loses less than 30 % in 99 of 100 runs. A saturation whose
# time constant is the length of the run loses more than 30 % in 99 of 100 runs.
# Worth: LOSS halved 1 of 12, doubled 0; MOST_LOSS halved 1 of 12, doubled 1.
LOSS, MOST_LOSS = 0.025, 0.3

# -- how exactly it is computed -------------------------------------------------------------------

# A difference below this share of a number is a rounding error: a double has sixteen digits, and
# sums of squares lose about half of them. Worth: halved 0, doubled 0.
ROUNDING = 1e-9
# Every value has at least this variance, in units of the squared span. A deviation of 0.03 % of the
# span (the square root) is therefore no reason to reject a shape. Chosen.
# Worth: halved 0, doubled 0.
EXACT = 1e-7
# A search between two time constants stops at 0.1 % of one, because smaller steps change no score
# by a decisive amount. Worth: halved 1 of 1, doubled 0.
FINEST_STEP = 1.001
# A noise model is white noise plus a level that takes random steps. Its ratio is the variance of
# the step in one mean gap, divided by the variance of the white noise: 0 is pure white noise,
# infinity is a pure random walk. Chosen as powers of ten: closer ratios change the log likelihood
# of 100 samples by less than 1.
RATIOS = (0.0, 0.001, 0.01, 0.1, 1.0, math.inf)
# Time constants of a saturation as multiples of the run's length, each at most twice the previous
# time constant. Chosen: few, because each time constant adds fits, and time constants in between
# are fitted later (``Explanations.refine``).
TAUS = (0.02, 0.04, 0.07, 0.12, 0.2, 0.33, 0.5, 0.75, 1.0)
