#include <errno.h>
#include <stdint.h>
#include <string.h>
#include "dav1d/dav1d.h"

/* decode decodes the first picture of OBUs. It returns 0 and the picture in out, or an error. The memory is that of the
 * instance, which is used once. */
__attribute__((export_name("decode")))
int decode(const uint8_t *obus, size_t size, uint32_t pixels, uint32_t out[11]) {
    Dav1dSettings settings;
    dav1d_default_settings(&settings);
    settings.n_threads = 1;
    settings.max_frame_delay = 1;
    settings.all_layers = 0; /* only the last one */
    settings.frame_size_limit = pixels;
    Dav1dContext *context;
    int err = dav1d_open(&context, &settings);
    if (err) return err;
    Dav1dData data = { 0 };
    uint8_t *copy = dav1d_data_create(&data, size);
    if (!copy) return DAV1D_ERR(ENOMEM);
    memcpy(copy, obus, size);
    Dav1dPicture p = { 0 };
    do {
        err = dav1d_send_data(context, &data);
        if (err && err != DAV1D_ERR(EAGAIN)) return err;
        err = dav1d_get_picture(context, &p);
    } while (err == DAV1D_ERR(EAGAIN) && data.sz > 0);
    if (err == DAV1D_ERR(EAGAIN)) err = dav1d_get_picture(context, &p); /* the last layer is missing */
    if (err) return err;
    const uint32_t result[11] = {
        p.p.w, p.p.h, p.p.layout, p.p.bpc, p.stride[0], p.stride[1],
        (uint32_t) p.data[0], (uint32_t) p.data[1], (uint32_t) p.data[2], p.seq_hdr->mtrx, p.seq_hdr->color_range,
    };
    memcpy(out, result, sizeof result);
    return 0;
}
