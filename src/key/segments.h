/*
 * segments.h - the segments of a key, each of which a test build can leave out.
 *
 * Tests of stale code run against builds with -DKILN_TEST_WITHOUT_<SEGMENT> too, and must fail there: so each shows
 * that it would notice. In every other build all of these are 1 and cost nothing.
 */
#ifndef KILN_KEY_SEGMENTS_H
#define KILN_KEY_SEGMENTS_H

#ifdef KILN_TEST_WITHOUT_WATCHES
#define KILN_SEGMENT_WATCHES 0
#else
#define KILN_SEGMENT_WATCHES 1 /* watched memory and kiln_vars */
#endif

#ifdef KILN_TEST_WITHOUT_EPOCHS
#define KILN_SEGMENT_EPOCHS 0
#else
#define KILN_SEGMENT_EPOCHS 1 /* a kiln_var that was set while lower() ran, and holds the same value again */
#endif

#ifdef KILN_TEST_WITHOUT_READS
#define KILN_SEGMENT_READS 0
#else
#define KILN_SEGMENT_READS 1 /* what lower() read for one entry, and files that compile() named */
#endif

#ifdef KILN_TEST_WITHOUT_ENVIRONMENT
#define KILN_SEGMENT_ENVIRONMENT 0
#else
#define KILN_SEGMENT_ENVIRONMENT 1 /* watched variables of the environment */
#endif

#ifdef KILN_TEST_WITHOUT_FILES
#define KILN_SEGMENT_FILES 0
#else
#define KILN_SEGMENT_FILES 1 /* contents of watched files */
#endif

#ifdef KILN_TEST_WITHOUT_OPTIONS
#define KILN_SEGMENT_OPTIONS 0
#else
#define KILN_SEGMENT_OPTIONS 1 /* KILN_OPT_LEVEL, KILN_FAST_MATH, pushed options */
#endif

#ifdef KILN_TEST_WITHOUT_DEVICE
#define KILN_SEGMENT_DEVICE 0
#else
#define KILN_SEGMENT_DEVICE 1
#endif

#ifdef KILN_TEST_WITHOUT_ARGUMENTS
#define KILN_SEGMENT_ARGUMENTS 0
#else
#define KILN_SEGMENT_ARGUMENTS 1 /* what arguments sign; their types stay */
#endif

#ifdef KILN_TEST_WITHOUT_REFUSALS
#define KILN_SEGMENT_REFUSALS 0
#else
#define KILN_SEGMENT_REFUSALS 1 /* what compile() asks for is in its content key */
#endif

#ifdef KILN_TEST_WITHOUT_INPUTS
#define KILN_SEGMENT_INPUTS 0
#else
#define KILN_SEGMENT_INPUTS 1 /* what compile() turned out to depend on */
#endif

#ifdef KILN_TEST_WITHOUT_DEPENDED
#define KILN_SEGMENT_DEPENDED 0
#else
#define KILN_SEGMENT_DEPENDED 1 /* files that lower() or compile() named */
#endif

#ifdef KILN_TEST_WITHOUT_STEADINESS
#define KILN_SEGMENT_STEADINESS 0
#else
#define KILN_SEGMENT_STEADINESS 1 /* that these files did not change while they may have been read */
#endif

#ifdef KILN_TEST_WITHOUT_IDENTITY
#define KILN_SEGMENT_IDENTITY 0
#else
#define KILN_SEGMENT_IDENTITY 1 /* the id of a function's memo table, never used again */
#endif

#ifdef KILN_TEST_WITHOUT_GENERATION
#define KILN_SEGMENT_GENERATION 0
#else
#define KILN_SEGMENT_GENERATION 1 /* of a function's memo table and of those it depends on */
#endif

#endif
