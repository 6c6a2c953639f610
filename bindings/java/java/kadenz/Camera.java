package kadenz;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Paths;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;

/**
 * A camera by the name under which {@code kadenz camera serve} serves it, or by its URL. It stays valid while the
 * camera reboots, changes its size, or its server restarts. On Linux only.
 */
public final class Camera extends Handle {
    /** The place of the ring's generation, the time at which it was made. */
    private static final int GENERATION = 96;

    /** Held for one slice of a wait; fair, so that other threads have their turn in between. */
    private final ReentrantLock taking = new ReentrantLock(true);

    private final long[] about = new long[Frame.FACTS];
    private ByteBuffer memory;
    private long generation;

    /** Rows of red, green and blue; waits at most 10 s for the first frame. */
    public Camera(String nameOrUrl) throws InterruptedException {
        this(nameOrUrl, "rgb", 10_000);
    }

    /**
     * In a layout: rgb, bgr, gray (rows); rgb-column-major ... (planes of columns, as MATLAB has arrays);
     * rgb[640x480+100+50], gray@960x540. Waits at most so long for the first frame.
     *
     * @throws InterruptedException where the thread is interrupted meanwhile
     */
    public Camera(String nameOrUrl, String layout, long timeoutMs) throws InterruptedException {
        super("camera", open(nameOrUrl, layout, timeoutMs));
    }

    private static long open(String nameOrUrl, String layout, long timeoutMs) throws InterruptedException {
        if (!Native.platform().startsWith("linux")) {
            throw new KadenzException("cameras share memory as Linux does; open them there, and publish what you need");
        }
        long opening = Native.openCamera(nameOrUrl, layout, new Deadline(timeoutMs).left());
        try {
            while (true) {
                long camera = Native.openedCamera(opening, Deadline.endlessSlice());
                if (camera != 0) {
                    return camera;
                }
            }
        } finally {
            Native.close(opening);
        }
    }

    /** The camera's name, by which other processes open it. */
    public String name() {
        return Native.cameraName(number());
    }

    /** Returns the newest frame; an exception where it is older than so many milliseconds. */
    public Frame latest(long maxAgeMs) {
        taking.lock();
        try {
            Native.latestFrame(number(), TimeUnit.MILLISECONDS.toNanos(maxAgeMs), about);
            return lend();
        } finally {
            taking.unlock();
        }
    }

    /**
     * Returns the newest frame that was not returned yet; null where none came in so many milliseconds. 0 does not
     * wait.
     *
     * @throws InterruptedException where the thread is interrupted while it waits
     */
    public Frame next(long timeoutMs) throws InterruptedException {
        Deadline deadline = new Deadline(timeoutMs);
        while (true) {
            taking.lock();
            try {
                if (Native.nextFrame(number(), deadline.slice(), about)) {
                    return lend();
                }
            } finally {
                taking.unlock();
            }
            if (deadline.isOver()) {
                return null;
            }
        }
    }

    private Frame lend() {
        if (memory == null || generation != about[0]) {
            map();
        }
        return new Frame(this, memory, about);
    }

    private void map() {
        try (FileChannel file = FileChannel.open(Paths.get(Native.cameraMemory(number())), StandardOpenOption.READ)) {
            memory = file.map(FileChannel.MapMode.READ_ONLY, 0, file.size());
        } catch (IOException error) {
            throw new KadenzException("the camera's memory cannot be mapped: " + error
                + "; take the next frame, or open the camera again");
        }
        generation = memory.order(ByteOrder.nativeOrder()).getLong(GENERATION);
        if (generation != about[0]) {
            throw new KadenzException("the camera was restarted meanwhile; take the next frame");
        }
    }
}
