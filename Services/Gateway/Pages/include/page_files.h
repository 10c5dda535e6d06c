// The files of the gateway's pages for browsers.
#ifndef PAGE_FILES_H
#define PAGE_FILES_H

#include <stddef.h>

struct page_file {
    const char *name;
    const char *text;
    size_t size;
};

const struct page_file *page_file_list(void);
size_t page_file_count(void);

#endif
