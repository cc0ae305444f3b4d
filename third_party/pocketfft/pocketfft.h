/*
 * pocketfft.h - what Kiln calls of pocketfft: one transform, or four side by side.
 *
 * A plan never changes after it was made and may be used by any number of threads. A complex transform of `length`
 * works on 2 * length numbers, real and imaginary parts in turn; a real one on `length` numbers: the real part of term
 * 0, then real and imaginary part of terms 1, 2, ..., and for an even length the real part of the last term. With four
 * lanes each number stands for four, which lie one after the other, aligned to 16 bytes. All lanes give the
 * same bits as one transform. 0 is done; otherwise there was no memory.
 */
#ifndef POCKETFFT_H
#define POCKETFFT_H

#include <stddef.h>

struct pocketfft_plan;

struct pocketfft_plan *pocketfft_new(size_t length, int is_real); /* NULL: no memory */
void pocketfft_free(struct pocketfft_plan *plan);

/* The results are multiplied by `fct`. */
int pocketfft_run(const struct pocketfft_plan *plan, double *data, int is_backward, double fct);
/* Only where the processor has AVX2. */
int pocketfft_run_four(const struct pocketfft_plan *plan, double *data, int is_backward, double fct);

#endif
