package kadenz;

import java.nio.ByteBuffer;

/**
 * A frame in shared memory. The camera overwrites it some frames later: copy it, or check after use whether it is
 * valid.
 */
public final class Frame {
    /** Its number since the server's start; lost frames count. */
    public final long number;

    /** Pixels in a row. */
    public final int width;

    /** Rows. */
    public final int height;

    /** 1 or 3. */
    public final int channels;

    /** Whether its pixels are planes of columns, as MATLAB has arrays; else rows of interleaved pixels. */
    public final boolean isColumnMajor;

    /** Its age when it was returned. */
    public final long ageNs;

    /** When the camera took it, on the clock of {@link Kadenz#nowNs}; -1 where unknown. */
    public final long capturedNs;

    /** When it was complete in this machine. */
    public final long arrivalNs;

    /** When it was converted and published. */
    public final long publishedNs;

    /** Frames missed before it, in all. */
    public final long missed;

    /** Whether a part of it is missing. */
    public final boolean isDamaged;

    /** Number of values of a frame from {@code Native}. */
    static final int FACTS = 14;

    private final Camera camera;
    private final ByteBuffer memory;
    private final long generation;
    private final long count;
    private final int offset;

    Frame(Camera camera, ByteBuffer memory, long[] about) {
        this.camera = camera;
        this.memory = memory;
        generation = about[0];
        count = about[1];
        offset = (int) about[2];
        width = (int) about[3];
        height = (int) about[4];
        channels = (int) about[5];
        isColumnMajor = about[6] != 0;
        number = about[7];
        ageNs = about[8];
        capturedNs = about[9];
        arrivalNs = about[10];
        publishedNs = about[11];
        missed = about[12];
        isDamaged = about[13] != 0;
    }

    /** Its bytes in shared memory: a read-only direct buffer of height x width x channels. */
    public ByteBuffer pixels() {
        ByteBuffer all = memory.duplicate();
        all.position(offset);
        all.limit(offset + size());
        return all.slice();
    }

    /** Bytes of a frame. */
    public int size() {
        return width * height * channels;
    }

    /** Whether the camera has not begun to overwrite it. */
    public boolean isValid() {
        return Native.isFrameValid(camera.number(), generation, count);
    }

    /**
     * Copies the frame.
     *
     * @throws KadenzException where the array has another length, or the camera overwrote the frame meanwhile
     */
    public void copyTo(byte[] into) {
        if (into.length != size()) {
            throw new KadenzException("the frame has " + size() + " bytes, the array " + into.length
                + "; make it as long as size() says");
        }
        pixels().get(into);
        if (!isValid()) {
            throw new KadenzException(
                "the frame was overwritten while it was copied; take the newest one and copy it at once");
        }
    }

    /** A copy in a new array. */
    public byte[] copy() {
        byte[] copy = new byte[size()];
        copyTo(copy);
        return copy;
    }

    @Override
    public String toString() {
        return "frame " + number + ", " + width + "x" + height + ", " + ageNs + " ns old";
    }
}
