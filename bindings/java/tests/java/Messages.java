import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.nio.ByteBuffer;
import java.util.Arrays;
import kadenz.Bus;
import kadenz.Kadenz;
import kadenz.Message;
import kadenz.Received;
import kadenz.Subscription;
import robot.command_t;
import robot.state_t;

/** Publishing and receiving, bytes and types. */
public final class Messages {
    public static void main(String[] arguments) throws Exception {
        bytes();
        types();
        twoTypes();
        queues();
        saved();
        errors();
    }

    private static void bytes() throws Exception {
        try (Bus bus = new Bus("memq://"); Subscription<Message> arm = bus.subscribe("ARM|LEG")) {
            Check.same("memq://", bus.url());
            Check.same(0L, bus.lost());
            Check.same(null, arm.getNextMessage(0));
            Check.same(null, arm.getNextMessage(120));
            Check.same(null, arm.getLatestMessage());
            Check.that(!arm.hasNewMessage(), "nothing was published");
            long before = Kadenz.nowNs();
            bus.publish("ARM", new byte[] {1, -2, 3});
            bus.publish("LEG", new byte[0]);
            bus.publish("HEAD", new byte[8]);
            Check.that(arm.hasNewMessage() && arm.hasNewMessage(), "a message waits");
            Received<Message> first = arm.getNextMessage(Check.LONG_MS);
            Check.that(Arrays.equals(new byte[] {1, -2, 3}, first.data), first);
            Check.same("ARM", first.channel);
            Check.same(null, first.message);
            Check.that(first.takenNs >= before && first.takenNs <= Kadenz.nowNs(), first.takenNs);
            Received<Message> second = arm.getNextMessage(0);
            Check.same("LEG", second.channel);
            Check.same(0, second.data.length);
            Check.same(second, arm.getLatestMessage());
            Check.that(!arm.hasNewMessage(), "all were taken");

            // Longer than the first receive buffer; the next one is short again.
            byte[] picture = new byte[1_000_003];
            picture[1_000_002] = 7;
            bus.publish("ARM", picture);
            bus.publish("ARM", new byte[] {9});
            Check.that(Arrays.equals(picture, arm.getNextMessage(Check.LONG_MS).data), "the long one");
            Check.that(Arrays.equals(new byte[] {9}, arm.getNextMessage(0).data), "the short one");
            Check.same(4L, arm.received());
            long now = Kadenz.nowNs();
            long java = System.nanoTime();
            Check.that(now <= java && java <= Kadenz.nowNs(), "the clock is Java's own on Linux");
        }
    }

    private static state_t state(int n) {
        state_t state = new state_t();
        state.utime = 1_234_567_890_123L;
        state.n = n;
        state.position = new double[n];
        for (int i = 0; i < n; i++) {
            state.position[i] = i / 8.0;
        }
        return state;
    }

    private static void types() throws Exception {
        try (Bus bus = new Bus("memq://")) {
            Subscription<state_t> arm = bus.subscribe("ARM", state_t.class);
            Subscription<Message> named = bus.subscribe("ARM", "robot.state_t");
            Subscription<Message> raw = bus.subscribe("ARM");
            for (int n : new int[] {0, 3, 10_000}) {
                bus.publish("ARM", state(n));
                state_t got = arm.getNextMessage(Check.LONG_MS).message;
                Check.same(1_234_567_890_123L, got.utime);
                Check.that(Arrays.equals(state(n).position, got.position), got.position);
                Received<Message> other = named.getNextMessage(Check.LONG_MS);
                Check.same(null, other.data);
                Check.that(Arrays.equals(got.position, ((state_t) other.message).position), other);
                byte[] bytes = raw.getNextMessage(Check.LONG_MS).data;
                Check.same(20 + 8 * n, bytes.length);
                Check.same(got.fingerprint(), ByteBuffer.wrap(bytes).getLong());
            }
            bus.publish("ARM", state(1));
            bus.publish("ARM", state(2));
            Check.same(2, arm.getLatestMessage().message.n);
            Check.same(2, arm.getLatestMessage().message.n);
        }
    }

    private static void twoTypes() throws Exception {
        try (Bus bus = new Bus("memq://")) {
            Subscription<Message> both = bus.subscribe("STATE", "robot.state_t");
            both.add("COMMAND", "robot.command_t");
            both.add("OTHER_COMMAND", command_t.class);
            command_t command = new command_t();
            command.torque = 1.5f;
            bus.publish("COMMAND", command);
            bus.publish("STATE", state(1));
            bus.publish("OTHER_COMMAND", command);
            Received<Message> first = both.getNextMessage(Check.LONG_MS);
            Check.same("COMMAND", first.channel);
            Check.same(1.5f, ((command_t) first.message).torque);
            Check.same(1, ((state_t) both.getNextMessage(0).message).n);
            Check.same("OTHER_COMMAND", both.getNextMessage(0).channel);
        }
    }

    /** A thread of the bus fills the queues while no thread receives. */
    private static void queues() throws Exception {
        try (Bus bus = new Bus("memq://")) {
            Subscription<Message> newest = bus.subscribe("N", (Class<Message>) null, 2, true);
            Subscription<Message> oldest = bus.subscribe("N", (Class<Message>) null, 2, false);
            bus.receiveInBackground();
            bus.receiveInBackground();
            for (byte i = 1; i <= 5; i++) {
                bus.publish("N", new byte[] {i});
            }
            for (int tries = 0; newest.dropped() + oldest.dropped() < 6; tries++) {
                Check.that(tries < 1_000, newest.dropped() + " and " + oldest.dropped() + " were dropped");
                Thread.sleep(10);
            }
            Check.same((byte) 4, newest.getNextMessage(0).data[0]);
            Check.same((byte) 1, oldest.getNextMessage(0).data[0]);
            Check.same(3L, newest.dropped());
            Check.same((byte) 5, newest.getLatestMessage().data[0]);
        }
    }

    private static void saved() throws Exception {
        try (Bus bus = new Bus("memq://")) {
            Subscription<state_t> arm = bus.subscribe("ARM", state_t.class);
            bus.publish("ARM", state(3));
            ByteArrayOutputStream file = new ByteArrayOutputStream();
            try (ObjectOutputStream out = new ObjectOutputStream(file)) {
                out.writeObject(arm.getNextMessage(Check.LONG_MS));
            }
            try (ObjectInputStream in = new ObjectInputStream(new ByteArrayInputStream(file.toByteArray()))) {
                Received<?> read = (Received<?>) in.readObject();
                Check.same("ARM", read.channel);
                Check.that(Arrays.equals(state(3).position, ((state_t) read.message).position), read);
            }
        }
    }

    private static void errors() throws Exception {
        Check.raises("telepathy", () -> new Bus("telepathy://"));
        try (Bus bus = new Bus("memq://")) {
            Check.raises("regular expression", () -> bus.subscribe("("));
            Check.raises("null", () -> bus.subscribe(null));
            Check.raises("1 to 100000", () -> bus.subscribe("A", state_t.class, -1, true));
            Check.raises("1 to 100000", () -> bus.subscribe("A", state_t.class, Integer.MAX_VALUE, true));
            Check.raises("channel", () -> bus.publish("", new byte[0]));
            Check.raises("", () -> bus.publish("ARM", (byte[]) null));
            Check.raises("kadenz msg gen", () -> bus.subscribe("ARM", "robot.missing_t"));
            Check.raises("not a kadenz.Message", () -> bus.subscribe("ARM", "java.lang.String"));
            Subscription<state_t> arm = bus.subscribe("ARM", state_t.class);
            Check.raises("from 0 on", () -> arm.getNextMessage(-1));
            bus.publish("ARM", new command_t());
            Check.raises("fingerprint " + String.format("%016x", new command_t().fingerprint()), () -> arm.getNextMessage(Check.LONG_MS));
            bus.publish("ARM", new byte[7]);
            Check.raises("too few for a fingerprint", () -> arm.getNextMessage(Check.LONG_MS));
            byte[] torn = ByteBuffer.allocate(19).putLong(new state_t().fingerprint()).array();
            bus.publish("ARM", torn);
            Check.raises("19 bytes on ARM is not a valid robot.state_t", () -> arm.getNextMessage(Check.LONG_MS));
            bus.publish("ARM", Arrays.copyOf(torn, 21));
            Check.raises("1 bytes follow it", () -> arm.getNextMessage(Check.LONG_MS));
            state_t wrong = state(1);
            wrong.n = 2;
            Check.raises("cannot be encoded: position", () -> bus.publish("ARM", wrong));
            bus.publish("ARM", state(1));
            Check.same(1, arm.getNextMessage(Check.LONG_MS).message.n);
        }
    }
}
