// Octave's copy of a camera's frame: [image, age, number] = kadenz_frame(address, seconds, is_latest). A mex file copies three
// times what this copies once.
#include <octave/oct.h>

#include "kadenz.h"

DEFUN_DLD(kadenz_frame, arguments, , "A frame of a camera; kadenz.Camera calls it.")
{
    auto *camera = reinterpret_cast<kadenz_camera *>(std::uintptr_t(arguments(0).uint64_scalar_value().value()));
    const auto timeout = std::int64_t(std::min(arguments(1).double_value(), 9e9) * 1e9);
    const bool is_latest = arguments(2).bool_value();
    octave_value_list answer(3);
    for (int i = 0; i < 3; i++) answer(i) = Matrix();
    for (int tries = 0; tries < 10; tries++) {
        kadenz_frame frame;
        const int came = is_latest ? kadenz_camera_latest(camera, timeout, &frame) + 1 : kadenz_camera_next(camera, timeout, &frame);
        // "latest" returns 0 or -1, "next" 1, 0 or -1.
        if (is_latest ? came == 0 : came < 0) error_with_id("kadenz:error", "%s", kadenz_error());
        if (came == 0) return answer;
        if (!frame.is_column_major) error_with_id("kadenz:error", "the layout is not one of columns; take 'rgb-column-major'");
        const octave_idx_type height = frame.height, width = frame.width, channels = frame.channels;
        uint8NDArray image(channels == 1 ? dim_vector(height, width) : dim_vector(height, width, channels));
        auto *into = reinterpret_cast<std::uint8_t *>(image.fortran_vec());
        if (kadenz_frame_copy(camera, &frame, into, frame.length) != 0) continue;
        answer(0) = octave_value(image);
        answer(1) = double(frame.age_ns) / 1e9;
        answer(2) = octave_uint64(frame.number);
        return answer;
    }
    return answer;
}
