/*
 * report.h - what `kiln report` puts into its page: the data as JSON, and the page around it.
 */
#ifndef KILN_CLI_REPORT_H
#define KILN_CLI_REPORT_H

#include "cli.h"
#include "kiln/inspect.h"

/* A time line as columns of numbers that point into a list of texts: a hundred thousand events stay a few megabytes. */
struct report_events {
    uint64_t count, bad_lines;
};

/* Reads the whole of a time line and writes its members of the data: "texts", "events", "processes", "lines". False:
 * errno says why it can't be read. */
bool report_timeline(const char *path, struct kiln_json *json, struct progress *progress, struct report_events *out);
/* "folder": its artifacts; "plans": of each function the youngest plan, and its kernels with their texts. */
void report_folder(const kiln_inspector *inspector, struct kiln_json *json, struct progress *progress);
/* What this machine's memory gives to a loop on all cores, in bytes for each second. */
double report_bandwidth(void);

/* The parts of the page (cli/report), as they stand in the program. */
struct report_part {
    int64_t offset; /* of the bytes, from here */
    size_t size;
};
static inline const char *report_part_data(const struct report_part *part)
{
    return (const char *)part + part->offset;
}
extern const struct report_part report_style, report_script, report_chart_style, report_chart_script, report_body;

#endif
