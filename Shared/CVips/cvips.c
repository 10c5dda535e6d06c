#define _GNU_SOURCE
#include "cvips.h"

#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "vips_abi.h"

// The functions that are used, with types from vips_abi.h, found by name when the library is loaded.
#define FUNCTIONS(X) \
    X(vips_init) X(vips_concurrency_set) X(vips_cache_set_max) X(vips_cache_set_max_mem) X(vips_cache_set_max_files) \
    X(vips_operation_block_set) X(vips_error_buffer_copy) X(vips_thread_shutdown) X(vips_image_get_width) X(vips_image_get_height) \
    X(vips_image_set_string) X(vips_image_set_int) X(vips_image_set_blob_copy) X(vips_image_new_from_memory) \
    X(vips_image_copy_memory) X(vips_image_get_typeof) X(vips_image_get_blob) X(vips_image_hasalpha) X(vips_error_clear) X(vips_icc_transform) \
    X(vips_jpegload_buffer) X(vips_pngload_buffer) X(vips_webpload_buffer) \
    X(vips_heifload_buffer) X(vips_thumbnail_buffer) X(vips_thumbnail_image) X(vips_extract_area) X(vips_flatten) X(vips_colourspace) X(vips_cast) \
    X(vips_text) X(vips_image_get_bands) X(vips_image_get_yoffset) X(vips_image_write_to_memory) \
    X(vips_copy) X(vips_jpegsave_buffer) X(vips_pngsave_buffer) X(vips_webpsave_buffer) X(vips_array_double_newv) \
    X(vips_area_unref) X(g_object_unref) X(g_free) X(g_log_set_handler)

#define MEMBER(name) __typeof__(name) *name;
static struct { FUNCTIONS(MEMBER) } lib;
static char load_failure[256];

static int load_library(void) {
    void *handle = dlopen("libvips.so.42", RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) {
        snprintf(load_failure, sizeof load_failure, "%s", dlerror());
        return -1;
    }
#define FIND(name) \
    if ((lib.name = (__typeof__(name) *)dlsym(handle, #name)) == NULL) { \
        snprintf(load_failure, sizeof load_failure, "libvips.so.42 has no %s", #name); \
        return -1; \
    }
    FUNCTIONS(FIND)
    return 0;
}

// The number of threads inside the library. The end of the process waits for them and lets no other in, because destructors of the
// library run then (libheif's list of decoders has one), and a thread that still decodes would crash.
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t gate_left = PTHREAD_COND_INITIALIZER;
static int gate_inside, gate_is_closed;
static pthread_key_t thread_end;

enum { LONGEST_WAIT_AT_END = 10 };

static int enter(void) {
    pthread_mutex_lock(&gate);
    int is_closed = gate_is_closed;
    if (!is_closed) gate_inside++;
    pthread_mutex_unlock(&gate);
    if (is_closed) return -1;
    // Reports the thread's end: libvips keeps buffers for each thread.
    pthread_setspecific(thread_end, &gate);
    return 0;
}

static void leave(void) {
    pthread_mutex_lock(&gate);
    if (--gate_inside == 0) pthread_cond_broadcast(&gate_left);
    pthread_mutex_unlock(&gate);
}

static void thread_ends(void *value) {
    (void)value;
    if (enter() != 0) return;
    lib.vips_thread_shutdown();
    leave();
    pthread_setspecific(thread_end, NULL);
}

static void process_ends(int status, void *context) {
    (void)context;
    struct timespec limit;
    clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_sec += LONGEST_WAIT_AT_END;
    pthread_mutex_lock(&gate);
    gate_is_closed = 1;
    while (gate_inside > 0 && pthread_cond_timedwait(&gate_left, &gate, &limit) == 0) continue;
    int is_empty = gate_inside == 0;
    pthread_mutex_unlock(&gate);
    if (is_empty) return;
    fflush(NULL);
    // Skip the destructors.
    _exit(status);
}

static void drop(const char *domain, int level, const char *message, void *context) {
    (void)domain, (void)level, (void)message, (void)context;
}

int cvips_start(void) {
    if (load_library() != 0) return -1;
    if (lib.vips_init("streaksnap") != 0) return -1;
    // Registered after the library's own destructors, so that it runs before them.
    if (pthread_key_create(&thread_end, thread_ends) != 0 || on_exit(process_ends, NULL) != 0) {
        snprintf(load_failure, sizeof load_failure, "the end of the process cannot be watched");
        return -1;
    }
    // A damaged upload can cause thousands of warnings on stderr; the error has what matters.
    lib.g_log_set_handler("VIPS", G_LOG_LEVEL_WARNING | G_LOG_LEVEL_MESSAGE | G_LOG_LEVEL_INFO | G_LOG_LEVEL_DEBUG, drop, NULL);
    lib.vips_concurrency_set(1);
    lib.vips_cache_set_max(0);
    lib.vips_cache_set_max_mem(0);
    lib.vips_cache_set_max_files(0);
    // Uploads are hostile: only the loaders named here exist (no SVG, PDF, ImageMagick, …).
    lib.vips_operation_block_set("VipsForeignLoad", 1);
    lib.vips_operation_block_set("VipsForeignLoadJpeg", 0);
    lib.vips_operation_block_set("VipsForeignLoadPng", 0);
    lib.vips_operation_block_set("VipsForeignLoadWebp", 0);
    lib.vips_operation_block_set("VipsForeignLoadHeif", 0);
    return 0;
}

static const char *gate_closed_or(const char *reason) {
    pthread_mutex_lock(&gate);
    int is_closed = gate_is_closed;
    pthread_mutex_unlock(&gate);
    return is_closed ? "the process is ending" : reason;
}

void cvips_error(char *text, size_t size) {
    char *reason = NULL;
    if (lib.vips_error_buffer_copy != NULL && enter() == 0) {
        // A copy: all threads share the buffer, which may change while it is read.
        reason = lib.vips_error_buffer_copy();
        leave();
    }
    snprintf(text, size, "%s", reason != NULL && reason[0] != 0 ? reason : gate_closed_or(load_failure));
    if (reason != NULL) lib.g_free(reason);
}

static VipsImage *open_header(const void *bytes, size_t count, CVipsFormat format) {
    VipsImage *image = NULL;
    int result = -1;
    switch (format) {
    case CVIPS_JPEG: result = lib.vips_jpegload_buffer((void *)bytes, count, &image, "access", VIPS_ACCESS_SEQUENTIAL, NULL); break;
    case CVIPS_PNG: result = lib.vips_pngload_buffer((void *)bytes, count, &image, "access", VIPS_ACCESS_SEQUENTIAL, NULL); break;
    case CVIPS_WEBP: result = lib.vips_webpload_buffer((void *)bytes, count, &image, "access", VIPS_ACCESS_SEQUENTIAL, NULL); break;
    case CVIPS_HEIF: result = lib.vips_heifload_buffer((void *)bytes, count, &image, "access", VIPS_ACCESS_SEQUENTIAL, NULL); break;
    }
    return result == 0 ? image : NULL;
}

int cvips_size(const void *bytes, size_t count, CVipsFormat format, int *width, int *height) {
    if (enter() != 0) return -1;
    VipsImage *image = open_header(bytes, count, format);
    if (image != NULL) {
        *width = lib.vips_image_get_width(image);
        *height = lib.vips_image_get_height(image);
        lib.g_object_unref(image);
    }
    leave();
    return image != NULL ? 0 : -1;
}

// Takes over `image`; the result of `call`, which reads it as `in` and makes `out`.
#define STEP(call) \
    do { \
        VipsImage *in = image, *out = NULL; \
        int failed = (call); \
        lib.g_object_unref(in); \
        if (failed) return NULL; \
        image = out; \
    } while (0)

static VipsImage *flatten_on_white(VipsImage *image) {
    VipsArrayDouble *white = lib.vips_array_double_newv(3, 255.0, 255.0, 255.0);
    VipsImage *flat = NULL;
    int failed = lib.vips_flatten(image, &flat, "background", white, NULL);
    lib.vips_area_unref(white);
    return failed ? NULL : flat;
}

// Whether libvips can use the embedded profile. It stops at one of another colour space or applies it to a part of the channels. No pixel
// is computed: the conversion is only prepared.
static int has_usable_profile(VipsImage *image) {
    enum { HEADER = 128, COLOUR_SPACE = 16 };
    const void *profile = NULL;
    size_t count = 0;
    if (lib.vips_image_get_typeof(image, "icc-profile-data") == 0) return 0;
    if (lib.vips_image_get_blob(image, "icc-profile-data", &profile, &count) != 0 || count < HEADER) return 0;
    int colours = lib.vips_image_get_bands(image) - (lib.vips_image_hasalpha(image) ? 1 : 0);
    const char *space = colours == 1 ? "GRAY" : colours == 3 ? "RGB " : "CMYK";
    if (memcmp((const char *)profile + COLOUR_SPACE, space, 4) != 0) return 0;
    VipsImage *converted = NULL;
    if (lib.vips_icc_transform(image, &converted, "srgb", "embedded", 1, NULL) == 0) {
        lib.g_object_unref(converted);
        return 1;
    }
    lib.vips_error_clear();
    return 0;
}

static VipsImage *decode(const void *bytes, size_t count, CVipsFormat format, int side) {
    VipsImage *image = open_header(bytes, count, format);
    if (image == NULL) return NULL;
    // Uses the embedded profile. An image without one, or with one that does not fit, counts as sRGB, and a conversion would tint it.
    int has_profile = has_usable_profile(image);
    lib.g_object_unref(image);
    image = NULL;
    // 8.14 ignores the option fail_on of this call (not of the one for files), so it is set on the loader itself.
    if (lib.vips_thumbnail_buffer(
            (void *)bytes, count, &image, side, "height", side, "size", VIPS_SIZE_DOWN, "option_string", "[fail_on=error]",
            has_profile ? "export_profile" : NULL, "srgb", NULL))
        return NULL;
    STEP(lib.vips_colourspace(in, &out, VIPS_INTERPRETATION_sRGB, NULL));
    if (lib.vips_image_hasalpha(image)) STEP((out = flatten_on_white(in)) == NULL);
    STEP(lib.vips_cast(in, &out, VIPS_FORMAT_UCHAR, NULL));
    // Only here is it decoded; both renditions are then made from memory.
    STEP((out = lib.vips_image_copy_memory(in)) == NULL);
    return image;
}

// The result of a call in the library; `otherwise` when the process is ending.
#define GATED(type, call, otherwise) \
    do { \
        if (enter() != 0) return (otherwise); \
        type result = (type)(call); \
        leave(); \
        return result; \
    } while (0)

CVipsImage *cvips_decode(const void *bytes, size_t count, CVipsFormat format, int side) {
    GATED(CVipsImage *, decode(bytes, count, format, side), NULL);
}

// The middle of a picture that is much longer than wide: scaled until it fills a square, a line of one pixel would be gigabytes long.
static int middle(VipsImage *source, VipsImage **out) {
    enum { LONGEST = 8 };
    int width = lib.vips_image_get_width(source), height = lib.vips_image_get_height(source);
    int across = width / LONGEST < height ? width : height * LONGEST, down = height / LONGEST < width ? height : width * LONGEST;
    return lib.vips_extract_area(source, out, (width - across) / 2, (height - down) / 2, across, down, NULL);
}

static VipsImage *square(VipsImage *source, int side, int finds_interest) {
    VipsImage *image = NULL;
    if (middle(source, &image)) return NULL;
    STEP(lib.vips_thumbnail_image(
            in, &out, side, "height", side, "crop",
            finds_interest ? VIPS_INTERESTING_ATTENTION : VIPS_INTERESTING_CENTRE, "no_rotate", 1, NULL));
    return image;
}

CVipsImage *cvips_square(CVipsImage *source, int side, int finds_interest) {
    GATED(CVipsImage *, square((VipsImage *)source, side, finds_interest), NULL);
}

static VipsImage *over_pixels(const void *pixels, size_t count, int width, int height) {
    VipsImage *image = lib.vips_image_new_from_memory(pixels, count, width, height, 3, VIPS_FORMAT_UCHAR);
    if (image == NULL) return NULL;
    STEP(lib.vips_copy(in, &out, "interpretation", VIPS_INTERPRETATION_sRGB, NULL));
    return image;
}

CVipsImage *cvips_over_pixels(const void *pixels, size_t count, int width, int height) {
    GATED(CVipsImage *, over_pixels(pixels, count, width, height), NULL);
}

static VipsImage *text(const char *markup, const char *font) {
    VipsImage *image = NULL;
    return lib.vips_text(&image, markup, "font", font, "dpi", 72, "rgba", 1, NULL) == 0 ? image : NULL;
}

CVipsImage *cvips_text(const char *markup, const char *font) { GATED(CVipsImage *, text(markup, font), NULL); }

void *cvips_pixels(CVipsImage *image, int *bands, size_t *count) {
    *bands = lib.vips_image_get_bands((VipsImage *)image);
    GATED(void *, lib.vips_image_write_to_memory((VipsImage *)image, count), NULL);
}

// The functions up to the encoders only use fields of an image, which no destructor touches.

int cvips_top(CVipsImage *image) { return lib.vips_image_get_yoffset((VipsImage *)image); }

void cvips_set_text(CVipsImage *image, const char *name, const char *value) {
    lib.vips_image_set_string((VipsImage *)image, name, value);
}

void cvips_set_orientation(CVipsImage *image, int orientation) {
    lib.vips_image_set_int((VipsImage *)image, "orientation", orientation);
}

void cvips_set_blob(CVipsImage *image, const char *name, const void *bytes, size_t count) {
    lib.vips_image_set_blob_copy((VipsImage *)image, name, bytes, count);
}

int cvips_width(CVipsImage *image) { return lib.vips_image_get_width((VipsImage *)image); }

int cvips_height(CVipsImage *image) { return lib.vips_image_get_height((VipsImage *)image); }

int cvips_save_jpeg(CVipsImage *image, int quality, int keep, void **bytes, size_t *count) {
    GATED(
        int,
        lib.vips_jpegsave_buffer((VipsImage *)image, bytes, count, "Q", quality, "optimize_coding", 1, "strip", keep == 0, NULL),
        -1);
}

int cvips_save_png(CVipsImage *image, int keep, void **bytes, size_t *count) {
    GATED(int, lib.vips_pngsave_buffer((VipsImage *)image, bytes, count, "strip", keep == 0, NULL), -1);
}

int cvips_save_drawing(CVipsImage *image, void **bytes, size_t *count) {
    GATED(
        int,
        lib.vips_pngsave_buffer(
            (VipsImage *)image, bytes, count, "strip", 1, "compression", 6, "filter", VIPS_FOREIGN_PNG_FILTER_SUB, NULL),
        -1);
}

int cvips_save_webp(CVipsImage *image, int quality, int keep, void **bytes, size_t *count) {
    GATED(int, lib.vips_webpsave_buffer((VipsImage *)image, bytes, count, "Q", quality, "strip", keep == 0, NULL), -1);
}

void cvips_free(void *bytes) { lib.g_free(bytes); }

void cvips_release(CVipsImage *image) {
    // The end of the process frees it too.
    if (enter() != 0) return;
    lib.g_object_unref(image);
    leave();
}

void cvips_trim(void) { malloc_trim(0); }
