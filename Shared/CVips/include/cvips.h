// What Images needs of libvips, without varargs and without its types.
//
// The library is loaded by the first call of cvips_start: linked in, it and its hundred dependencies would add 20 MB to every
// idle process that can handle images.
#ifndef CVIPS_H
#define CVIPS_H

#include <stddef.h>

/// An image; release it with cvips_release.
typedef struct CVipsImage CVipsImage;

/// The formats that may be decoded; every other loader of libvips is blocked.
typedef enum { CVIPS_JPEG = 0, CVIPS_PNG = 1, CVIPS_WEBP = 2, CVIPS_HEIF = 3 } CVipsFormat;

/// Loads and starts the library. Call it once, before anything else. 0, or -1 when it is missing or does not fit (see cvips_error).
int cvips_start(void);

/// Copies the reason of the last failure, for a log, and clears it. At most size bytes with the final NUL.
void cvips_error(char *text, size_t size);

/// Reads the header only: width and height as stored, before any rotation. 0, or -1.
int cvips_size(const void *bytes, size_t count, CVipsFormat format, int *width, int *height);

/// Decodes all of it, upright, in sRGB without alpha (on white), shrunk to fit in side × side. Null when any part is damaged.
CVipsImage *cvips_decode(const void *bytes, size_t count, CVipsFormat format, int side);

/// A square cut from the image and scaled to side × side: its middle, or what draws the eye. Null when out of memory.
CVipsImage *cvips_square(CVipsImage *image, int side, int finds_interest);

/// An image over 8-bit RGB pixels, which must outlive it.
CVipsImage *cvips_over_pixels(const void *pixels, size_t count, int width, int height);

/// One line of Pango markup as RGBA, trimmed to its ink; font: "Inter Black 96", the size in pixels. Null when nothing of it has ink.
CVipsImage *cvips_text(const char *markup, const char *font);

/// How far below the top of its line the ink of a text begins, in pixels.
int cvips_top(CVipsImage *image);

/// The 8-bit pixels row by row, to be freed with cvips_free; null when out of memory or when the image cannot be computed.
void *cvips_pixels(CVipsImage *image, int *bands, size_t *count);

/// Sets metadata: a text field ("exif-ifd3-GPSLatitude"), the EXIF orientation, or the bytes of a blob ("xmp-data").
void cvips_set_text(CVipsImage *image, const char *name, const char *value);
void cvips_set_orientation(CVipsImage *image, int orientation);
void cvips_set_blob(CVipsImage *image, const char *name, const void *bytes, size_t count);

int cvips_width(CVipsImage *image);
int cvips_height(CVipsImage *image);

/// Encodes the image; free the bytes with cvips_free. Metadata is written only when keep is not 0. 0, or -1.
int cvips_save_jpeg(CVipsImage *image, int quality, int keep, void **bytes, size_t *count);
int cvips_save_png(CVipsImage *image, int keep, void **bytes, size_t *count);
/// As PNG with what suits smooth surfaces, without metadata.
int cvips_save_drawing(CVipsImage *image, void **bytes, size_t *count);
int cvips_save_webp(CVipsImage *image, int quality, int keep, void **bytes, size_t *count);

void cvips_free(void *bytes);
void cvips_release(CVipsImage *image);

/// Gives memory that a decode left in the allocator back to the system.
void cvips_trim(void);

#endif
