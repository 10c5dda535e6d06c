// All files of Files/, which PageTests compares with this list.
#include "page_files.h"

#pragma clang diagnostic ignored "-Wc23-extensions"
static const char accounts_js[] = {
#embed "Files/accounts.js"
};
static const char admin_css[] = {
#embed "Files/admin.css"
};
static const char admin_html[] = {
#embed "Files/admin.html"
};
static const char admin_js[] = {
#embed "Files/admin.js"
};
static const char api_js[] = {
#embed "Files/api.js"
};
static const char audit_js[] = {
#embed "Files/audit.js"
};
static const char changes_json[] = {
#embed "Files/changes.json"
};
static const char console_js[] = {
#embed "Files/console.js"
};
static const char demo_css[] = {
#embed "Files/demo.css"
};
static const char demo_html[] = {
#embed "Files/demo.html"
};
static const char demo_js[] = {
#embed "Files/demo.js"
};
static const char docs_css[] = {
#embed "Files/docs.css"
};
static const char docs_html[] = {
#embed "Files/docs.html"
};
static const char docs_js[] = {
#embed "Files/docs.js"
};
static const char errors_json[] = {
#embed "Files/errors.json"
};
static const char figures_js[] = {
#embed "Files/figures.js"
};
static const char inspector_js[] = {
#embed "Files/inspector.js"
};
static const char land_bin[] = {
#embed "Files/land.bin"
};
static const char land_js[] = {
#embed "Files/land.js"
};
static const char look_css[] = {
#embed "Files/look.css"
};
static const char map_css[] = {
#embed "Files/map.css"
};
static const char map_html[] = {
#embed "Files/map.html"
};
static const char map_js[] = {
#embed "Files/map.js"
};
static const char operation_js[] = {
#embed "Files/operation.js"
};
static const char operations_js[] = {
#embed "Files/operations.js"
};
static const char outages_js[] = {
#embed "Files/outages.js"
};
static const char page_js[] = {
#embed "Files/page.js"
};
static const char phone_js[] = {
#embed "Files/phone.js"
};
static const char photo_js[] = {
#embed "Files/photo.js"
};
static const char reference_js[] = {
#embed "Files/reference.js"
};
static const char reports_js[] = {
#embed "Files/reports.js"
};
static const char screens_js[] = {
#embed "Files/screens.js"
};
static const char security_js[] = {
#embed "Files/security.js"
};
static const char sheets_js[] = {
#embed "Files/sheets.js"
};
static const char snippets_js[] = {
#embed "Files/snippets.js"
};
static const char story_js[] = {
#embed "Files/story.js"
};
static const char try_js[] = {
#embed "Files/try.js"
};

#define FILE(name, bytes) {name, bytes, sizeof bytes}
static const struct page_file files[] = {
    FILE("accounts.js", accounts_js),
    FILE("admin.css", admin_css),
    FILE("admin.html", admin_html),
    FILE("admin.js", admin_js),
    FILE("api.js", api_js),
    FILE("audit.js", audit_js),
    FILE("changes.json", changes_json),
    FILE("console.js", console_js),
    FILE("demo.css", demo_css),
    FILE("demo.html", demo_html),
    FILE("demo.js", demo_js),
    FILE("docs.css", docs_css),
    FILE("docs.html", docs_html),
    FILE("docs.js", docs_js),
    FILE("errors.json", errors_json),
    FILE("figures.js", figures_js),
    FILE("inspector.js", inspector_js),
    FILE("land.bin", land_bin),
    FILE("land.js", land_js),
    FILE("look.css", look_css),
    FILE("map.css", map_css),
    FILE("map.html", map_html),
    FILE("map.js", map_js),
    FILE("operation.js", operation_js),
    FILE("operations.js", operations_js),
    FILE("outages.js", outages_js),
    FILE("page.js", page_js),
    FILE("phone.js", phone_js),
    FILE("photo.js", photo_js),
    FILE("reference.js", reference_js),
    FILE("reports.js", reports_js),
    FILE("screens.js", screens_js),
    FILE("security.js", security_js),
    FILE("sheets.js", sheets_js),
    FILE("snippets.js", snippets_js),
    FILE("story.js", story_js),
    FILE("try.js", try_js),
};

const struct page_file *page_file_list(void) { return files; }

size_t page_file_count(void) { return sizeof files / sizeof *files; }
