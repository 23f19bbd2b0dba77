"""The implementation of `mmacalc.rocwmma`.

types        data types, matrix contexts, layouts: the names that fragments are made of
support      the combinations that rocWMMA supports, and errors that list them
geometry     which element is where in a fragment, and in the operands of the instruction that multiplies it
fragments    fragments, and the products that fill accumulators
operations   the functions: fragment, load, store, mma_sync ...
mapping      coordinates of blocks and waves: make_coord2d, MappingUtil
transforms   fragment types, applyTranspose, applyDataLayout
"""
