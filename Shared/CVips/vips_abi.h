// The part of libvips' and glib's binary interface (soname 42, 2.0) that cvips.c finds by name at run time. Declared here and not
// taken from their headers, whose package would bring the linker flags that make every process load the library at start.
#ifndef VIPS_ABI_H
#define VIPS_ABI_H

#include <stddef.h>

typedef struct _VipsImage VipsImage;
typedef struct _VipsArea VipsArrayDouble;

enum { VIPS_ACCESS_SEQUENTIAL = 1, VIPS_SIZE_DOWN = 2, VIPS_INTERESTING_CENTRE = 1, VIPS_INTERESTING_ATTENTION = 3 };
enum { VIPS_INTERPRETATION_sRGB = 22, VIPS_FORMAT_UCHAR = 0 };
enum { VIPS_FOREIGN_PNG_FILTER_SUB = 0x10 };
enum { G_LOG_LEVEL_WARNING = 1 << 4, G_LOG_LEVEL_MESSAGE = 1 << 5, G_LOG_LEVEL_INFO = 1 << 6, G_LOG_LEVEL_DEBUG = 1 << 7 };

int vips_init(const char *program);
void vips_concurrency_set(int threads);
void vips_cache_set_max(int operations);
void vips_cache_set_max_mem(size_t bytes);
void vips_cache_set_max_files(int files);
void vips_operation_block_set(const char *type, int state);
char *vips_error_buffer_copy(void);
void vips_error_clear(void);
void vips_thread_shutdown(void);

int vips_image_get_width(const VipsImage *image);
int vips_image_get_height(const VipsImage *image);
int vips_image_get_bands(const VipsImage *image);
int vips_image_get_yoffset(const VipsImage *image);
void *vips_image_write_to_memory(VipsImage *image, size_t *count);
size_t vips_image_get_typeof(const VipsImage *image, const char *name);
int vips_image_get_blob(const VipsImage *image, const char *name, const void **bytes, size_t *count);
int vips_image_hasalpha(VipsImage *image);
void vips_image_set_string(VipsImage *image, const char *name, const char *value);
void vips_image_set_int(VipsImage *image, const char *name, int value);
void vips_image_set_blob_copy(VipsImage *image, const char *name, const void *bytes, size_t count);
VipsImage *vips_image_new_from_memory(const void *pixels, size_t count, int width, int height, int bands, int format);
VipsImage *vips_image_copy_memory(VipsImage *image);

// The variable arguments are pairs of an option's name and value, ended by NULL.
int vips_jpegload_buffer(void *bytes, size_t count, VipsImage **out, ...);
int vips_pngload_buffer(void *bytes, size_t count, VipsImage **out, ...);
int vips_webpload_buffer(void *bytes, size_t count, VipsImage **out, ...);
int vips_heifload_buffer(void *bytes, size_t count, VipsImage **out, ...);
int vips_thumbnail_buffer(void *bytes, size_t count, VipsImage **out, int width, ...);
int vips_thumbnail_image(VipsImage *in, VipsImage **out, int width, ...);
int vips_text(VipsImage **out, const char *text, ...);
int vips_extract_area(VipsImage *in, VipsImage **out, int left, int top, int width, int height, ...);
int vips_flatten(VipsImage *in, VipsImage **out, ...);
int vips_colourspace(VipsImage *in, VipsImage **out, int interpretation, ...);
int vips_icc_transform(VipsImage *in, VipsImage **out, const char *profile, ...);
int vips_cast(VipsImage *in, VipsImage **out, int format, ...);
int vips_copy(VipsImage *in, VipsImage **out, ...);
int vips_jpegsave_buffer(VipsImage *in, void **bytes, size_t *count, ...);
int vips_pngsave_buffer(VipsImage *in, void **bytes, size_t *count, ...);
int vips_webpsave_buffer(VipsImage *in, void **bytes, size_t *count, ...);

VipsArrayDouble *vips_array_double_newv(int count, ...);
void vips_area_unref(VipsArrayDouble *array);

void g_object_unref(void *object);
void g_free(void *memory);
unsigned g_log_set_handler(const char *domain, int levels, void (*handler)(const char *, int, const char *, void *), void *context);

#endif
