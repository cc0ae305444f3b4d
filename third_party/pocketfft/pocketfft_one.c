#define POCKETFFT_LANES 1
#define POCKETFFT_RUN   pocketfft_run
#include "pocketfft.c"
