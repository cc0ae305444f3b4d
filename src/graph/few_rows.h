/*
 * few_rows.h - how many rows a matrix is multiplied with as it lies: with more of them reading it is not what a product
 * waits for.
 */
#ifndef KILN_GRAPH_FEW_ROWS_H
#define KILN_GRAPH_FEW_ROWS_H

enum { KILN_FEW_ROWS = 16 };

#endif
