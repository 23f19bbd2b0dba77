"""The device that every kernel runs on, of whichever vendor: memory, races, findings, launch.

memory       bytes by offset, the global address space, arrays and their addresses
shared       memory of a workgroup or of a lane, with what is written in it
grid_races   which workgroups have accessed the same bytes of global memory
races        which waves have accessed the same bytes
traffic      bytes moved; accesses of shared memory by call site, with their bank conflicts
scheduler    which waves run next, and their barriers
undefined    which bits of registers are written, and what follows from others
findings     what is wrong with a kernel, what is remarkable, and how often
report       what every report of a compiled kernel has
observer     what looks on: profiles, stops, watches
launch       the grid, the values among the arguments, progress
"""
