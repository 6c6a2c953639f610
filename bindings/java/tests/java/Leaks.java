import java.nio.file.Files;
import java.nio.file.Paths;
import kadenz.Bus;
import kadenz.Message;
import kadenz.Subscription;
import robot.state_t;

/** Closed objects and received messages leave no memory behind. */
public final class Leaks {
    private static final int ROUNDS = 5;
    private static final long MARGIN_KB = 32 * 1024;

    public static void main(String[] arguments) throws Exception {
        for (int i = 0; i < 3; i++) {
            round();
        }
        long before = residentKb();
        for (int i = 0; i < ROUNDS; i++) {
            round();
        }
        long grown = residentKb() - before;
        Check.that(grown < MARGIN_KB, grown + " kB more after " + ROUNDS + " rounds");
        System.out.println("grown by " + grown + " kB");
    }

    private static void round() throws Exception {
        for (int i = 0; i < 200; i++) {
            try (Bus bus = new Bus("memq://"); Subscription<Message> arm = bus.subscribe("ARM")) {
                bus.publish("ARM", new byte[200_000]);
                Check.same(200_000, arm.getNextMessage(Check.LONG_MS).data.length);
            }
        }
        try (Bus bus = new Bus("memq://"); Subscription<state_t> arm = bus.subscribe("ARM", state_t.class)) {
            state_t state = new state_t();
            state.n = 100;
            state.position = new double[100];
            for (int i = 0; i < 100_000; i++) {
                state.utime = i;
                bus.publish("ARM", state);
                Check.same((long) i, arm.getNextMessage(Check.LONG_MS).message.utime);
            }
        }
    }

    private static long residentKb() throws Exception {
        System.gc();
        for (String line : Files.readAllLines(Paths.get("/proc/self/status"))) {
            if (line.startsWith("VmRSS:")) {
                return Long.parseLong(line.replaceAll("\\D", ""));
            }
        }
        throw new AssertionError("no VmRSS");
    }
}
