import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import kadenz.KadenzException;
import kadenz.Network;

/** The virtual machine ends while a network runs. The program prints what its main thread is told. */
public final class Ends {
    private static final long TIMEOUT_MS = 20_000;

    public static void main(String[] arguments) throws Exception {
        CountDownLatch told = new CountDownLatch(1);
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            try {
                Check.that(told.await(20, TimeUnit.SECONDS), "the loop ran on");
            } catch (InterruptedException error) {
                Check.that(false, error);
            }
        }));
        Network net = new Network("sim:8");
        net.start();
        long cycle = net.waitCycle(100, TIMEOUT_MS);
        Check.that(cycle > 100, cycle);
        new Thread(() -> System.exit(0)).start();
        try {
            while (true) {
                cycle = net.waitCycle(cycle, TIMEOUT_MS);
            }
        } catch (KadenzException error) {
            System.out.println("told: " + error.getMessage());
            System.out.flush();
            told.countDown();
        }
    }
}
