import kadenz.KadenzException;
import kadenz.Log;
import kadenz.LogWriter;
import kadenz.Logged;
import kadenz.Network;
import kadenz.Recording;
import kadenz.Run;
import robot.command_t;

/** EtherCAT and logs. The argument is a folder for runs. */
public final class Networks {
    private static final long TIMEOUT_MS = 20_000;

    public static void main(String[] arguments) throws Exception {
        network(arguments[0] + "/bus");
        errors();
        logs(arguments[0] + "/drive.mcap");
        logs(arguments[0] + "/drive.lcmlog");
    }

    private static void network(String folder) throws Exception {
        try (Recording run = new Recording(folder);
                Network net = new Network("sim:8", "500Hz", "100ms", 0, false, null)) {
            Network.Value actual = net.input("waist yaw", 0x6064);
            Network.Value target = net.output("4", 0x607A, 0, "i32");
            Network.Value control = net.output("waist yaw", 0x6040);
            net.start(run);
            long cycle = 0;
            for (int i = 0; i < 20_000 && net.state().operational < 8; i++) {
                cycle = net.waitCycle(cycle, TIMEOUT_MS);
            }
            // Again where a busy machine let the drive fault: 0x80 resets it.
            for (int round = 0; round < 20 && actual.getInteger() != -1000; round++) {
                for (int word : new int[] {0x80, 6, 7, 15}) {
                    control.setInteger(word);
                    for (int i = 0; i < 50; i++) {
                        long next = net.waitCycle(cycle, TIMEOUT_MS);
                        Check.that(next > cycle, next);
                        cycle = next;
                    }
                }
                target.set(-1000);
                for (int i = 0; i < 2000 && actual.getInteger() != -1000; i++) {
                    cycle = net.waitCycle(cycle, TIMEOUT_MS);
                }
            }
            Check.that(actual.get() == -1000, actual.get());
            Check.that(net.state().isRunning && net.state().devices == 8, net.state());
            fails("no place", () -> control.set(70_000));
            fails("output", () -> actual.set(1));
            fails("before it starts", () -> net.input("waist yaw", 0x6064));
            fails("stop", run::finish);
            Check.that(net.stop().contains("8 devices"), "a line of what came of it");
            fails("open another", () -> net.stop());
        }
        Check.that(new Run(folder).names.length >= 3, folder);
    }

    private static void errors() {
        try (Network net = new Network("sim:8")) {
            fails("waist yaw", () -> net.input("elbow", 0x6064));
            fails("16 bits", () -> net.input("waist yaw", 0x60640));
            fails("i8 to i64", () -> net.input("waist yaw", 0x6064, 0, "int"));
            fails("start it", () -> net.state());
            net.close();
            fails("closed", () -> net.start());
        }
        fails("", () -> new Network("sim:nothing.toml"));
    }

    private static void logs(String path) {
        long begin = 1_700_000_000_000_000_000L;
        try (LogWriter log = new LogWriter(path)) {
            for (int i = 0; i < 100; i++) {
                log.write(i % 2 == 0 ? "LEG" : "ARM", new byte[] {(byte) i}, begin + i * 1000);
            }
            log.write("COMMAND", new command_t(), begin + 100_000);
        }
        try (Log log = new Log(path)) {
            for (int i = 0; i < 100; i++) {
                Logged it = log.next();
                Check.that(it.data[0] == i && it.loggedNs == begin + i * 1000, it);
            }
            Logged command = log.next();
            Check.that(command.into(new command_t()) != null && command.channel.equals("COMMAND"), command);
            Check.same(null, log.next());
            log.seek(begin + 50_000);
            Check.that(log.next().data[0] == 50, path);
        }
        fails("nothing.mcap", () -> new Log("nothing.mcap"));
    }

    private static void fails(String words, Runnable call) {
        try {
            call.run();
        } catch (KadenzException error) {
            Check.that(error.getMessage().contains(words), error);
            return;
        }
        Check.that(false, words);
    }
}
