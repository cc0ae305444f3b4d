/*
 * shims.h - what the functions need that tools/abi_functions.awk makes from the rows of abi.tsv.
 */
#ifndef KILN_MLXC_SHIMS_H
#define KILN_MLXC_SHIMS_H

#include "mlxc/abi_vector.h"
#include "ops/compose.h"
#include "ops/contract/einsum.h"
#include "ops/contract/structured_products.h"
#include "ops/contractions.h"
#include "ops/convolution.h"
#include "ops/creation.h"
#include "ops/elementwise.h"
#include "ops/fft/fft.h"
#include "ops/indexing.h"
#include "ops/layers.h"
#include "ops/linalg/linalg.h"
#include "ops/products.h"
#include "ops/quantize.h"
#include "ops/random.h"
#include "ops/reductions.h"
#include "ops/shapes.h"
#include "ops/sorting.h"
#include "transform/grad/gradient.h"

#endif
