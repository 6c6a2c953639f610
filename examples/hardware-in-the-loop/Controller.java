import arm.command_t;
import arm.feedback_t;
import kadenz.*;

/** Holds the arm at 1 rad, and records what messages cost it: Controller RUN [URL]. */
public class Controller {
    public static void main(String[] arguments) throws InterruptedException {
        String folder = arguments.length > 0 ? arguments[0] : "controller";
        String url = arguments.length > 1 ? arguments[1] : "udpm://239.255.76.67:7667?ttl=0";
        try (Bus bus = new Bus(url);
                Subscription<feedback_t> feedback = bus.subscribe("FEEDBACK", feedback_t.class);
                Recording run = new Recording(folder)) {
            Durations receive = run.durations("receive"), publish = run.durations("publish");
            command_t command = new command_t();
            long waits = Kadenz.nowNs();
            Received<feedback_t> received = feedback.getNextMessage(30000);
            while (received != null) {
                receive.record(Math.max(waits, received.takenNs), Kadenz.nowNs());
                feedback_t state = received.message;
                command.number = state.number;
                command.sent_ns = state.sent_ns;
                command.torque = 4.905 * 0.8415 + 40.0 * (1.0 - state.position) - 6.0 * state.velocity;
                long begin = Kadenz.nowNs();
                bus.publish("COMMAND", command);
                waits = Kadenz.nowNs();
                publish.record(begin, waits);
                received = feedback.getNextMessage(1000);
            }
            System.out.println(run.finish());
        }
    }
}
