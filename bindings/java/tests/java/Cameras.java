import java.nio.ByteBuffer;
import java.nio.ReadOnlyBufferException;
import java.util.Arrays;
import kadenz.Camera;
import kadenz.Frame;
import kadenz.Kadenz;

/** A simulated camera. */
public final class Cameras {
    public static void main(String[] arguments) throws Exception {
        try (Camera camera = new Camera("test://320x240@50", "rgb", Check.LONG_MS)) {
            Frame frame = camera.next(Check.LONG_MS);
            Check.same("320x240x3", frame.width + "x" + frame.height + "x" + frame.channels);
            Check.that(!frame.isColumnMajor && !frame.isDamaged, frame);
            Check.that(frame.ageNs >= 0 && frame.arrivalNs <= frame.publishedNs, frame);
            Check.that(frame.publishedNs <= Kadenz.nowNs(), frame);
            ByteBuffer pixels = frame.pixels();
            Check.that(pixels.isDirect() && pixels.isReadOnly() && pixels.remaining() == frame.size(), pixels);
            try {
                pixels.put(0, (byte) 1);
                throw new AssertionError("it was written");
            } catch (ReadOnlyBufferException expected) {
                Check.same(320 * 240 * 3, frame.size());
            }
            byte[] copy = copy(camera, frame);
            Check.that(!Arrays.equals(copy, new byte[copy.length]), "a picture is not black");
            Check.raises("size()", () -> frame.copyTo(new byte[1]));

            // Some frames later the first one is gone, and a new one is there.
            for (int i = 0; i < 10; i++) {
                Check.that(camera.next(Check.LONG_MS).number > frame.number, "newer");
            }
            Check.that(!frame.isValid(), "overwritten");
            Check.raises("overwritten", () -> frame.copy());
            Check.that(camera.latest(Check.LONG_MS).number > frame.number, "the newest");
            Check.raises("old", () -> camera.latest(0));
            Frame looked = camera.next(0);
            Check.that(looked == null || looked.number > frame.number, "one look");

            Check.Other other = new Check.Other(() -> {
                while (true) {
                    camera.next(Check.LONG_MS);
                }
            });
            other.interrupt();
            Check.that(other.end() instanceof InterruptedException, other.end());
        }
        closed();
        columns();
        errors();
    }

    /** A copy of the frame, or of a newer one where the machine was too slow. */
    private static byte[] copy(Camera camera, Frame frame) throws Exception {
        while (true) {
            try {
                return frame.copy();
            } catch (kadenz.KadenzException overwritten) {
                frame = camera.next(Check.LONG_MS);
            }
        }
    }

    private static void closed() throws Exception {
        Camera camera = new Camera("test://64x132@50");
        Frame frame = camera.next(Check.LONG_MS);
        Check.Other other = new Check.Other(() -> {
            while (true) {
                camera.next(Check.LONG_MS);
            }
        });
        camera.close();
        Check.that(String.valueOf(other.end()).contains("the camera is closed"), other.end());
        Check.raises("the camera is closed", () -> camera.latest(1_000));
        Check.raises("the camera is closed", () -> frame.isValid());
        // The memory is mapped for as long as a frame is held.
        Check.that(frame.pixels().get(0) >= Byte.MIN_VALUE, "it can be read");
    }

    private static void columns() throws Exception {
        try (Camera camera = new Camera("test://64x132@50", "gray-column-major", Check.LONG_MS)) {
            Frame frame = camera.next(Check.LONG_MS);
            Check.that(frame.isColumnMajor && frame.channels == 1 && frame.size() == 64 * 132, frame);
        }
    }

    private static void errors() throws Exception {
        Check.raises("kadenz camera serve", () -> new Camera("not-served"));
        Check.raises("", () -> new Camera("test://64x132@50", "mauve", 1_000));
        // The next frame is far: opening can be interrupted.
        Check.Other other = new Check.Other(() -> new Camera("test://64x132@0.01", "rgb", Check.LONG_MS));
        Thread.sleep(100);
        other.interrupt();
        Throwable thrown = other.end();
        Check.that(thrown instanceof InterruptedException, thrown);
    }
}
