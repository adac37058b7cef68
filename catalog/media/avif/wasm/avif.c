#include "avif/internal.h"

#include <string.h>

/* A module decodes one file. Its errors are numbers other than 0. */
enum { INVALID = 1, TOO_LARGE = 2 };

/* The file, without its pixels. A mirroring is 1 if it exchanges top and bottom, or 2. */
static struct {
    uint32_t width, height, depth, chroma_width, chroma_height, has_alpha, turns, mirroring;
} header;

static avifDecoder *decoder;
static avifRGBImage strip; /* the converted rows */

/* Decoding a frame visits all pixels, whatever its size, so a small file could need minutes. An item normally has one
 * frame, or one for each of a few layers. */
enum { MAX_FRAMES = 8 };

/* count_frames returns the number of frame headers in the OBUs of an item. */
static int count_frames(const uint8_t *data, size_t size) {
    int frames = 0;
    while (size > 0) {
        const uint8_t flags = *data++, type = flags >> 3 & 15;
        size--;
        if (type == 3 || type == 6) frames++; /* a frame header, or one with its frame */
        if (flags & 4 && size > 0) data++, size--; /* an extension */
        if (!(flags & 2)) break; /* without a length: the last one */
        uint64_t length = 0;
        uint8_t byte = 0x80;
        for (int shift = 0; shift < 56 && byte & 0x80 && size > 0; shift += 7) {
            byte = *data++;
            size--;
            length |= (uint64_t)(byte & 0x7f) << shift;
        }
        if (length > size) break;
        data += length;
        size -= length;
    }
    return frames;
}

avifCodec *create_dav1d(void); /* that of libavif, which build.sh renames */

static avifBool (*decode_item)(avifCodec *, const avifDecodeSample *, avifBool, avifBool *, avifImage *);

static avifBool decode_limited(avifCodec *codec, const avifDecodeSample *item, avifBool is_alpha,
                               avifBool *is_limited, avifImage *image) {
    return count_frames(item->data.data, item->data.size) <= MAX_FRAMES &&
           decode_item(codec, item, is_alpha, is_limited, image);
}

avifCodec *avifCodecCreateDav1d(void) {
    avifCodec *codec = create_dav1d();
    if (codec) {
        decode_item = codec->getNextImage;
        codec->getNextImage = decode_limited;
    }
    return codec;
}

/* libavif would scale an item that is not as large as the container says. It is refused instead. */
avifResult avifImageScaleWithLimit(avifImage *image, uint32_t width, uint32_t height, uint32_t max_pixels,
                                   uint32_t max_side, avifDiagnostics *diagnostics) {
    return AVIF_RESULT_NOT_IMPLEMENTED;
}

/* read_header reads everything but the pixels. The file stays in use. */
__attribute__((export_name("read_header")))
int read_header(const uint8_t *file, size_t size) {
    if (!(decoder = avifDecoderCreate())) return INVALID;
    decoder->requestedSource = AVIF_DECODER_SOURCE_PRIMARY_ITEM;
    decoder->strictFlags = AVIF_STRICT_DISABLED;
    decoder->ignoreExif = decoder->ignoreXMP = AVIF_TRUE;
    decoder->imageDimensionLimit = 0;
    if (avifDecoderSetIOMemory(decoder, file, size) != AVIF_RESULT_OK) return INVALID;
    if (avifDecoderParse(decoder) != AVIF_RESULT_OK)
        return strstr(decoder->diag.error, "too large") ? TOO_LARGE : INVALID;
    const avifImage *image = decoder->image;
    avifPixelFormatInfo format;
    avifGetPixelFormatInfo(image->yuvFormat, &format);
    header.width = image->width;
    header.height = image->height;
    header.depth = image->depth;
    if (!format.monochrome) {
        header.chroma_width = (image->width + format.chromaShiftX) >> format.chromaShiftX;
        header.chroma_height = (image->height + format.chromaShiftY) >> format.chromaShiftY;
    }
    header.has_alpha = decoder->alphaPresent;
    if (image->transformFlags & AVIF_TRANSFORM_IROT) header.turns = image->irot.angle;
    if (image->transformFlags & AVIF_TRANSFORM_IMIR) header.mirroring = 1 + image->imir.axis;
    return 0;
}

/* header_address returns the address of the header. */
__attribute__((export_name("header_address")))
const void *header_address(void) { return &header; }

/* convert_rows converts rows from y, which is even, to 8 bits of red, green, blue and alpha. Colors are multiplied by
 * alpha. It returns the address of the first pixel, or 0. */
__attribute__((export_name("convert_rows")))
const uint8_t *convert_rows(uint32_t y, uint32_t rows) {
    const avifImage *image = decoder->image;
    avifImage *view = avifImageCreateEmpty();
    if (!view) return NULL;
    const avifCropRect part = { 0, y, image->width, rows };
    avifResult result = avifImageSetViewRect(view, image, &part);
    if (result == AVIF_RESULT_OK) {
        strip.width = image->width;
        strip.height = rows;
        result = avifImageYUVToRGB(view, &strip);
    }
    avifImageDestroy(view);
    return result == AVIF_RESULT_OK ? strip.pixels : NULL;
}

/* decode decodes the pixels. Up to so many rows can then be converted at a time. */
__attribute__((export_name("decode")))
int decode(uint32_t max_pixels, uint32_t rows) {
    decoder->imageSizeLimit = max_pixels; /* of an item, whatever the container says */
    if (avifDecoderNextImage(decoder) != AVIF_RESULT_OK) return INVALID;
    avifImage *image = decoder->image;
    avifRGBImageSetDefaults(&strip, image);
    strip.height = rows;
    strip.depth = 8;
    strip.alphaPremultiplied = AVIF_TRUE;
    strip.chromaUpsampling = AVIF_CHROMA_UPSAMPLING_NEAREST; /* needs no rows beside the strip */
    if (avifRGBImageAllocatePixels(&strip) != AVIF_RESULT_OK) return INVALID;
    if (convert_rows(0, 1)) return 0;
    if (image->matrixCoefficients == AVIF_MATRIX_COEFFICIENTS_IDENTITY) return INVALID;
    image->matrixCoefficients = AVIF_MATRIX_COEFFICIENTS_BT601; /* libavif does not know those of the file */
    return convert_rows(0, 1) ? 0 : INVALID;
}
