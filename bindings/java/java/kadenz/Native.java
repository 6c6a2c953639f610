package kadenz;

import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;

/** The native library: all that waits, measures or reads. Java holds its objects as numbers; 0 is none. */
final class Native {
    /** The property that names a library to use instead of the one in the jar. */
    private static final String PROPERTY = "kadenz.library";

    static {
        load();
    }

    private Native() {}

    private static void load() {
        String path = System.getProperty(PROPERTY);
        if (path != null) {
            System.load(new File(path).getAbsolutePath());
            return;
        }
        String name = System.mapLibraryName("kadenz_java");
        String resource = "/native/" + platform() + "/" + name;
        try (InputStream library = Native.class.getResourceAsStream(resource)) {
            if (library == null) {
                throw new UnsatisfiedLinkError("the jar holds no library for " + platform()
                    + "; build it there with `cargo xtask java`, or name one by -D" + PROPERTY + "=PATH");
            }
            // Only this user may read it.
            Path folder = Files.createTempDirectory("kadenz-");
            folder.toFile().deleteOnExit();
            Path file = folder.resolve(name);
            file.toFile().deleteOnExit();
            Files.copy(library, file);
            System.load(file.toString());
            // Where the system allows to delete a loaded file, nothing stays behind however the program ends.
            if (file.toFile().delete()) {
                folder.toFile().delete();
            }
        } catch (IOException error) {
            throw new UnsatisfiedLinkError("the library cannot be unpacked: " + error
                + "; name another folder by -Djava.io.tmpdir=PATH, or the library by -D" + PROPERTY + "=PATH");
        }
    }

    /** The platform's name in the jar: linux-x86_64, linux-aarch64, macos-aarch64, windows-x86_64. */
    static String platform() {
        String system = System.getProperty("os.name").toLowerCase(Locale.ROOT);
        String os = system.startsWith("mac") ? "macos" : system.startsWith("windows") ? "windows" : system;
        String arch = System.getProperty("os.arch");
        return os + "-" + (arch.equals("amd64") ? "x86_64" : arch);
    }

    static native String version();

    static native long nowNs();

    static native void close(long handle);

    static native long openBus(String url);

    static native String busUrl(long bus);

    static native long lost(long bus);

    static native long receiveInBackground(long bus);

    static native void publish(long bus, String channel, byte[] payload);

    static native void publishBuffer(long bus, String channel, ByteBuffer buffer, int length);

    static native long subscribe(long bus, String pattern, int queue, boolean keepsNewest);

    static native void addChannel(long subscription, String pattern);

    static native int receive(long subscription, long waitNs, Subscription<?> owner, ByteBuffer buffer, long[] about);

    static native String channel(long subscription);

    static native void counts(long subscription, long[] into);

    static native long createRecording(String folder);

    /** Returns false where a network records into the run. */
    static native boolean keepSamples(long recording);

    /** A deadline of null is none. */
    static native long durations(long recording, String name, String deadline);

    static native void record(long durations, long beginNs, long endNs);

    /** Returns null where a network still records into the run. */
    static native String finish(long recording);

    static native long startLoop(
        String rate, String deadline, int priority, boolean locksMemory, String cpus, long recording, String series);

    static native boolean tick(long loop, long waitNs, long[] into);

    static native String[] refused(long loop);

    static native boolean closeLoop(long loop);

    static native long openCamera(String nameOrUrl, String layout, long waitNs);

    static native long openedCamera(long opening, long waitNs);

    static native String cameraName(long camera);

    static native void latestFrame(long camera, long maxAgeNs, long[] about);

    static native boolean nextFrame(long camera, long waitNs, long[] about);

    static native boolean isFrameValid(long camera, long generation, long count);

    static native String cameraMemory(long camera);

    static native long openNetwork(
        String segment, String cycle, String deadline, int priority, boolean locksMemory, String esi);

    static native int networkValue(long network, boolean isOutput, String device, int index, int subindex, String type);

    static native void startNetwork(long network, long recording);

    static native double getValue(long network, int value);

    static native long getInteger(long network, int value);

    static native void setValue(long network, int value, double to);

    static native void setInteger(long network, int value, long to);

    static native long waitCycle(long network, long after, long waitNs);

    static native void networkState(long network, long[] into);

    static native String stopNetwork(long network);

    static native long openLog(String path);

    static native boolean nextLogged(long log, long[] times);

    static native String loggedChannel(long log);

    static native byte[] loggedPayload(long log);

    static native void seekLog(long log, long unixNs);

    static native long createLog(String path);

    static native void writeLog(long log, String channel, byte[] data, long unixNs);

    static native void finishLog(long log);

    static native long openRun(String path);

    static native String[] compare(String baseline, String candidate);

    static native String runFacts(long run);

    static native String[] runWarnings(long run);

    static native String[] seriesNames(long run);

    static native String seriesFacts(long run, int place);

    static native double[] seriesFigures(long run, int place);

    static native long[] seriesHistogram(long run, int place);

    static native long[] seriesIntervals(long run, int place);
}
