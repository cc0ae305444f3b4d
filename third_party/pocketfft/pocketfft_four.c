/* Compiled for processors with AVX2. */
#define POCKETFFT_LANES 4
#define POCKETFFT_RUN   pocketfft_run_four
#include "pocketfft.c"
