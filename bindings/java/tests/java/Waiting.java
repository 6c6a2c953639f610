import kadenz.Bus;
import kadenz.Kadenz;
import kadenz.Message;
import kadenz.Received;
import kadenz.Subscription;

/** Interrupts, closing, and several threads. */
public final class Waiting {
    public static void main(String[] arguments) throws Exception {
        Check.that(Kadenz.version().matches("\\d+\\.\\d+\\.\\d+.*"), Kadenz.version());
        interrupted();
        closedMeanwhile();
        afterClose();
        twoThreads();
        forgotten();
    }

    private static void interrupted() throws Exception {
        try (Bus bus = new Bus("memq://")) {
            Subscription<Message> arm = bus.subscribe("ARM");
            Check.Other other = new Check.Other(() -> arm.getNextMessage(Long.MAX_VALUE));
            Thread.sleep(100);
            Check.that(other.isAlive(), "it waits");
            // Other threads have their turn while it waits.
            Check.same(null, arm.getNextMessage(0));
            Check.same(0L, arm.received());
            arm.add("LEG");
            other.interrupt();
            Check.that(other.end() instanceof InterruptedException, other.end());
            bus.publish("LEG", new byte[1]);
            Check.same("LEG", arm.getNextMessage(Check.LONG_MS).channel);

            // A look without waiting neither sees nor clears the interrupt; a wait does both.
            Thread.currentThread().interrupt();
            Check.same(null, arm.getNextMessage(0));
            Check.that(Thread.currentThread().isInterrupted(), "still");
            try {
                arm.getNextMessage(1);
                throw new AssertionError("it waited");
            } catch (InterruptedException expected) {
                Check.that(!Thread.currentThread().isInterrupted(), "taken");
            }
        }
    }

    private static void closedMeanwhile() throws Exception {
        for (int i = 0; i < 20; i++) {
            Bus bus = new Bus("memq://");
            Subscription<Message> arm = bus.subscribe("ARM");
            Check.Other other = new Check.Other(() -> arm.getNextMessage(Long.MAX_VALUE));
            Thread.sleep(i);
            arm.close();
            bus.close();
            Throwable thrown = other.end();
            Check.that(thrown instanceof kadenz.KadenzException && thrown.getMessage().contains("closed"), thrown);
        }
    }

    private static void afterClose() throws Exception {
        Bus bus = new Bus("memq://");
        Subscription<Message> arm = bus.subscribe("ARM");
        bus.publish("ARM", new byte[1]);
        bus.close();
        bus.close();
        Check.that(!bus.isOpen() && arm.isOpen(), "one is closed");
        Check.raises("the bus is closed", () -> bus.publish("ARM", new byte[1]));
        Check.raises("the bus is closed", () -> bus.publish("ARM", new robot.command_t()));
        Check.raises("the bus is closed", () -> bus.subscribe("ARM"));
        Check.raises("the bus is closed", () -> bus.url());
        Check.same(1, arm.getNextMessage(Check.LONG_MS).data.length);
        arm.close();
        arm.close();
        Check.raises("the subscription is closed", () -> arm.getNextMessage(0));
        Check.raises("the subscription is closed", () -> arm.getNextMessage(10));
        Check.raises("the subscription is closed", () -> arm.hasNewMessage());
        Check.raises("the subscription is closed", () -> arm.getLatestMessage());
        Check.raises("the subscription is closed", () -> arm.received());
        Check.raises("the subscription is closed", () -> arm.add("LEG"));
    }

    /** Two publish and two receive from one subscription: each message comes once. */
    private static void twoThreads() throws Exception {
        // Fewer messages than the bus holds while no thread receives.
        final int each = 400;
        try (Bus bus = new Bus("memq://")) {
            Subscription<Message> all = bus.subscribe("A|B", (Class<Message>) null, 2 * each, false);
            Check.Other[] publishers = new Check.Other[2];
            int[][] seen = new int[2][];
            java.util.concurrent.atomic.AtomicInteger taken = new java.util.concurrent.atomic.AtomicInteger();
            long end = System.nanoTime() + 60_000_000_000L;
            for (int at = 0; at < 2; at++) {
                String channel = at == 0 ? "A" : "B";
                publishers[at] = new Check.Other(() -> {
                    for (int i = 0; i < each; i++) {
                        bus.publish(channel, new byte[] {(byte) (i >> 8), (byte) i});
                    }
                });
            }
            Check.Other[] receivers = new Check.Other[2];
            for (int at = 0; at < 2; at++) {
                int[] counts = seen[at] = new int[2];
                receivers[at] = new Check.Other(() -> {
                    while (taken.get() < 2 * each) {
                        Received<Message> it = all.getNextMessage(100);
                        Check.that(it != null || System.nanoTime() < end, taken);
                        if (it != null) {
                            counts[it.channel.equals("A") ? 0 : 1]++;
                            taken.incrementAndGet();
                        }
                    }
                });
            }
            for (Check.Other it : publishers) {
                Check.same(null, it.end());
            }
            for (Check.Other it : receivers) {
                Check.same(null, it.end());
            }
            Check.same(null, all.getNextMessage(100));
            Check.same(each, seen[0][0] + seen[1][0]);
            Check.same(each, seen[0][1] + seen[1][1]);
        }
    }

    /** An object that was not closed is closed when another one is opened. */
    private static void forgotten() throws Exception {
        java.lang.reflect.Field all = Class.forName("kadenz.Handle").getDeclaredField("ALL");
        all.setAccessible(true);
        java.util.Set<?> open = (java.util.Set<?>) all.get(null);
        try (Bus bus = new Bus("memq://")) {
            for (int i = 0; i < 500; i++) {
                bus.subscribe("ARM");
            }
            for (int tries = 0; open.size() > 100; tries++) {
                Check.that(tries < 100, open.size() + " are open");
                System.gc();
                Thread.sleep(50);
                bus.subscribe("ARM");
            }
        }
    }
}
