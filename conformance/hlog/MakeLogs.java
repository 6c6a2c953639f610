// Makes the logs `made-by-hdrhistogram-*` here, with whichever version of HdrHistogram is on the
// class path, and prints what their sum is:
//
//     java -cp HdrHistogram-2.1.4.jar MakeLogs.java made-by-hdrhistogram-2.1.4.logV0.hlog
//
// Every kind of payload that the version can write is in it: words of 8, 4 and 2 bytes (versions
// before 2.1.7), shifted values, and payloads that are not compressed, which the library's own log
// writer never makes.

import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Base64;
import java.util.Locale;
import java.util.Random;
import org.HdrHistogram.AbstractHistogram;
import org.HdrHistogram.DoubleHistogram;
import org.HdrHistogram.Histogram;
import org.HdrHistogram.HistogramLogWriter;
import org.HdrHistogram.IntCountsHistogram;
import org.HdrHistogram.ShortCountsHistogram;

public class MakeLogs {
    static final Random RANDOM = new Random(42);

    public static void main(String[] args) throws Exception {
        try (PrintStream out = new PrintStream(args[0])) {
            if (args.length > 1 && args[1].equals("double")) {
                DoubleHistogram histogram = new DoubleHistogram(3);
                histogram.recordValue(0.25);
                new HistogramLogWriter(out).outputIntervalHistogram(1.0, 2.0, histogram);
            } else {
                write(out);
            }
        }
    }

    static void write(PrintStream out) {
        HistogramLogWriter log = new HistogramLogWriter(out);
        log.outputComment("[Logging for: READ]");
        log.outputLogFormatVersion();
        log.outputStartTime(1438613579295L);
        log.outputLegend();
        Histogram sum = new Histogram(3);
        for (int i = 0; i < 24; i++) {
            AbstractHistogram histogram = one(i);
            // Absolute timestamps, the first of them before the start time, as YCSB has it.
            double start = 1438613579.290 + i;
            ByteBuffer buffer = ByteBuffer.allocate(histogram.getNeededByteBufferCapacity() + 100);
            int length = i == 5 || i == 17
                    ? histogram.encodeIntoByteBuffer(buffer)
                    : histogram.encodeIntoCompressedByteBuffer(buffer, 9);
            byte[] bytes = Arrays.copyOf(buffer.array(), length);
            // As HistogramLogWriter does it, whose older versions need a class that Java dropped.
            out.format(Locale.US, "%.3f,%.3f,%.3f,%s\n", start, 1.0, histogram.getMaxValue() / 1e6,
                    Base64.getEncoder().encodeToString(bytes));
            sum.add(histogram);
        }
        System.out.printf("%d %d %d %d%n", sum.getTotalCount(), sum.getValueAtPercentile(50.0),
                sum.getValueAtPercentile(99.9), sum.getMaxValue());
    }

    static AbstractHistogram one(int i) {
        AbstractHistogram histogram;
        switch (i % 5) {
            case 0: histogram = new Histogram(20_000L, 30L * 24 * 3600 * 1_000_000_000L, 2); break;
            case 1: histogram = new IntCountsHistogram(3_600_000_000L, 3); break;
            case 2: histogram = new ShortCountsHistogram(3_600_000_000L, 1); break;
            case 3: histogram = new Histogram(4); break;
            default: histogram = new Histogram(1L << 40, 3); break;
        }
        if (i == 12) {
            return histogram; // one of them is empty
        }
        for (int n = 0; n < 500; n++) {
            histogram.recordValue((long) Math.exp(RANDOM.nextDouble() * 20.0));
        }
        if (i == 1) {
            histogram.recordValueWithCount(1_000, 70_000); // needs a word of 4 bytes
        } else if (i == 3) {
            histogram.recordValueWithCount(1_000, 1L << 32); // and one of 8
        }
        if (i % 5 == 4) {
            histogram.shiftValuesLeft(2);
        }
        return histogram;
    }
}
