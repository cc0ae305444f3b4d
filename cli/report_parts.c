/*
 * report_parts.c - the page of `kiln report`: files of cli/report, taken into the program as they are.
 */
#include "report.h"

/* The bytes, and behind them how many there are. */
#define PART(name, file)                                                                                               \
    __asm__(".section .rodata\n.balign 8\n.globl " #name "\n.hidden " #name "\n" #name ":\n.quad " #name               \
            "_bytes - .\n"                                                                                             \
            ".quad " #name "_end - " #name "_bytes\n" #name "_bytes: .incbin \"" KILN_REPORT "/" file "\"\n" #name     \
            "_end: .byte 0\n.previous\n")

PART(report_style, "report.css");
PART(report_script, "report.js");
PART(report_chart_style, "vendor/uPlot.min.css");
PART(report_chart_script, "vendor/uPlot.iife.min.js");
PART(report_body, "body.html");
